# SPDX-License-Identifier: Apache-2.0
"""From the long table to lines over message size: every point an estimate over launches."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fabricbench.launch.table import LANE
from fabricbench.metrics import METRICS
from fabricbench.report.style import Lane
from fabricbench.stats.interval import median_interval
from fabricbench.verdict.series import all_series

OWN = "micro"
"""The tool whose benchmarks are the project's own."""

PINGPONG = "pingpong"

MESSAGE_SIZE = "message size"
"""What a horizontal axis shows unless something else is said."""

RATES = ("mops", "ns_per_day")
"""The metrics of an application; ``report.applications`` shows those."""

ACTIVITY = "activity_time"
"""The metric that says where an application's time went; ``report.activities`` shows that."""


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
    """An estimate at one message size; ``low`` and ``high`` are None where n blocks give no interval.

    ``weak`` marks a ratio that is not significantly other than 1.
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
    """One metric of one facet: a line for every lane, over message size or what ``axis`` names."""

    facet: Facet
    metric: str
    unit: str
    lines: dict[Lane, Line]
    axis: str = MESSAGE_SIZE


def panels(table: pl.DataFrame, confidence: float) -> list[Panel]:
    """Every facet and metric of the usable values, in order, sizes ascending.

    A point is the median over blocks of what ``verdict.series`` gives per block: the same numbers as judged.
    """
    points: dict[tuple[Facet, str], dict[Lane, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for key, found in all_series(table).items():
        values = list(found.medians().values())
        if values:
            facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
            lane = Lane(key.stack, key.fabric, key.variant)
            points[facet, key.metric][lane].append(estimate(values, key.msg_size_bytes, confidence))
    return [
        Panel(facet, name, METRICS[name].unit, {lane: tuple(line) for lane, line in sorted(lines.items())})
        for (facet, name), lines in sorted(points.items(), key=lambda item: item[0])
    ]


def estimate(values: list[float], size: int | None, confidence: float) -> Point:
    """The median of values at one size, with its interval where they are enough for ``confidence``."""
    found = median_interval(values, confidence)
    enough = found.confidence is not None and found.confidence >= confidence * (1 - 1e-9)
    low, high = (found.low, found.high) if enough else (None, None)
    return Point(size, float(np.median(values)), low, high, len(values))


def least_blocks(confidence: float) -> int:
    """How many values the interval of a median needs: the least n whose 1 - 2^(1 - n) is ``confidence``."""
    return max(2, math.ceil(1 - math.log2(1 - confidence) - 1e-9))


def lanes(table: pl.DataFrame) -> list[Lane]:
    """Every lane of the table, in order."""
    return sorted(Lane(*row) for row in table.select(LANE).unique().iter_rows())


def pingpong(found: list[Panel]) -> tuple[list[Panel], str]:
    """Latency and bandwidth panels of the ping-pong, of the own tool before others, and its name."""
    candidates = [p for p in found if p.facet.benchmark == PINGPONG and p.metric in ("latency", "bandwidth")]
    tools = sorted({p.facet.tool for p in candidates}, key=lambda tool: (tool != OWN, tool))
    if not tools:
        return [], ""
    return [p for p in candidates if p.facet.tool == tools[0]], tools[0]


def others(found: list[Panel]) -> list[Panel]:
    """One panel for each facet with sizes of other tools that ``pingpong`` leaves: its main metric, or else its first.

    What the own tool measures beside the ping-pong is drawn by ``report.families``.
    """
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    drawn = {panel.facet for panel in pingpong(found)[0]}
    for panel in found:
        if panel.facet not in drawn and panel.facet.tool != OWN and _sized(panel):
            by_facet[panel.facet][panel.metric] = panel
    return [_main(metrics) for _, metrics in sorted(by_facet.items())]


def unsized(found: list[Panel]) -> list[Panel]:
    """Panels of benchmarks without message size or rate: a number per lane, of each facet its main metrics."""
    rated = {panel.facet for panel in found if panel.metric in RATES}
    by_facet: dict[Facet, dict[str, Panel]] = defaultdict(dict)
    for panel in found:
        if not _sized(panel) and panel.facet not in rated and panel.metric != ACTIVITY:
            by_facet[panel.facet][panel.metric] = panel
    return [panel for _, metrics in sorted(by_facet.items()) for panel in _mains(metrics)]


def on_fabric(panel: Panel, fabric: str) -> Panel:
    """The panel's lines on one fabric."""
    kept = {lane: line for lane, line in panel.lines.items() if lane.fabric == fabric}
    return replace(panel, lines=kept)


def describe(facet: Facet, *, tool: bool = True) -> str:
    """A facet in words: ``imb allreduce, 4 ranks on 2 nodes``."""
    ranks = f"{facet.ranks} {'rank' if facet.ranks == 1 else 'ranks'}"
    nodes = f"{facet.nodes} {'node' if facet.nodes == 1 else 'nodes'}"
    name = f"{facet.tool} {facet.benchmark}" if tool else facet.benchmark
    return f"{name}{' ' + facet.case if facet.case else ''}, {ranks} on {nodes}"


def _sized(panel: Panel) -> bool:
    return any(point.size is not None for line in panel.lines.values() for point in line)


def _mains(metrics: dict[str, Panel]) -> list[Panel]:
    return [metrics[name] for name in sorted(metrics) if METRICS[name].main] or [_main(metrics)]


def _main(metrics: dict[str, Panel]) -> Panel:
    return metrics[min(metrics, key=lambda name: (not METRICS[name].main, name))]
