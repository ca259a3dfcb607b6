# SPDX-License-Identifier: Apache-2.0
"""Processes of an earlier run: found by the mark in their environment, ended before anything new starts."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "FABRICBENCH_RUN"
"""Every process that a run starts carries this variable; its value names the run."""

_PR_SET_PDEATHSIG = 1


def marked(run: str) -> list[int]:
    """Process ids that carry the mark of ``run``; zombies are none."""
    needle = f"{MARK}={run}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def end_marked(run: str, patience_seconds: float = 10.0) -> int:
    """End every process that carries the mark of ``run``; how many there were. Returns when none is left."""
    ended: set[int] = set()
    deadline = time.monotonic() + patience_seconds
    while left := marked(run):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of an earlier run do not end: {left}")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                ended.add(pid)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    return len(ended)


class Terminated(KeyboardInterrupt):
    """The command was asked to end by SIGTERM."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Within it the first SIGTERM raises Terminated in the main thread, further ones do nothing: what was started is
    ended in order."""

    def terminate(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated("ended by SIGTERM")

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def die_with_parent() -> None:
    """For a child, before it executes: be killed when the parent dies, however that comes about."""
    _at_parents_death(signal.SIGKILL)


def ask_to_end_with_parent() -> None:
    """The same for a child that has something to give back: it gets SIGTERM."""
    _at_parents_death(signal.SIGTERM)


def _at_parents_death(number: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)
