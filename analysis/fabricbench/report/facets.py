# SPDX-License-Identifier: Apache-2.0
"""Turns the long table into facets: panels of lines over message size, whose points are estimates over launches."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from fabricbench.launch.table import LANE
from fabricbench.metrics import METRICS
from fabricbench.parsers.registry import half_round_trips
from fabricbench.parsers.tools.micro.description import TOOL as OWN
from fabricbench.report.formatting import plural
from fabricbench.site.lane import LaneName
from fabricbench.stats.interval import median_interval
from fabricbench.stats.median import median
from fabricbench.verdict.scaling import RATES
from fabricbench.verdict.series import CellKey, Series, all_series

Measured = Mapping[CellKey, Series]
"""What ``verdict.series.all_series`` makes of a long table."""

MESSAGE_SIZE = "message size"
"""The default label of a horizontal axis."""

RANKS = "ranks"
"""The label of a horizontal axis of numbers of ranks."""

MANY_SCALES = 3
"""A benchmark on so many scales has figures over ranks; its figures over message size show two of them."""

ACTIVITY = "activity_time"
"""The metric of an application's activities, which ``report.activities`` shows."""


@dataclass(frozen=True, slots=True, order=True)
class Facet:
    """The subject of a panel, without lanes: a benchmark with its case, on a number of ranks and nodes."""

    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate at one message size, from ``n`` blocks. ``low``, ``high``: its interval, None if ``n`` is too small.

    ``weak``: a ratio that does not differ significantly from 1.
    """

    size: int | None
    estimate: float
    low: float | None
    high: float | None
    n: int
    weak: bool = False


Line = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric of one facet: a line per lane over message size, or over the quantity that ``axis`` names.

    ``model``: lines for comparison, calculated and not measured; ``model_name``: what they are.
    """

    facet: Facet
    metric: str
    unit: str
    lines: dict[LaneName, Line]
    axis: str = MESSAGE_SIZE
    model: dict[LaneName, Line] = field(default_factory=dict)
    model_name: str = "model"


