# SPDX-License-Identifier: Apache-2.0
"""Starts and kills ``fabricbench run`` in the background, and reads the state of its campaign."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fabricbench.campaign.write import has_completed
from support.fake_site import REPOSITORY, FakeSite
from support.processes import marked, parent, program, wait_until

CHOICE = ("--system", "fake", "--check", "MicroPingpong")
LAUNCHES_PER_BLOCK = 4
BLOCKS = 6
PARTS = ("run", "reframe", "wrapper")
"""The parts of a run that a test kills: ``fabricbench run`` itself, the ReFrame that it started, the launch wrapper."""

Process = subprocess.Popen[str]


def start(site: FakeSite, campaign: Path, *options: str) -> Process:
    """Starts ``fabricbench run`` on the fake site."""
    return start_run(campaign, (*CHOICE, *options), site.environment)


def start_run(campaign: Path, choice: tuple[str, ...], environment: Mapping[str, str]) -> Process:
    """Starts ``fabricbench run`` in the given environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "fabricbench.cli", "run", str(campaign), *choice],
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(campaign: Path) -> Counter[str]:
    """Counts the attempts of each launch that ended, by id, wire-ups included."""
    return Counter(json.loads((path / "launch.json").read_text())["id"] for path in finished_directories(campaign))


def finished_directories(campaign: Path) -> list[Path]:
    """Returns the directories of the launches that ended."""
    files = (campaign / "launches").rglob("launch.json")
    return sorted(file.parent for file in files if has_completed(file.parent))


def timed(campaign: Path) -> Counter[str]:
    """Counts the attempts of each timed launch that ended, by id."""
    return Counter({name: times for name, times in finished(campaign).items() if name.startswith("b")})


def left_over(campaign: Path) -> list[int]:
    """Returns the ids of the remaining processes of runs of ``campaign``."""
    return marked(f"FABRICBENCH_CAMPAIGN={campaign.resolve()}")


def wait_for_launch(campaign: Path) -> None:
    """Waits until a launch has begun and not ended."""
    wait_until(lambda: any(not (begin.parent / "end").exists() for begin in campaign.rglob("begin")), "a launch")


def mark_of(campaign: Path) -> str:
    """Returns the mark (``NAME=value``) in the environment of the latest run; empty before the first run."""
    try:
        mark = (campaign / "lock").read_text().strip()
    except OSError:
        return ""
    return f"FABRICBENCH_RUN={mark}" if mark else ""


def kill(what: str, run: Process, campaign: Path) -> bool:
    """Kills one of ``PARTS`` of ``run`` by SIGKILL and waits for its end; False if the run ended before it started."""

    killed: list[int] = []

    def try_to_kill() -> None:
        with contextlib.suppress(ProcessLookupError):  # the part ended by itself: wait for the next one
            for pid in _part(what, run, campaign)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    def is_over() -> bool:
        if run.poll() is None:
            try_to_kill()
        return bool(killed) or run.poll() is not None

    wait_until(is_over, what)
    if not killed:
        return False
    output, _ = run.communicate(timeout=300)
    assert "Traceback" not in output, output
    return True


def _part(what: str, run: Process, campaign: Path) -> list[int]:
    if what == "run":
        return [run.pid]
    mark = mark_of(campaign)
    processes = marked(mark) if mark else []
    if what == "reframe":
        return [pid for pid in processes if parent(pid) == run.pid]
    # A child of the wrapper has the wrapper's name until it executes its command.
    wrappers = [pid for pid in processes if program(pid) == "fabricbench-launch"]
    return [pid for pid in wrappers if parent(pid) not in wrappers]


def kill_and_resume(
    begin: Callable[[], Process], campaign: Path, parts: Sequence[str], chance: random.Random, longest_s: float
) -> Counter[str]:
    """Starts a run on ``campaign`` for each of ``parts``, kills that part at a random moment, then completes one run.

    A kill comes 0.2 s to ``longest_s`` after the start, or when the part exists. No process of the previous run may
    exist after a run has begun. Returns the number of kills of each part.
    """
    killed: Counter[str] = Counter()
    for part in parts:
        run = _begin_cleanly(begin, campaign)
        delay = chance.uniform(0.2, longest_s)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(delay)
        killed[part] += kill(part, run, campaign)
        assert not repeated(campaign)
    run = _begin_cleanly(begin, campaign)
    output, _ = run.communicate(timeout=600)
    assert run.returncode == 0, output
    return killed


def _begin_cleanly(begin: Callable[[], Process], campaign: Path) -> Process:
    earlier = mark_of(campaign)
    run = begin()
    wait_until(lambda: run.poll() is not None or mark_of(campaign) not in ("", earlier), "a new run's mark")
    assert not earlier or not marked(earlier)
    return run


def repeated(campaign: Path) -> list[str]:
    """Returns the launches that ended more than once."""
    return [name for name, times in finished(campaign).items() if times > 1]
