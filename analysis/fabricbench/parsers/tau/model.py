# SPDX-License-Identifier: Apache-2.0
"""The data of a profile: timers, user events and metadata of each thread of each rank."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

MPI = "MPI"
PARAM = "TAU_PARAM"
CALLPATH = "TAU_CALLPATH"
THROTTLED = "TAU_DISABLE"
"""Groups of timers: calls of MPI; calls of one size or other parameter; calls on one path through the program; timers
that TAU stopped counting.
"""

SYNC = "MPI Collective Sync"
"""The timer of the barrier that TAU inserts before each rooted and each all-to-all collective."""

MESSAGE_SIZE = "message size"
"""The parameter of a call's size in bytes, as TAU names it."""

REGION = "measured region"
"""The timer of the region that the program marks by MPI_Pcontrol."""

CALLED_BY = " => "
"""Between caller and called in the name of a timer in the group of call paths."""

IN_REGION = ("region", "1")
"""The parameter of the calls in that region."""

_SIZES = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_PARAMETER = re.compile(r"<([^<>]*)> = <([^<>]*)>")


def parameters_of(text: str) -> dict[str, str]:
    """Returns the parameters in a text ``[ <message size> = <4096> <peer> = <same node> ]``."""
    return {match[1]: match[2] for match in _PARAMETER.finditer(text)}


def size_range(parameters: Mapping[str, str]) -> tuple[int, int] | None:
    """Returns the smallest and the largest message size in bytes among parameters; None if there is no size."""
    match = _SIZES.fullmatch(parameters.get(MESSAGE_SIZE, ""))
    return (int(match[1]), int(match[2] or match[1])) if match else None


@dataclass(frozen=True, slots=True)
class Timer:
    """One timer of one thread.

    ``name``: the text without parameters, ``MPI_Send()``. ``call``: the MPI function, ``MPI_Send``, or ``SYNC``; empty
    if the timer is not in the group MPI. ``groups``: ``("TAU_PARAM", "MPI")``. ``params``: the parameters in their
    order, ``(("message size", "4096"),)``. ``calls``, ``subcalls``: numbers of calls, and of timers started in them.
    ``exclusive``, ``inclusive``: without and with those timers, in seconds; a count if the metric is no time.
    ``line``: the line in its file.
    """

    name: str
    call: str
    groups: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    calls: int
    subcalls: int
    exclusive: float
    inclusive: float
    line: int

    @property
    def is_total(self) -> bool:
        """Whether the timer counts all calls of its name: no part of them by parameters or by call path."""
        return PARAM not in self.groups and CALLPATH not in self.groups

    @property
    def sizes(self) -> tuple[int, int] | None:
        """The smallest and the largest size of the calls in bytes; None without such a parameter.

        This project's profiler writes ``4096-8191`` for a range of sizes, TAU a single size.
        """
        return size_range(dict(self.params))

    @property
    def bytes(self) -> int | None:
        """The size of all calls together; None if their sizes are unknown or in a range."""
        sizes = self.sizes
        return sizes[0] * self.calls if sizes and sizes[0] == sizes[1] else None


@dataclass(frozen=True, slots=True)
class UserEvent:
    """The values that one event of one thread took.

    ``name``: for a context event, ``event : caller => callee``. ``line``: the line in its file.
    """

    name: str
    count: int
    maximum: float
    minimum: float
    mean: float
    sum_of_squares: float
    line: int = field(default=0, compare=False)

    @property
    def total(self) -> float:
        """The sum of all values."""
        return self.count * self.mean


@dataclass(frozen=True, slots=True)
class ThreadProfile:
    """The profile of one thread of one rank. ``file``, ``line``: where its text begins."""

    rank: int
    thread: int
    metric: str
    timers: tuple[Timer, ...]
    events: tuple[UserEvent, ...]
    metadata: Mapping[str, str]
    file: str
    line: int

    @property
    def is_tau(self) -> bool:
        """Whether TAU wrote the profile, not this project's profiler."""
        return "TAU Version" in self.metadata

    @property
    def region(self) -> Timer | None:
        """The timer of the marked region; None if the program marks none."""
        return next((timer for timer in self.timers if timer.name == REGION and timer.is_total), None)

    @property
    def total(self) -> float:
        """The inclusive value of the outermost timer, which is the largest; 0 without timers."""
        return max((timer.inclusive for timer in self.timers if timer.is_total), default=0.0)

    def mpi(self) -> Iterator[Timer]:
        """Yields one timer for each MPI function, and that of ``SYNC``."""
        return (timer for timer in self.timers if timer.call and timer.is_total)

    def by_size(self) -> Iterator[Timer]:
        """Yields the timers that divide the calls of an MPI function by message size alone."""
        return (timer for timer, is_by_size in self._by_parameters() if is_by_size)

    def by_all(self) -> Iterator[Timer]:
        """Yields the timers that divide the calls of an MPI function by all parameters; none in profiles of TAU."""
        return (timer for timer, is_by_size in self._by_parameters() if not is_by_size)

    def in_region(self) -> Iterator[Timer]:
        """Yields timers that together count each call in the marked region once.

        They are those with the parameter of the region, and in a profile of TAU the call paths through the region.
        """
        yield from (timer for timer in self.by_all() if IN_REGION in timer.params)
        yield from (timer for timer in self.timers if timer.call and CALLPATH in timer.groups)

    def _by_parameters(self) -> Iterator[tuple[Timer, bool]]:
        """Yields each timer with parameters, and whether it counts all calls of one size.

        This project's profiler writes the timers by size first. A later timer whose only parameter is the same size
        counts the calls without further parameters.
        """
        known: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        for timer in self.timers:
            if timer.call and PARAM in timer.groups:
                key = (timer.call, timer.params)
                yield timer, key not in known and [name for name, _ in timer.params] == [MESSAGE_SIZE]
                known.add(key)


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a launch: the threads in order of rank and thread. ``ranks``: the number of ranks."""

    metric: str
    ranks: int
    threads: tuple[ThreadProfile, ...]

    def by_rank(self) -> tuple[tuple[ThreadProfile, ...], ...]:
        """Returns the threads of each rank, by rank; thread 0 is the first."""
        return tuple(tuple(threads) for _, threads in groupby(self.threads, key=lambda thread: thread.rank))
