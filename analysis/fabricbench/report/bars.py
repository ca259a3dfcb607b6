# SPDX-License-Identifier: Apache-2.0
"""Labels figures that have a row per lane and number of ranks."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from fabricbench.report.formatting import clean
from fabricbench.site.lane import LaneName

ROW_INCHES = 0.24
"""Height of a row."""


def label_rows(axes: Axes, places: Sequence[tuple[LaneName, int]]) -> None:
    """Labels the rows with the lanes and their numbers of ranks, from top to bottom."""
    axes.set_yticks(range(len(places)))
    axes.set_yticklabels(["\u200b" + clean(f"{lane.name}, {ranks}") for lane, ranks in places])
    axes.set_ylim(len(places) - 0.4, -0.6)
