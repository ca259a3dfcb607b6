# SPDX-License-Identifier: Apache-2.0
"""Labels figures that have a row per lane, and chooses the colour of letters on a bar."""

from collections.abc import Sequence
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from fabricbench.report.facets import MANY_SCALES
from fabricbench.report.formatting import clean
from fabricbench.site.lane import LaneName

Scale = TypeVar("Scale")

ROW_INCHES = 0.24
"""Height of a row."""

INK = "#1f2937"
"""The colour of text."""


def label_rows(axes: Axes, places: Sequence[tuple[LaneName, str]]) -> None:
    """Labels the rows with the lanes and their scales, from top to bottom."""
    axes.set_yticks(range(len(places)))
    axes.set_yticklabels(["\u200b" + clean(f"{lane.name}, {scale}") for lane, scale in places])
    axes.set_ylim(len(places) - 0.4, -0.6)


def ends(scales: Sequence[Scale]) -> Sequence[Scale]:
    """Returns the scales of a lane that a figure with a row for each shows: all, or the ends of ``MANY_SCALES``."""
    return scales if len(scales) < MANY_SCALES else (scales[0], scales[-1])


def label_names(axes: Axes, names: Sequence[str]) -> None:
    """Labels the rows with names, from top to bottom."""
    axes.set_yticks(range(len(names)), ["\u200b" + clean(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def ink_on(colour: str) -> str:
    """The colour of letters on a ``colour``: white on dark ones."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else INK
