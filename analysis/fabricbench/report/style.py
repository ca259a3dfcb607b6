# SPDX-License-Identifier: Apache-2.0
"""How lines look: a colour and a marker per stack, a dash per fabric, told apart without colour."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabricbench.site.lane import lane_name

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette without its yellow, which white paper swallows."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (9, 3)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """A lane's name in parts, as in the table."""

    stack: str
    fabric: str
    variant: str

    @property
    def name(self) -> str:
        """``stack@fabric:variant``."""
        return lane_name(self.stack, self.fabric, self.variant)

    @property
    def build(self) -> str:
        """The stack, with its variant where it has one: what a line within one fabric is called."""
        return f"{self.stack}:{self.variant}" if self.variant else self.stack


@dataclass(frozen=True, slots=True)
class Look:
    """How a lane's line is drawn."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


def looks(lanes: Iterable[Lane]) -> dict[Lane, Look]:
    """A look for every lane of a campaign, the same in each of its figures."""
    lanes = sorted(set(lanes))
    builds = sorted({(lane.stack, lane.variant) for lane in lanes})
    fabrics = sorted({lane.fabric for lane in lanes})
    result = {}
    for lane in lanes:
        i, j = builds.index((lane.stack, lane.variant)), fabrics.index(lane.fabric)
        result[lane] = Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[j % len(DASHES)])
    return result
