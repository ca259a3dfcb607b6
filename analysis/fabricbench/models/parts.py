# SPDX-License-Identifier: Apache-2.0
"""The parts of a run time: computation, latency, bandwidth, waiting, and what remains."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds of one rank, of one class of calls, or the mean over ranks. Their sum is the time that they divide.

    ``computation``: outside MPI. ``latency``, ``bandwidth``: what the lane's measured curves give for the messages.
    ``waiting``: measured time before the partner of an operation entered it. ``undivided``: time that is waiting or
    rest, of operations whose partners' time stamps are unknown; waiting lies between ``waiting`` and ``waiting`` +
    ``undivided``. ``rest``: what remains; negative where transfers overlap each other or computation.
    """

    computation: float = 0.0
    latency: float = 0.0
    bandwidth: float = 0.0
    waiting: float = 0.0
    undivided: float = 0.0
    rest: float = 0.0

    @property
    def total(self) -> float:
        """The time that the parts divide."""
        return float(sum(getattr(self, name) for name in PARTS))

    @property
    def communication(self) -> float:
        """The time in MPI."""
        return self.total - self.computation

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(*(getattr(self, name) + getattr(other, name) for name in PARTS))

    def __sub__(self, other: "Parts") -> "Parts":
        return Parts(*(getattr(self, name) - getattr(other, name) for name in PARTS))

    def __truediv__(self, number: float) -> "Parts":
        return Parts(*(getattr(self, name) / number for name in PARTS))


PARTS = tuple(field.name for field in fields(Parts))
"""The names of the parts in the order of a stacked bar."""


def total_of(parts: Iterable[Parts]) -> Parts:
    """Returns the sum of all."""
    return sum(parts, Parts())


@dataclass(frozen=True, slots=True)
class RankParts:
    """The parts of one rank's time. ``computation``: seconds outside MPI. ``calls``: the parts in MPI by function.

    A function that completes operations of others counts as these: the time of MPI_Wait for a message that MPI_Irecv
    requested is in ``MPI_Irecv``.
    """

    rank: int
    computation: float
    calls: Mapping[str, Parts]

    @property
    def parts(self) -> Parts:
        """All parts of the rank's time."""
        return Parts(computation=self.computation) + total_of(self.calls.values())

    @property
    def unexplained(self) -> float:
        """The sum of the absolute rests by function, and of the undivided times, in seconds."""
        return sum(abs(parts.rest) + abs(parts.undivided) for parts in self.calls.values())


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of the time of one launch, by rank in order."""

    ranks: tuple[RankParts, ...]

    @property
    def mean(self) -> Parts:
        """The mean over ranks, in seconds."""
        return total_of(rank.parts for rank in self.ranks) / len(self.ranks)

    @property
    def time(self) -> float:
        """The time of the rank that takes longest, in seconds: T."""
        return max(rank.parts.total for rank in self.ranks)

    @property
    def unexplained(self) -> float:
        """The unexplained share: the mean over ranks of their unexplained times, over the mean of their times."""
        return sum(rank.unexplained for rank in self.ranks) / sum(rank.parts.total for rank in self.ranks)

    def by_call(self) -> dict[str, Parts]:
        """Returns the mean over ranks of each function's parts, in seconds; functions with most time first."""
        names = {name for rank in self.ranks for name in rank.calls}
        means = {
            name: total_of(rank.calls.get(name, Parts()) for rank in self.ranks) / len(self.ranks) for name in names
        }
        return dict(sorted(means.items(), key=lambda item: (-item[1].total, item[0])))
