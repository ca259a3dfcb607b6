# SPDX-License-Identifier: Apache-2.0
"""The measured curves of one lane: seconds of a message or of a collective by message size."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds by message size in bytes, at one or more measured ``sizes`` in increasing order."""

    sizes: tuple[float, ...]
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        ordered = all(a < b for a, b in zip(self.sizes, self.sizes[1:], strict=False))
        if not self.sizes or len(self.sizes) != len(self.seconds) or not ordered:
            raise ValueError("a curve has one or more sizes in increasing order, and as many times")

    @property
    def smallest(self) -> float:
        """The seconds at the smallest measured size, which are its latency."""
        return self.seconds[0]

    def at(self, size: float) -> float:
        """Returns the seconds at ``size`` bytes.

        Definition: linear interpolation between the measured sizes; below the smallest its seconds; beyond the largest
        the slope of the last segment, or 0 if that is negative.
        Assumption: the protocol does not change between two measured sizes.
        """
        if size <= self.sizes[0] or len(self.sizes) == 1:
            return self.seconds[0]
        at = min(bisect_right(self.sizes, size), len(self.sizes) - 1)
        slope = (self.seconds[at] - self.seconds[at - 1]) / (self.sizes[at] - self.sizes[at - 1])
        if size > self.sizes[-1]:
            return self.seconds[-1] + max(0.0, slope) * (size - self.sizes[-1])
        return self.seconds[at - 1] + slope * (size - self.sizes[at - 1])

    def extrapolates(self, size: float) -> bool:
        """Returns whether ``size`` is beyond the largest measured size."""
        return size > self.sizes[-1]


def curve_of(points: Mapping[int, float]) -> Curve | None:
    """Returns the curve through ``points``, seconds by bytes; None without any."""
    ordered = sorted(points.items())
    return Curve(tuple(float(size) for size, _ in ordered), tuple(s for _, s in ordered)) if ordered else None


@dataclass(frozen=True, slots=True)
class MessageCurves:
    """The curves of messages between two ranks, each None if it is not measured.

    ``half_round_trip``: h(s), half of a ping-pong. ``send_overhead``, ``receive_overhead``, ``gap``: o_s(s), o_r(s) and
    g(s) of P-LogP (Kielmann, Bal, Verstoep 2000). ``exchange``: x(s), both ranks send to each other at once.
    """

    half_round_trip: Curve | None = None
    send_overhead: Curve | None = None
    receive_overhead: Curve | None = None
    gap: Curve | None = None
    exchange: Curve | None = None


@dataclass(frozen=True, slots=True)
class CollectiveCurves:
    """The curves of one collective at a number of ranks: mean, least and most over the ranks' times."""

    mean: Curve
    least: Curve
    most: Curve


@dataclass(frozen=True, slots=True)
class Curves:
    """All curves of one lane in one block.

    ``messages``: between two ranks. ``collectives``: by name, ``alltoall``, and number of ranks; a barrier has the
    single size 0. ``ranks``: of the application; a collective has as many if its communicator is unknown. ``notes``:
    what limits the curves.
    """

    messages: MessageCurves = field(default_factory=MessageCurves)
    collectives: Mapping[tuple[str, int], CollectiveCurves] = field(default_factory=dict)
    ranks: int | None = None
    notes: tuple[str, ...] = ()

    def collective(self, name: str, ranks: int | None) -> CollectiveCurves | None:
        """Returns the curves at the nearest measured number of ranks; None if the collective is not measured."""
        count = self.measured_ranks(name, ranks)
        return None if count is None else self.collectives[name, count]

    def measured_ranks(self, name: str, ranks: int | None) -> int | None:
        """Returns the measured number of ranks of a collective that is nearest to ``ranks``; None without any."""
        counts = [count for known, count in self.collectives if known == name]
        needed = ranks or self.ranks
        return min(counts, key=lambda count: (abs(count - (needed or count)), count), default=None)


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """A curve that an attribution needs and the campaign lacks, and the command that measures it."""

    curve: str
    command: str


CHECKS = {
    "half round trip": "CurveMessages",
    "send overhead": "CurveMessages",
    "exchange": "CurveExchange",
    "barrier": "CurveBarrier",
}
"""The check that measures each curve; any other curve is that of a collective."""


def missing(names: Iterable[str]) -> tuple[Missing, ...]:
    """Returns each of these curves with the command that measures it, in order of the names."""
    return tuple(
        Missing(name, f"fabricbench run --tier standard --check {CHECKS.get(name, 'CurveCollective')}")
        for name in sorted(set(names))
    )
