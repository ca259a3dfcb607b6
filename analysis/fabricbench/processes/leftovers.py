# SPDX-License-Identifier: Apache-2.0
"""Ends the processes of an earlier run, which are found by a variable in their environment."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "FABRICBENCH_RUN"
"""The variable that every process of a run carries; its value names the run."""

_PR_SET_PDEATHSIG = 1


def marked(run: str) -> list[int]:
    """Ids of the other processes that carry the mark of ``run``. Zombies have no environment and are not listed."""
    needle = f"{MARK}={run}".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def end_marked(run: str, patience_seconds: float = 10.0) -> int:
    """Kills every process that carries the mark of ``run``, waits for their end, and returns their number.

    Raises TimeoutError if some remain after ``patience_seconds``.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + patience_seconds
    while remaining := marked(run):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of an earlier run do not end: {remaining}")
        for pid in remaining:
            try:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    return len(killed)


class Terminated(KeyboardInterrupt):
    """The command has received SIGTERM."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Raises Terminated in the main thread at the first SIGTERM. Later ones are ignored, so that clean-up completes."""

    def terminate(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated("ended by SIGTERM")

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent dies. For a child, before it executes its program."""
    _signal_at_parents_death(signal.SIGKILL)


def ask_to_end_with_parent() -> None:
    """Makes the kernel send this process SIGTERM when its parent dies. For a child that must release something."""
    _signal_at_parents_death(signal.SIGTERM)


def _signal_at_parents_death(number: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)
