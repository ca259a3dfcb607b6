# SPDX-License-Identifier: Apache-2.0
"""Figures of ratios: stacks of one fabric relative to a reference stack, and one tool relative to another."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import polars as pl

from fabricbench.launch.table import LANE
from fabricbench.report.facets import Facet, Line, Measured, Panel, Point, describe, ends_of_scales, others, pingpong
from fabricbench.report.families import compared
from fabricbench.report.formatting import slugs
from fabricbench.report.groups import Group, Naming, group
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName
from fabricbench.stats.interval import Interval
from fabricbench.verdict.compare import compare, compare_tools
from fabricbench.verdict.comparison import Comparison
from fabricbench.verdict.frames import rows_of
from fabricbench.verdict.overhead import Overhead
from fabricbench.verdict.series import all_series

RATIO = "ratio"

_SLACK = 1.0 + 1e-9


def ratios(
    table: pl.DataFrame,
    panels: list[Panel],
    styles: Mapping[LaneName, LaneStyle],
    alpha: float,
    cells: Measured | None = None,
) -> list[Group]:
    """A group for every fabric with two or more timed stacks: the curves of the page, relative to the reference stack.

    ``cells``: the result of ``all_series(table)``.
    """
    candidates = [*(p for p in pingpong(panels)[0] if p.metric == "latency"), *compared(panels), *others(panels)]
    metrics = {panel.facet: panel.metric for panel in reversed(candidates)}
    doubtful = _doubtful(table)
    timed = {key.lane_name for key in (all_series(table) if cells is None else cells)}
    result = []
    for fabric, key in slugs(sorted({lane.fabric for lane in timed}), "ratios").items():
        lanes = sorted(lane for lane in timed if lane.fabric == fabric)
        reference = _reference(lanes, candidates, doubtful)
        lines: dict[tuple[Facet, str], dict[LaneName, Line]] = defaultdict(dict)
        for lane in lanes:
            if lane != reference:
                frame = compare(table, lane.name, reference.name, alpha, across_levels=False, cells=cells)
                for what, line in _lines(_measured(frame), alpha).items():
                    lines[what][lane] = line
        figures = [Panel(f, RATIO, RATIO, lines[f, m]) for f, m in metrics.items() if lines.get((f, m))]
        if figures:
            title = f"{fabric}: relative to {reference.build}"
            naming = Naming(key, title, _metric_caption(metrics), lambda lane: lane.build)
            result.append(group(figures, styles, naming, small=True))
    return result


def estimators(
    table: pl.DataFrame, styles: Mapping[LaneName, LaneStyle], alpha: float, cells: Measured | None = None
) -> list[Group]:
    """A group for every two tools that measure the same quantity with the same estimator: a line per lane, a panel per
    facet and fabric. ``cells``: the result of ``all_series(table)``."""
    if table.is_empty():
        return []
    rows = _measured(compare_tools(table, alpha=alpha, cells=cells))
    by_name = {lane.name: lane for lane in styles}
    result = []
    for (own, other), key in _tools(rows).items():
        panels: dict[Facet, dict[LaneName, Line]] = defaultdict(dict)
        of_both = [row for row in rows if (row.a, row.b) == (own, other)]
        for name in dict.fromkeys(row.lane for row in of_both):
            for (facet, _), line in _lines([row for row in of_both if row.lane == name], alpha).items():
                panels[facet][by_name[name]] = line
        figures = ends_of_scales(
            [Panel(f, RATIO, RATIO, part) for f in sorted(panels) for part in _by_fabric(panels[f])]
        )
        naming = Naming(key, f"{own} over {other}", _fabric_caption, lambda lane: lane.name)
        result.append(group(figures, styles, naming, small=False))
    return result


def ratio_point(row: Comparison | Overhead, interval: Interval, alpha: float) -> Point:
    """Returns the point of the figure for an ``interval`` of ``row``. The interval must have an estimate.

    A point is weak unless the row's q-value is at most ``alpha``; it has an interval if that has a confidence of at
    least 1 - ``alpha``.
    """
    assert interval.estimate is not None
    sure = interval.confidence is not None and interval.confidence >= (1 - alpha) / _SLACK
    low, high = (interval.low, interval.high) if sure else (None, None)
    weak = row.q is None or row.q > alpha * _SLACK
    return Point(row.msg_size_bytes, interval.estimate, low, high, interval.n, weak)


def _metric_caption(metrics: Mapping[Facet, str]) -> Callable[[Panel], str]:
    return lambda panel: f"{metrics[panel.facet].replace('_', ' ').capitalize()}: {describe(panel.facet)}"


def _measured(frame: pl.DataFrame) -> list[Comparison]:
    """Returns the rows of a comparison that have a ratio."""
    return rows_of(Comparison, frame.filter(pl.col("ratio").is_not_null()))


def _tools(rows: Sequence[Comparison]) -> dict[tuple[str, str], str]:
    """Every two estimators with a ratio, and the anchor of their group."""
    both = sorted({(row.a, row.b) for row in rows})
    anchors = slugs((f"{own} over {other}" for own, other in both), "estimators")
    return {names: anchors[f"{names[0]} over {names[1]}"] for names in both}


def _by_fabric(lines: Mapping[LaneName, Line]) -> list[dict[LaneName, Line]]:
    fabrics = sorted({lane.fabric for lane in lines})
    return [{lane: line for lane, line in lines.items() if lane.fabric == fabric} for fabric in fabrics]


def _fabric_caption(panel: Panel) -> str:
    fabric = min(panel.lines).fabric
    return f"{fabric}: {describe(panel.facet, tool=False)}"


def _doubtful(table: pl.DataFrame) -> set[LaneName]:
    """The lanes with launches that are refuted or unknown."""
    rows = table.filter(pl.col("state").is_in(["refuted", "unknown"])).select(LANE).unique()
    return {LaneName(*row) for row in rows.iter_rows()}


def _reference(lanes: Sequence[LaneName], panels: Sequence[Panel], doubtful: Collection[LaneName]) -> LaneName:
    """The lane whose launches are all attested; of several the one with most points in panels of two or more lanes."""
    shared = [panel for panel in panels if len(panel.lines.keys() & set(lanes)) > 1]
    points = {lane: sum(len(panel.lines.get(lane, ())) for panel in shared) for lane in lanes}
    return min(lanes, key=lambda lane: (lane in doubtful, -points[lane], lane))


def _lines(rows: Sequence[Comparison], alpha: float) -> dict[tuple[Facet, str], Line]:
    """The ratios of a comparison by facet and metric, by ascending size."""
    points: dict[tuple[Facet, str], list[Point]] = defaultdict(list)
    for row in rows:
        facet = Facet(row.tool, row.benchmark, row.case, row.ranks, row.nodes)
        points[facet, row.metric].append(ratio_point(row, row.interval, alpha))
    return {what: tuple(sorted(line, key=lambda p: -1 if p.size is None else p.size)) for what, line in points.items()}
