# SPDX-License-Identifier: Apache-2.0
"""The time that the rows and the operations of a profile describe: a marked region or the run of the program."""

import re
from collections.abc import Iterator

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.model import Profile, ThreadProfile, Timer

START_AND_END = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")
"""The functions that the described time excludes."""

NO_TRANSFER = re.compile(r"MPI_(Wait|Test)(all|any|some)?|MPI_[A-Za-z]+_init")
"""Functions whose sizes are those of operations that other functions start."""


def has_region(profile: Profile) -> bool:
    """Returns whether the program marks a region; Unreadable if only some ranks do."""
    marked = [thread.region is not None for thread in profile.threads if thread.thread == 0]
    if any(marked) and not all(marked):
        raise Unreadable("profile.*", None, f"the measured region on every rank, rank {marked.index(False)} has none")
    return all(marked)


def profiled_seconds(main: ThreadProfile, region: bool) -> float:
    """Returns the time of a rank in seconds that the shares refer to; Unreadable if there is none."""
    if region and main.region is not None:
        seconds = main.region.inclusive
    else:
        seconds = main.total - sum(timer.inclusive for timer in main.mpi() if timer.call in START_AND_END)
    if seconds <= 0:
        raise Unreadable(main.file, main.line, f"a run time above 0 of rank {main.rank}")
    return seconds


def timers_of(thread: ThreadProfile, region: bool) -> Iterator[Timer]:
    """Yields timers that together count each call in the described time once."""
    if region:
        return thread.in_region()
    return (timer for timer in thread.mpi() if timer.call not in START_AND_END)


def is_misread(thread: ThreadProfile, timer: Timer) -> bool:
    """Returns whether the timer is one of TAU that has the received sizes in place of the sent ones."""
    return thread.is_tau and timer.call in ("MPI_Sendrecv", "MPI_Sendrecv_replace")
