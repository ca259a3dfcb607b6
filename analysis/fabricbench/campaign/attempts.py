# SPDX-License-Identifier: Apache-2.0
"""Which launches of a campaign are finished, and which were lost and are to be repeated."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fabricbench.campaign.collect import collect
from fabricbench.campaign.write import came_back
from fabricbench.files.layout import LAUNCHES
from fabricbench.files.reading import read_regular
from fabricbench.launch.lost import job_ended, why_lost

TRIES = 2
"""How often a launch is started within its block where it is lost."""


def loss_reason(directory: Path) -> str:
    """Why the launch in ``directory`` was lost although it has an end; empty where it was not lost, or has no end."""
    try:
        end = json.loads(read_regular(directory / "end"))
        if end["timed_out"] or (end["status"] != 0 and why_lost(directory)):
            record = collect(directory)
            return record.reason if record.state == "lost" else ""
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return ""


def finishing_attempt(tries: Iterable[Path]) -> Path | None:
    """The directory of the try that finishes a launch, of all its tries in their order; None where it has to be
    started (again).

    A launch is finished when it came back and was not lost, or when it was lost as often as it may be tried. One
    without an end was interrupted, and so was one whose job ended: it is not finished however often that happens.
    """
    ended = {directory: loss_reason(directory) for directory in tries if (directory / "end").exists()}
    kept = [directory for directory, why in ended.items() if not why and came_back(directory)]
    left = [directory for directory, why in ended.items() if why and not job_ended(why)]
    return kept[-1] if kept else left[-1] if len(left) >= TRIES else None


def finished_launches(path: Path, block: int) -> dict[str, str]:
    """Finished launches of the campaign at ``path``, from id to directory: those of ``block``, and every wire-up that
    succeeded."""
    tries: dict[str, list[Path]] = {}
    for file in sorted((path / LAUNCHES).glob("*/*/*/*/*/launch.json")):
        try:
            launch = json.loads(read_regular(file))
            wireup = launch["mode"] == "wireup"
            if _succeeded(file.parent) if wireup else launch["block"] == block:
                tries.setdefault(launch["id"], []).append(file.parent)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    found = {name: finishing_attempt(directories) for name, directories in tries.items()}
    return {name: str(directory) for name, directory in found.items() if directory is not None}


def first_losses(path: Path, block: int, session: int) -> dict[str, str]:
    """Launches that ``session`` lost, wire-ups too, and no other session of their block: from id to reason. Those whose
    job ended are not among them: the next allocation may be as short."""
    reasons: dict[str, str] = {}
    times: Counter[str] = Counter()
    for file in sorted((path / LAUNCHES).glob(f"b{block:03d}.s*/*/*/*/*/launch.json")):
        try:
            name = json.loads(read_regular(file))["id"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if (why := loss_reason(file.parent)) and not job_ended(why):
            times[name] += 1
            if file.parts[-6] == f"b{block:03d}.s{session:02d}":
                reasons[name] = why
    return {name: why for name, why in reasons.items() if times[name] == 1}


def _succeeded(directory: Path) -> bool:
    end = json.loads(read_regular(directory / "end"))
    return bool(end["status"] == 0 and not end["timed_out"])
