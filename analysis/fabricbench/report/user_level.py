# SPDX-License-Identifier: Apache-2.0
"""MPI over the user level: ratio and difference of the ping-pong latency, per fabric and library."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl

from fabricbench.report.groups import Group, Naming, group
from fabricbench.report.series import PINGPONG, Facet, Panel, Point, describe
from fabricbench.report.style import Lane, Look
from fabricbench.report.words import slugs
from fabricbench.verdict.overhead import overhead

RATIO, DIFFERENCE = "ratio", "difference"

_UNITS = {RATIO: "ratio", DIFFERENCE: "us"}
_CAPTIONS = {RATIO: "MPI over user level", DIFFERENCE: "MPI less user level, in µs"}
_SLACK = 1.0 + 1e-9


def user_level(table: pl.DataFrame, appearance: Mapping[Lane, Look], alpha: float) -> list[Group]:
    """A group for each user-level tool on a fabric that MPI was measured on too: ratio and difference, a line per
    MPI stack."""
    lines: dict[tuple[str, str, str, Facet], dict[str, dict[Lane, list[Point]]]] = defaultdict(
        lambda: {RATIO: defaultdict(list), DIFFERENCE: defaultdict(list)}
    )
    for row in overhead(table, alpha).iter_rows(named=True):
        facet = Facet(row["tool"], PINGPONG, "", row["ranks"], row["nodes"])
        panels = lines[row["fabric"], row["library"], row["tool"], facet]
        lane = Lane(row["stack"], row["fabric"], row["variant"])
        panels[RATIO][lane].append(_point(row, ("ratio", "ratio_low", "ratio_high"), alpha))
        names = ("difference_us", "difference_low_us", "difference_high_us")
        panels[DIFFERENCE][lane].append(_point(row, names, alpha))
    titles = {where: f"{where[0]}: MPI over {where[1]}, {describe(where[3])}" for where in sorted(lines)}
    anchors = slugs(titles.values(), "overhead")
    return [_group(title, anchors[title], where[3], lines[where], appearance) for where, title in titles.items()]


def _group(
    title: str,
    anchor: str,
    facet: Facet,
    found: Mapping[str, Mapping[Lane, list[Point]]],
    appearance: Mapping[Lane, Look],
) -> Group:
    panels = [
        Panel(facet, name, _UNITS[name], {lane: tuple(line) for lane, line in sorted(lanes.items())})
        for name, lanes in found.items()
    ]
    naming = Naming(anchor, title, lambda panel: _CAPTIONS[panel.metric], lambda lane: lane.build)
    return group(panels, appearance, naming, small=False)


def _point(row: dict[str, Any], names: tuple[str, str, str], alpha: float) -> Point:
    estimate, low, high = (row[name] for name in names)
    sure = row["confidence"] is not None and row["confidence"] >= (1 - alpha) / _SLACK
    weak = row["q"] is None or row["q"] > alpha * _SLACK
    return Point(row["msg_size_bytes"], estimate, low if sure else None, high if sure else None, row["n"], weak)