def panels(table: pl.DataFrame, confidence: float, cells: Measured | None = None) -> list[Panel]:
    """A panel for every facet and metric, in order; its points by ascending size.

    A point is the median over blocks of the values of ``verdict.series``, the same numbers that verdicts use.
    ``cells``: the result of ``all_series(table)``, to save the time of computing it again.
    """
    points: dict[tuple[Facet, str], dict[LaneName, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for key, cell in (all_series(table) if cells is None else cells).items():
        values = list(cell.medians().values())
        if values:
            facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
            points[facet, key.metric][key.lane_name].append(estimate(values, key.msg_size_bytes, confidence))
    return [
        Panel(facet, name, METRICS[name].unit, {lane: tuple(line) for lane, line in sorted(lines.items())})
        for (facet, name), lines in sorted(points.items(), key=lambda item: item[0])
    ]


def estimate(values: list[float], size: int | None, confidence: float) -> Point:
    """The median of the values at one size, with its interval if there are enough values for ``confidence``."""
    interval = median_interval(values, confidence)
    low, high = (interval.low, interval.high) if suffices(interval.confidence, confidence) else (None, None)
    return Point(size, median(values), low, high, len(values))


def suffices(actual: float | None, confidence: float) -> bool:
    """Returns whether an interval of the confidence ``actual`` is shown."""
    return actual is not None and actual >= confidence * (1 - 1e-9)


def least_blocks(confidence: float) -> int:
    """The smallest number of values whose median has an interval of ``confidence``: 1 - 2^(1 - n) >= ``confidence``."""
    return max(2, math.ceil(1 - math.log2(1 - confidence) - 1e-9))


def lanes(table: pl.DataFrame) -> list[LaneName]:
    """Every lane of the table, in order."""
    return sorted(LaneName(*row) for row in table.select(LANE).unique().iter_rows())


def pingpong(every: list[Panel]) -> tuple[list[Panel], str]:
    """The latency and bandwidth panels of the ping-pong, and its tool: the project's own if it measured them."""
    names = half_round_trips()
    pingpongs = [p for p in every if (p.facet.tool, p.facet.benchmark) in names]
    candidates = [p for p in pingpongs if p.metric in ("latency", "bandwidth")]
    tools = sorted({p.facet.tool for p in candidates}, key=lambda tool: (tool != OWN, tool))
    if not tools:
        return [], ""
    return [p for p in candidates if p.facet.tool == tools[0]], tools[0]


def others(every: list[Panel]) -> list[Panel]:
    """Returns one panel per facet of other tools with message sizes, except the ping-pong: its main or first metric.

    ``report.families`` shows the other benchmarks of the project's own tool.
    """
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    of_pingpong = {panel.facet for panel in pingpong(every)[0]}
    for panel in every:
        if panel.facet not in of_pingpong and panel.facet.tool != OWN and _sized(panel):
            by_facet[panel.facet][panel.metric] = panel
    return ends_of_scales([_main(metrics) for _, metrics in sorted(by_facet.items())])


def ends_of_scales(panels: Sequence[Panel]) -> list[Panel]:
    """Returns the panels without those of middle scales, of benchmarks on ``MANY_SCALES`` or more.

    Those of the largest scale of each fabric remain, and those of its smallest, between nodes if it has several.
    """
    scales: dict[tuple[str, str, str, str], set[tuple[int, int]]] = defaultdict(set)
    for panel in panels:
        for lane in panel.lines:
            scales[_subject(panel, lane)].add((panel.facet.ranks, panel.facet.nodes))
    ends = {subject: _ends(sorted(of_fabric)) for subject, of_fabric in scales.items()}
    return [
        panel
        for panel in panels
        if any((panel.facet.ranks, panel.facet.nodes) in ends[_subject(panel, lane)] for lane in panel.lines)
    ]


def _subject(panel: Panel, lane: LaneName) -> tuple[str, str, str, str]:
    return panel.facet.tool, panel.facet.benchmark, panel.facet.case, lane.fabric


def _ends(scales: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    if len(scales) < MANY_SCALES:
        return scales
    return next((scale for scale in scales if scale[1] > 1), scales[0]), scales[-1]


def unsized(every: list[Panel]) -> list[Panel]:
    """The panels of benchmarks without message size and without rate: the main metrics of each facet."""
    rated = {panel.facet for panel in every if panel.metric in RATES}
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    for panel in every:
        if not _sized(panel) and panel.facet not in rated and panel.metric != ACTIVITY:
            by_facet[panel.facet][panel.metric] = panel
    return [panel for _, metrics in sorted(by_facet.items()) for panel in _mains(metrics)]


def on_fabric(panel: Panel, fabric: str) -> Panel:
    """The panel with the lines of one fabric only."""
    lines = {lane: line for lane, line in panel.lines.items() if lane.fabric == fabric}
    return replace(panel, lines=lines)


def describe(facet: Facet, *, tool: bool = True) -> str:
    """A facet in words: ``imb allreduce, 4 ranks on 2 nodes``."""
    name = f"{facet.tool} {facet.benchmark}" if tool else facet.benchmark
    case = f" {facet.case}" if facet.case else ""
    return f"{name}{case}, {plural(facet.ranks, 'rank')} on {plural(facet.nodes, 'node')}"


def _sized(panel: Panel) -> bool:
    return any(point.size is not None for line in panel.lines.values() for point in line)


def _mains(metrics: dict[str, Panel]) -> list[Panel]:
    return [metrics[name] for name in sorted(metrics) if METRICS[name].main] or [_main(metrics)]


def _main(metrics: dict[str, Panel]) -> Panel:
    return metrics[min(metrics, key=lambda name: (not METRICS[name].main, name))]
