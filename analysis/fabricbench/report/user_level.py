# SPDX-License-Identifier: Apache-2.0
"""The cost of MPI over the user-level library: ratio and difference of the ping-pong latency, per fabric."""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from fabricbench.report.comparisons import ratio_point
from fabricbench.report.facets import Facet, Measured, Panel, Point, describe
from fabricbench.report.formatting import slugs
from fabricbench.report.groups import Group, Naming, group
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName
from fabricbench.verdict.alike import user_means
from fabricbench.verdict.frames import rows_of
from fabricbench.verdict.overhead import Overhead, overhead

RATIO, DIFFERENCE = "ratio", "difference"

_UNITS = {RATIO: "ratio", DIFFERENCE: "us"}
_CAPTIONS = {RATIO: "MPI over user level", DIFFERENCE: "MPI minus user level, in µs"}


def user_level(
    table: pl.DataFrame, styles: Mapping[LaneName, LaneStyle], alpha: float, cells: Measured | None = None
) -> list[Group]:
    """A group for every user-level tool on a fabric with MPI stacks: ratio and difference, a line per MPI stack.

    ``cells``: the result of ``all_series(table)``.
    """
    lines: dict[tuple[str, str, str, Facet], dict[str, dict[LaneName, list[Point]]]] = defaultdict(
        lambda: {name: defaultdict(list) for name in _UNITS}
    )
    benchmarks = {one.tool: one.benchmark for one in user_means()}
    for row in rows_of(Overhead, overhead(table, alpha, cells=cells)):
        facet = Facet(row.tool, benchmarks[row.tool], "", row.ranks, row.nodes)
        panels = lines[row.fabric, row.library, row.tool, facet]
        lane = LaneName(row.stack, row.fabric, row.variant)
        for name, interval in ((RATIO, row.ratio_interval), (DIFFERENCE, row.difference_interval)):
            panels[name][lane].append(ratio_point(row, interval, alpha))
    titles = {where: f"{where[0]}: MPI over {where[1]}, {describe(where[3])}" for where in sorted(lines)}
    anchors = slugs(titles.values(), "overhead")
    return [_group(title, anchors[title], where[3], lines[where], styles) for where, title in titles.items()]


def _group(
    title: str,
    anchor: str,
    facet: Facet,
    lines: Mapping[str, Mapping[LaneName, list[Point]]],
    styles: Mapping[LaneName, LaneStyle],
) -> Group:
    panels = [
        Panel(facet, name, _UNITS[name], {lane: tuple(line) for lane, line in sorted(lanes.items())})
        for name, lanes in lines.items()
    ]
    naming = Naming(anchor, title, lambda panel: _CAPTIONS[panel.metric], lambda lane: lane.build)
    return group(panels, styles, naming, small=False)
