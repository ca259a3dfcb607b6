# SPDX-License-Identifier: Apache-2.0
"""The curves of each lane by block, from the long table: those that the project's benchmarks measured, else IMB's."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.launch.facts import case_parts
from fabricbench.models.curves import CollectiveCurves, Curves, MessageCurves, curve_of
from fabricbench.parsers.tools.micro.description import TOOL
from fabricbench.site.lane import LaneName
from fabricbench.stats.median import median
from fabricbench.verdict.series import CellKey, Series

COLLECTIVES = (
    *("allgather", "allreduce", "alltoall", "barrier", "bcast"),
    *("gather", "reduce", "reduce_scatter", "scatter"),
)
"""The collectives with a curve, by the names of the benchmarks."""
_TIMES = ("time", "time_min", "time_max")
_MICROSECOND = 1e-6

Place = tuple[str, LaneName, int]
"""System, lane and number of nodes."""
_Points = dict[int, float]


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the values of a curve come from, and how a value, the number of ranks and the size give seconds."""

    tool: str
    benchmark: str
    metric: str
    case: tuple[tuple[str, str], ...] = ()
    seconds: Callable[[float, int, int], float] = lambda value, ranks, size: value * _MICROSECOND


_ATTRIBUTION = (("use", "attribution"),)
"""The case of the checks that measure curves for attributions (reframe_checks/curves.py)."""
FOR_ATTRIBUTION = "use=attribution"
"""A word in the case of the rows of these checks."""
_WINDOW = ("window", "1")


def _per_message(rate: float, ranks: int, size: int) -> float:
    """Returns the time of an exchange: each rank sends one message in it."""
    return ranks / rate


def _per_bytes(megabytes_per_second: float, ranks: int, size: int) -> float:
    """Returns the time of an exchange of ``size`` bytes from each rank."""
    return 1e-6 * ranks * size / megabytes_per_second


_MESSAGES: dict[str, tuple[_Source, ...]] = {
    "send_overhead": (
        _Source(TOOL, "plogp", "send_overhead", _ATTRIBUTION),
        _Source(TOOL, "plogp", "send_overhead"),
    ),
    "receive_overhead": (
        _Source(TOOL, "plogp", "receive_overhead", _ATTRIBUTION),
        _Source(TOOL, "plogp", "receive_overhead"),
    ),
    "gap": (_Source(TOOL, "plogp", "gap", _ATTRIBUTION), _Source(TOOL, "plogp", "gap")),
    "round_trip": (_Source(TOOL, "plogp", "round_trip", _ATTRIBUTION), _Source(TOOL, "plogp", "round_trip")),
    "half_round_trip": (_Source(TOOL, "pingpong", "latency"), _Source("imb", "pingpong", "latency_mean")),
    "exchange": (
        # Ranks that enter at different times have a short exchange and a long one in turn, so only the mean is x(s).
        _Source(TOOL, "bidirectional", "bandwidth_mean", (*_ATTRIBUTION, _WINDOW), _per_bytes),
        _Source(TOOL, "bidirectional", "message_rate", (*_ATTRIBUTION, _WINDOW), _per_message),
        _Source(TOOL, "bidirectional", "bandwidth_mean", (_WINDOW,), _per_bytes),
        _Source(TOOL, "bidirectional", "message_rate", (_WINDOW,), _per_message),
        _Source("imb", "sendrecv", "time"),
    ),
}
"""The sources of each curve of messages, the preferred one first."""
_COLLECTIVE_SOURCES = ((TOOL, _ATTRIBUTION), (TOOL, ()), ("imb", ()))
_COLLECTIVE_TOOLS = (TOOL, "imb")


