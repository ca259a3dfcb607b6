# SPDX-License-Identifier: Apache-2.0
"""From the long table to lines over message size: every point an estimate over launches."""

from collections import defaultdict
from dataclasses import dataclass

import polars as pl

from fabricbench.core.launch import lane_name
from fabricbench.core.table import LANE, usable
from fabricbench.report.style import Lane
from fabricbench.stats.interval import median_interval

OWN = "micro"
"""The tool whose benchmarks are the project's own."""

PINGPONG = "pingpong"

Metric = str


@dataclass(frozen=True, slots=True, order=True)
class Facet:
    """What one panel shows, apart from lanes and fabrics: a benchmark, measured one way."""

    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate at one message size; ``low`` and ``high`` are None where n launches give no interval."""

    size: int | None
    estimate: float
    low: float | None
    high: float | None
    n: int
    weak: bool = False


Line = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric of one facet: a line for every lane."""

    facet: Facet
    metric: str
    unit: str
    lines: dict[Lane, Line]


def panels(table: pl.DataFrame, confidence: float = 0.95) -> list[Panel]:
    """Every facet and metric of the usable rows, in order, sizes ascending.

    The interval of a point is that of the median over launches; it is wider than ``confidence`` says or, where
    too few launches were made, less certain: its bounds are then left out.
    """
    points: dict[tuple[Facet, str, str], dict[Lane, list[Point]]] = defaultdict(lambda: defaultdict(list))
    keys = ["tool", "benchmark", "case", "ranks", "nodes", "metric", "unit", *LANE, "msg_size_bytes"]
    rows = usable(table).group_by(keys).agg(pl.col("value").sort()).sort(keys, nulls_last=False)
    for tool, benchmark, case, ranks, nodes, metric, unit, stack, fabric, variant, size, values in rows.iter_rows():
        facet = Facet(tool, benchmark, case, ranks, nodes)
        point = estimate(values, size, confidence)
        points[facet, metric, unit][Lane(stack, fabric, variant)].append(point)
    return [
        Panel(facet, metric, unit, {lane: tuple(line) for lane, line in lanes.items()})
        for (facet, metric, unit), lanes in points.items()
    ]


def estimate(values: list[float], size: int | None, confidence: float = 0.95) -> Point:
    """The median over launches at one size, with its interval where the launches are enough for ``confidence``."""
    found = median_interval(values, confidence)
    enough = len(values) > 1 and found.confidence is not None and found.confidence >= confidence
    low, high = (found.low, found.high) if enough else (None, None)
    return Point(size, found.estimate, low, high, len(values))


def lanes(table: pl.DataFrame) -> list[Lane]:
    """Every lane of the table, in order."""
    return sorted(Lane(*row) for row in table.select(LANE).unique().iter_rows())


def pingpong(found: list[Panel]) -> tuple[list[Panel], str]:
    """Latency and bandwidth panels of the ping-pong, of the project's own tool before others, and the tool's name."""
    candidates = [p for p in found if p.facet.benchmark == PINGPONG and p.metric in ("latency", "bandwidth")]
    tools = sorted({p.facet.tool for p in candidates}, key=lambda tool: (tool != OWN, tool))
    if not tools:
        return [], ""
    return [p for p in candidates if p.facet.tool == tools[0]], tools[0]


def others(found: list[Panel]) -> list[Panel]:
    """One panel for each further facet that has sizes: its time, or else the first of its metrics."""
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    for panel in found:
        if panel.facet.benchmark != PINGPONG and _sized(panel):
            by_facet[panel.facet][panel.metric] = panel
    return [_main(metrics) for _, metrics in sorted(by_facet.items())]


def unsized(found: list[Panel]) -> list[Panel]:
    """Panels of benchmarks that have no message size: a single number per lane, one metric per facet."""
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    for panel in found:
        if not _sized(panel):
            by_facet[panel.facet][panel.metric] = panel
    return [_main(metrics) for _, metrics in sorted(by_facet.items())]


def on_fabric(panel: Panel, fabric: str) -> Panel:
    """The panel's lines on one fabric."""
    kept = {lane: line for lane, line in panel.lines.items() if lane.fabric == fabric}
    return Panel(panel.facet, panel.metric, panel.unit, kept)


def describe(facet: Facet, *, tool: bool = True) -> str:
    """A facet in words: ``imb allreduce, 4 ranks on 2 nodes``."""
    ranks = f"{facet.ranks} {'rank' if facet.ranks == 1 else 'ranks'}"
    nodes = f"{facet.nodes} {'node' if facet.nodes == 1 else 'nodes'}"
    name = f"{facet.tool} {facet.benchmark}" if tool else facet.benchmark
    return f"{name}{' ' + facet.case if facet.case else ''}, {ranks} on {nodes}"


def lane_of(row: dict[str, str]) -> str:
    """The name of a table row's lane."""
    return lane_name(row["stack"], row["fabric"], row["variant"])


def _sized(panel: Panel) -> bool:
    return any(point.size is not None for line in panel.lines.values() for point in line)


def _main(metrics: dict[str, Panel]) -> Panel:
    for name in ("time", "latency", "latency_mean"):
        if name in metrics:
            return metrics[name]
    return metrics[min(metrics)]
