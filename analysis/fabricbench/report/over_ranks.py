# SPDX-License-Identifier: Apache-2.0
"""Panels over numbers of ranks: which scales are on one line, and the lines of collectives and applications."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fabricbench.report.facets import RANKS, Facet, Panel, Point, suffices
from fabricbench.report.formatting import plural, size_label
from fabricbench.site.lane import LaneName
from fabricbench.verdict.scaling import CollectiveTime, Scaling

ONE_NODE = 0
"""The line of a lane that has launches on one node only, with any number of ranks."""

_Scales = tuple[int, int]
_Place = tuple[int, int, str]
"""Ranks per node, the number of a panel in its row, and its caption."""


def lines_of(scales: Iterable[_Scales]) -> dict[_Scales, int]:
    """Returns the line of each scale (nodes, ranks) of a lane: its ranks per node, or ``ONE_NODE`` for all.

    Scales with equally many ranks and other ranks per node differ in their use of the network.
    """
    scales = set(scales)
    one_node = all(nodes == 1 for nodes, _ in scales)
    return {(nodes, ranks): ONE_NODE if one_node else -(-ranks // nodes) for nodes, ranks in scales}


def line_text(ranks_per_node: int) -> str:
    """Returns a line as text: ``8 ranks on each node``."""
    return "on one node" if ranks_per_node == ONE_NODE else f"{plural(ranks_per_node, 'rank')} on each node"


def collective_panels(rows: Sequence[CollectiveTime], sizes: Sequence[int | None], confidence: float) -> list[Panel]:
    """Returns a panel for each line and size of one collective: the time of each lane, and that of its model."""
    panels = _Panels("us", "model")
    on_line = _lines_by_lane(rows)
    for row in rows:
        if row.msg_size_bytes in sizes and row.time is not None:
            line = on_line[row.lane][row.nodes, row.ranks]
            words = [] if row.msg_size_bytes is None else [size_label(row.msg_size_bytes)]
            place = (line, list(sizes).index(row.msg_size_bytes), ", ".join([*words, line_text(line)]))
            low, high = (row.time_low, row.time_high) if suffices(row.confidence, confidence) else (None, None)
            panels.add(place, "time", row.lane, Point(row.ranks, row.time, low, high, row.n), row.model)
    return panels.with_lines(Facet(rows[0].tool, rows[0].benchmark, rows[0].case, 0, 0))


def application_panels(
    rows: Sequence[Scaling], rate_of: Callable[[Scaling], Point], unit: str, confidence: float
) -> list[Panel]:
    """Returns panels for each line of one application: its rate, its speed-up beside the ideal one, its efficiency.

    ``rate_of``: the rate as the other figures show it; ``unit``: of the rate.
    """
    panels = _Panels(unit, "ideal")
    on_line = _lines_by_lane(rows)
    for row in rows:
        line = on_line[row.lane][row.nodes, row.ranks]
        rate, text = replace(rate_of(row), size=row.ranks), line_text(line)
        panels.add((line, 0, text), row.metric, row.lane, rate)
        sure = suffices(row.confidence, confidence)
        ideal = row.ranks / row.base_ranks
        for at, metric, factor, model in ((1, "speed_up", 1.0, ideal), (2, "efficiency", 100.0 / ideal, None)):
            if row.speed_up is not None:
                low, high = (row.speed_up_low, row.speed_up_high) if sure else (None, None)
                point = Point(row.ranks, factor * row.speed_up, scaled(low, factor), scaled(high, factor), row.n)
                panels.add((line, at, text), metric, row.lane, point, model)
    return panels.with_lines(Facet(rows[0].tool, rows[0].benchmark, rows[0].case, 0, 0))


def scaled(value: float | None, factor: float) -> float | None:
    """Returns a value times a factor; None for None."""
    return None if value is None else factor * value


def chosen_sizes(rows: Sequence[CollectiveTime]) -> tuple[int | None, ...]:
    """Returns up to three sizes of a collective: the smallest, the largest, and that between them on a log scale.

    They are chosen among the sizes of the most scales. A collective without sizes has one, None.
    """
    scales: dict[int, set[tuple[str, int, int]]] = defaultdict(set)
    for row in rows:
        if row.msg_size_bytes:
            scales[row.msg_size_bytes].add((row.lane, row.nodes, row.ranks))
    if not scales:
        return (None,)
    most = max(map(len, scales.values()))
    sizes = sorted(size for size, places in scales.items() if len(places) == most)
    middle = math.sqrt(sizes[0] * sizes[-1])
    between = min(sizes, key=lambda size: abs(math.log(size / middle)))
    return tuple(sorted({sizes[0], between, sizes[-1]}))


def _lines_by_lane(rows: Sequence[CollectiveTime] | Sequence[Scaling]) -> Mapping[str, Mapping[_Scales, int]]:
    scales: dict[str, set[_Scales]] = defaultdict(set)
    for row in rows:
        scales[row.lane].add((row.nodes, row.ranks))
    return {lane: lines_of(of_lane) for lane, of_lane in scales.items()}


_UNITS = {"speed_up": "", "efficiency": "%"}


class _Panels:
    """Gathers the points of panels by place and metric. ``unit``: of all metrics but those of ``_UNITS``."""

    def __init__(self, unit: str, model_name: str) -> None:
        self._unit, self._model_name = unit, model_name
        self._points: dict[tuple[_Place, str], dict[LaneName, list[Point]]] = defaultdict(lambda: defaultdict(list))
        self._models: dict[tuple[_Place, str], dict[LaneName, list[Point]]] = defaultdict(lambda: defaultdict(list))

    def add(self, place: _Place, metric: str, lane: str, point: Point, model: float | None = None) -> None:
        """Adds a point of a lane, and the value of its model at the same number of ranks."""
        name = LaneName.of(lane)
        self._points[place, metric][name].append(point)
        if model is not None:
            self._models[place, metric][name].append(Point(point.size, model, None, None, 0))

    def with_lines(self, facet: Facet) -> list[Panel]:
        """Returns the panels with a line of two or more points, in order of their places."""
        return [
            Panel(
                replace(facet, case=place[2]),
                metric,
                _UNITS.get(metric, self._unit),
                {lane: tuple(points) for lane, points in sorted(lines.items())},
                RANKS,
                {lane: tuple(points) for lane, points in sorted(self._models.get((place, metric), {}).items())},
                self._model_name,
            )
            for (place, metric), lines in sorted(self._points.items(), key=lambda item: item[0])
            if any(len(points) > 1 for points in lines.values())
        ]
