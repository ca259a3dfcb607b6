# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a running campaign: a progress bar on a terminal, lines elsewhere and in the log."""

import json
import sys
import time
from pathlib import Path
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fabricbench.files.reading import open_log, read_regular
from fabricbench.site.lane import LaneName

LEAST_COUNT = 5
"""The number of launches and skips before the remaining time is estimated."""


class CampaignProgress:
    """Follows the launch directories of a campaign. No result depends on it."""

    def __init__(self, log: Path, blocks: int, launches_per_block: int, budget_seconds: float | None = None) -> None:
        self._log = open_log(log, "a")
        self._total = blocks * launches_per_block
        self._blocks = blocks
        self._launches_per_block = launches_per_block
        self._budget_seconds = budget_seconds
        self._block = 0
        self._start = time.monotonic()
        self._reports: set[str] = set()
        self._count = 0
        self._count_here = 0
        self._wireup_seconds = 0.0
        self._terminal = sys.stdout.isatty()
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
        )  # fmt: skip
        self._bar = Progress(*columns, disable=not self._terminal, transient=True)
        self._task = self._bar.add_task("starting", total=self._total, left="")

    def __enter__(self) -> "CampaignProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        self._log.close()

    def say(self, text: str) -> None:
        """Writes a line to the log and to the output."""
        self._log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start_from(self, count: int) -> None:
        """Starts the count at ``count``, the launches that earlier runs finished."""
        self._count = count
        self._bar.update(self._task, completed=count)

    def update(self, stage: Path, block: int) -> None:
        """Reports the launches in ``stage`` that have begun or ended since the last call."""
        self._block = block
        for skip in stage.glob("*/*/*/skipped.json"):
            if str(skip) not in self._reports:
                self._reports.add(str(skip))
                self._count += 1
                self._count_here += 1
        for facts in sorted(stage.glob("*/*/*/launch.json")):
            directory = facts.parent
            if str(directory) in self._reports:
                continue
            try:
                launch = json.loads(read_regular(facts))
                lane = LaneName(launch["stack"], launch["fabric"], launch.get("variant", ""))
                name = f"{lane.name}  {launch['tool']} {launch['benchmark']}"
                name += f" {launch['messages']}" if launch.get("messages") else ""
                wireup = launch["mode"] == "wireup"
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            if (directory / "end").exists():
                self._reports.add(str(directory))
                if not wireup:
                    self._count += 1
                    self._count_here += 1
                self._report_end(directory, f"block {block + 1}/{self._blocks}  {name}", wireup=wireup)
            elif (directory / "begin").exists():
                text = f"block {block + 1}/{self._blocks}  {name}"
                self._bar.update(self._task, description=text, completed=self._count, left=self._remaining_time())

    def _report_end(self, directory: Path, name: str, *, wireup: bool) -> None:
        try:
            end = json.loads(read_regular(directory / "end"))
            self._wireup_seconds += float(end["seconds"]) if wireup else 0.0
            status = "timed out" if end["timed_out"] else f"exit {end['status']}"
            text = f"{name}  {end['seconds']:.2f} s  {status}  left {self._remaining_time()}"
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            text = f"{name}  (its file end cannot be read)"
        self._log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n")
        if not self._terminal:
            print(text, flush=True)
        self._bar.update(self._task, completed=self._count, left=self._remaining_time())

    def _remaining_time(self) -> str:
        """The mean time of the launches and skips so far, times the number that remains; ? before the first few.

        Wire-ups do not count, because each lane has one and most come first. A budget ends the run after the block in
        which it is spent.
        """
        if self._count_here < min(LEAST_COUNT, self._total - self._count):
            return "?"
        elapsed = max(0.0, time.monotonic() - self._start - self._wireup_seconds)
        mean = elapsed / max(1, self._count_here)
        seconds = mean * max(0, self._total - self._count)
        if self._budget_seconds is not None:
            block = mean * max(0, (self._block + 1) * self._launches_per_block - self._count)
            seconds = min(seconds, max(block, self._budget_seconds - (time.monotonic() - self._start)))
        return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