class LaneCurves:
    """The curves of one lane on a number of nodes, by block."""

    def __init__(self, cells: Mapping[CellKey, Series]) -> None:
        self._cells: dict[tuple[str, str, str], dict[CellKey, Series]] = defaultdict(dict)
        for key, series in cells.items():
            self._cells[key.tool, key.benchmark, key.metric][key] = series

    def at(self, block: int, ranks: int) -> Curves:
        """Returns the curves of a block for an application of ``ranks`` ranks.

        A size that the block lacks has the median over the campaign's blocks. A curve of messages is that of ``ranks``
        active ranks, else that of the nearest number.
        """
        notes: dict[str, None] = {}
        points = {name: self._first(sources, block, ranks, notes) for name, sources in _MESSAGES.items()}
        round_trip = points.pop("round_trip")
        if round_trip:
            # The message goes one way and an empty one comes back: h(s) = RTT(s) - RTT(0) / 2.
            back = round_trip[min(round_trip)] / 2
            points["half_round_trip"] = {size: seconds - back for size, seconds in round_trip.items()}
        messages = {name: curve_of(found) for name, found in points.items()}
        collectives = {}
        for name in COLLECTIVES:
            for count in self._counts(name):
                if curves := self._collective(name, count, block, notes):
                    collectives[name, count] = curves
        return Curves(MessageCurves(**messages), collectives, ranks, tuple(notes))

    def _counts(self, name: str) -> list[int]:
        return sorted({key.ranks for tool in _COLLECTIVE_TOOLS for key in self._cells.get((tool, name, "time"), {})})

    def _first(self, sources: Sequence[_Source], block: int, ranks: int, notes: dict[str, None]) -> _Points:
        """Returns the points of the first source that has some."""
        return next((points for one in sources if (points := self._points(one, block, ranks, notes))), {})

    def _points(self, source: _Source, block: int, ranks: int, notes: dict[str, None]) -> _Points:
        counts = {key.ranks for key in self._matching(source)}
        if not counts:
            return {}
        count = min(counts, key=lambda one: (abs(one - ranks), one))
        if count != ranks:
            notes[f"contention: messages were measured with {count} active ranks, not with {ranks}"] = None
        return self._values(source, block, count, notes)

    def _collective(self, name: str, ranks: int, block: int, notes: dict[str, None]) -> CollectiveCurves | None:
        for tool, case in _COLLECTIVE_SOURCES:
            sources = [_Source(tool, name, metric, case) for metric in _TIMES]
            points = [_without_empty(self._values(source, block, ranks, notes)) for source in sources]
            mean, least, most = map(curve_of, points)
            if mean and least and most:
                return CollectiveCurves(mean, least, most)
        return None

    def _matching(self, source: _Source) -> Iterator[CellKey]:
        for key in self._cells.get((source.tool, source.benchmark, source.metric), {}):
            if _has_case(key, source.case):
                yield key

    def _values(self, source: _Source, block: int, ranks: int, notes: dict[str, None]) -> _Points:
        points: _Points = {}
        cells = self._cells.get((source.tool, source.benchmark, source.metric), {})
        medians = {key: cells[key].medians() for key in self._matching(source) if key.ranks == ranks}
        is_measured = any(block in values for values in medians.values())
        if any(medians.values()) and not is_measured:
            notes[f"curves of other blocks: {source.benchmark}"] = None
        for key, values in medians.items():
            # P-LogP measures further sizes where its curve bends, which differ between blocks.
            value = values.get(block) if is_measured else median(list(values.values())) if values else None
            if value is not None and value > 0:
                size = key.msg_size_bytes or 0
                points[size] = source.seconds(value, ranks, size)
        return points


def _without_empty(points: _Points) -> _Points:
    """Returns the points without that of 0 bytes, where a collective sends nothing; a barrier has no other."""
    return {size: seconds for size, seconds in points.items() if size} or points


def _has_case(key: CellKey, case: tuple[tuple[str, str], ...]) -> bool:
    parts = {name: str(value) for name, value in case_parts(key.case).items()}
    return parts == dict(case)


def lane_curves(cells: Mapping[CellKey, Series]) -> dict[Place, LaneCurves]:
    """Returns the curves of each lane and number of nodes, from the timed cells of a campaign."""
    names = {(source.tool, source.benchmark) for sources in _MESSAGES.values() for source in sources}
    names |= {(tool, name) for tool in _COLLECTIVE_TOOLS for name in COLLECTIVES}
    by_place: dict[Place, dict[CellKey, Series]] = defaultdict(dict)
    for key, series in cells.items():
        if (key.tool, key.benchmark) in names and not series.doubtful:
            by_place[key.system, key.lane_name, key.nodes][key] = series
    return {place: LaneCurves(found) for place, found in by_place.items()}
