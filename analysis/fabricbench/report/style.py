# SPDX-License-Identifier: Apache-2.0
"""Styles of lines: a colour and a marker per stack, a dash per fabric, so that lanes differ without colour too."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabricbench.site.lane import LaneName

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito without its yellow, which has too little contrast on white paper."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (9, 3)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaneStyle:
    """Colour, marker and dash of a lane's line, as matplotlib names them."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


def lane_styles(lanes: Iterable[LaneName]) -> dict[LaneName, LaneStyle]:
    """A style for every lane of a campaign, the same in all of its figures."""
    lanes = sorted(set(lanes))
    builds = sorted({(lane.stack, lane.variant) for lane in lanes})
    fabrics = sorted({lane.fabric for lane in lanes})
    result = {}
    for lane in lanes:
        i, j = builds.index((lane.stack, lane.variant)), fabrics.index(lane.fabric)
        result[lane] = LaneStyle(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[j % len(DASHES)])
    return result
