# SPDX-License-Identifier: Apache-2.0
"""Drawings of ratios: stacks of one fabric against a reference, and one tool against another."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from fabricbench.launch.table import LANE
from fabricbench.report.families import compared
from fabricbench.report.groups import Group, Naming, group
from fabricbench.report.series import Facet, Line, Panel, Point, describe, others, pingpong
from fabricbench.report.style import Lane, Look
from fabricbench.report.words import slugs
from fabricbench.verdict.compare import compare, compare_tools

RATIO = "ratio"

_SLACK = 1.0 + 1e-9


def ratios(table: pl.DataFrame, found: list[Panel], appearance: Mapping[Lane, Look], alpha: float) -> list[Group]:
    """A group per fabric with two stacks or more: what the page draws as curves, over the reference's."""
    drawn = [*(p for p in pingpong(found)[0] if p.metric == "latency"), *compared(found), *others(found)]
    metrics = {panel.facet: panel.metric for panel in reversed(drawn)}
    doubtful = _doubtful(table)
    result = []
    for fabric, key in slugs(sorted({lane.fabric for lane in appearance}), "ratios").items():
        lanes = sorted(lane for lane in appearance if lane.fabric == fabric)
        reference = _reference(lanes, drawn, doubtful)
        lines: dict[tuple[Facet, str], dict[Lane, Line]] = defaultdict(dict)
        for lane in lanes:
            if lane != reference:
                for what, line in _lines(
                    compare(table, lane.name, reference.name, alpha, across_levels=False), alpha
                ).items():
                    lines[what][lane] = line
        panels = [Panel(f, RATIO, RATIO, lines[f, m]) for f, m in metrics.items() if lines.get((f, m))]
        if panels:
            title = f"{fabric}: relative to {reference.build}"
            naming = Naming(key, title, _metric_caption(metrics), lambda lane: lane.build)
            result.append(group(panels, appearance, naming, small=True))
    return result


def _metric_caption(metrics: Mapping[Facet, str]) -> Callable[[Panel], str]:
    return lambda panel: f"{metrics[panel.facet].replace('_', ' ').capitalize()}: {describe(panel.facet)}"


def estimators(table: pl.DataFrame, appearance: Mapping[Lane, Look], alpha: float) -> list[Group]:
    """A group per pair of tools that measure the same thing alike: a line per lane, a panel per facet."""
    if table.is_empty():
        return []
    rows = compare_tools(table, alpha=alpha)
    by_name = {lane.name: lane for lane in appearance}
    result = []
    for (own, other), key in _pairs(rows).items():
        pair = rows.filter((pl.col("a") == own) & (pl.col("b") == other))
        panels: dict[Facet, dict[Lane, Line]] = defaultdict(dict)
        for name in pair["lane"].unique(maintain_order=True):
            for (facet, _), line in _lines(pair.filter(pl.col("lane") == name), alpha).items():
                panels[facet][by_name[name]] = line
        drawn = [Panel(f, RATIO, RATIO, part) for f in sorted(panels) for part in _by_fabric(panels[f])]
        naming = Naming(key, f"{own} over {other}", _fabric_caption, lambda lane: lane.name)
        result.append(group(drawn, appearance, naming, small=False))
    return result


def _pairs(rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """The pairs of estimators that have a ratio, each with its anchor."""
    known = rows.filter(pl.col("ratio").is_not_null())
    pairs = sorted(set(zip(known["a"], known["b"], strict=True)))
    anchors = slugs((f"{own} over {other}" for own, other in pairs), "estimators")
    return {pair: anchors[f"{pair[0]} over {pair[1]}"] for pair in pairs}


def _by_fabric(lines: Mapping[Lane, Line]) -> list[dict[Lane, Line]]:
    fabrics = sorted({lane.fabric for lane in lines})
    return [{lane: line for lane, line in lines.items() if lane.fabric == fabric} for fabric in fabrics]


def _fabric_caption(panel: Panel) -> str:
    fabric = min(panel.lines).fabric
    return f"{fabric}: {describe(panel.facet, tool=False)}"


def _doubtful(table: pl.DataFrame) -> set[Lane]:
    """Lanes with launches that do not prove their transport."""
    rows = table.filter(pl.col("state").is_in(["refuted", "unknown"])).select(LANE).unique()
    return {Lane(*row) for row in rows.iter_rows()}


def _reference(lanes: Sequence[Lane], drawn: Sequence[Panel], doubtful: Collection[Lane]) -> Lane:
    """A lane that is attested throughout, of several the one with most points beside others', then the first."""
    shared = [panel for panel in drawn if len(panel.lines.keys() & set(lanes)) > 1]
    points = {lane: sum(len(panel.lines.get(lane, ())) for panel in shared) for lane in lanes}
    return min(lanes, key=lambda lane: (lane in doubtful, -points[lane], lane))


def _lines(rows: pl.DataFrame, alpha: float) -> dict[tuple[Facet, str], Line]:
    """The ratios of a comparison by facet and metric, sizes ascending; what is not significant is weak."""
    points: dict[tuple[Facet, str], list[Point]] = defaultdict(list)
    for row in rows.filter(pl.col("ratio").is_not_null()).iter_rows(named=True):
        facet = Facet(row["tool"], row["benchmark"], row["case"], row["ranks"], row["nodes"])
        points[facet, row["metric"]].append(_point(row, alpha))
    return {what: tuple(sorted(line, key=lambda p: -1 if p.size is None else p.size)) for what, line in points.items()}


def _point(row: dict[str, Any], alpha: float) -> Point:
    weak = row["q"] is None or row["q"] > alpha * _SLACK
    sure = row["confidence"] is not None and row["confidence"] >= (1 - alpha) / _SLACK
    low, high = (row["low"], row["high"]) if sure else (None, None)
    return Point(row["msg_size_bytes"], row["ratio"], low, high, row["n"], weak)
