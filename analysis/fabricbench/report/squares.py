# SPDX-License-Identifier: Apache-2.0
"""The squares of a heat map: their classes of colour, the legend, and the shapes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from fabricbench.report.bars import ink_on
from fabricbench.report.groups import LegendEntry

_BOX = '<svg aria-hidden="true" width="16" height="16" viewBox="0 0 16 16"><path d="M0 0h16v16H0z" fill="{}"/></svg>'


@dataclass(frozen=True, slots=True)
class Square:
    """A value in a row and a column, both counted from 0."""

    row: int
    column: int
    value: float


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of values: a colour and its meaning for each, and the edges between them in ascending order."""

    edges: tuple[float, ...]
    colours: tuple[str, ...]
    words: tuple[str, ...]

    def grade(self, value: float) -> int:
        """Returns the number of the class of a value, 0 for the smallest values."""
        return bisect_right(self.edges, value)

    def ink(self, value: float) -> str:
        """Returns the colour of letters on the square of a value."""
        return ink_on(self.colours[self.grade(value)])

    def legend(self) -> tuple[LegendEntry, ...]:
        """Returns the colours with their meanings."""
        return tuple(LegendEntry(Markup(_BOX.format(c)), w) for c, w in zip(self.colours, self.words, strict=True))


def fill(axes: Axes, squares: Sequence[Square], classes: Classes) -> None:
    """Draws one shape per class from squares in order of row and column.

    Neighbours in a row are one rectangle, which keeps a large map small.
    """
    boxes: dict[int, list[Path]] = {}
    for (row, grade, _), run in groupby(
        enumerate(squares), key=lambda item: (item[1].row, classes.grade(item[1].value), item[1].column - item[0])
    ):
        columns = [square.column for _, square in run]
        boxes.setdefault(grade, []).append(box(row, columns[0], columns[-1]))
    for grade, paths in sorted(boxes.items()):
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), facecolor=classes.colours[grade], linewidth=0))


def box(row: int, first: int, last: int) -> Path:
    """Returns the outline of the squares of one row from the column ``first`` to ``last``."""
    left, right, top, bottom = first - 0.5, last + 0.5, row - 0.5, row + 0.5
    return Path([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], closed=True)
