# SPDX-License-Identifier: Apache-2.0
"""A heat map by pair of nodes: how much slower each is than a pair of ordinary nodes, in few classes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from fabricbench.report import svg
from fabricbench.report.groups import LegendEntry
from fabricbench.report.words import clean, number
from fabricbench.verdict.nodes import Matrix
from fabricbench.verdict.suspects import Suspect

MOST_NODES = 64
"""A map of more could not be read."""

_EDGES = (1 / 1.25, 1 / 1.1, 1.1, 1.25, 1.6, 2.5)
_COLOURS = ("#4393c3", "#a6cee3", "#f1f3f5", "#fddbc7", "#f4a582", "#d6604d", "#8c1d2c")
_WORDS = ("faster by 1.25 or more", "by 1.1", "within 1.1", "slower by 1.1", "by 1.25", "by 1.6", "by 2.5 or more")
_MOST_NUMBERS, _MOST_NAMES = 12, 24
_INK, _NAMED = "#1f2937", "#8c1d2c"


@dataclass(frozen=True, slots=True)
class Cell:
    """A place of the map: ``row`` sends, ``column`` receives; ``ratio`` is its time over that of ordinary nodes."""

    row: int
    column: int
    ratio: float

    @property
    def grade(self) -> int:
        """Its class."""
        return bisect_right(_EDGES, self.ratio)


def legend() -> tuple[LegendEntry, ...]:
    """The classes."""
    box = '<svg aria-hidden="true" width="16" height="16" viewBox="0 0 16 16"><path d="M0 0h16v16H0z" fill="{}"/></svg>'
    return tuple(LegendEntry(Markup(box.format(c)), words) for c, words in zip(_COLOURS, _WORDS, strict=True))


def heat_map_svg(matrix: Matrix, named: Sequence[Suspect], key: str, title: str) -> str:
    """The map as inline SVG; a named pair is framed, the name of a named node is bold."""
    count = len(matrix.names)
    cells = _cells(matrix)
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 4.9))
        axes = figure.add_axes((0.17, 0.14, 0.81, 0.84))
        _fill(axes, cells)
        if count <= _MOST_NUMBERS:
            for cell in cells:
                colour = "white" if cell.grade >= len(_COLOURS) - 2 else _INK
                axes.text(
                    cell.column, cell.row, f"{cell.ratio:.2f}", color=colour, fontsize=8, ha="center", va="center"
                )
        _frames(axes, matrix, named)
        _axes(axes, matrix, named)
        return svg.inline(figure, key, clean(title), clean(_describe(matrix, cells)))


def _cells(matrix: Matrix) -> list[Cell]:
    found = matrix.effects
    ratios = np.exp(found.typical - found.ordinary)
    ways = [(found.first, found.second), *([] if matrix.pairs.directed else [(found.second, found.first)])]
    return sorted(
        (
            Cell(int(one), int(other), float(ratio))
            for rows, columns in ways
            for one, other, ratio in zip(rows, columns, ratios, strict=True)
        ),
        key=lambda cell: (cell.row, cell.column),
    )


def _fill(axes: Axes, cells: Sequence[Cell]) -> None:
    """A shape per class: neighbours in a row are one rectangle, which keeps a map of 64 nodes small."""
    boxes: dict[int, list[Path]] = {}
    for (row, grade, _), run in groupby(
        enumerate(cells), key=lambda item: (item[1].row, item[1].grade, item[1].column - item[0])
    ):
        columns = [cell.column for _, cell in run]
        boxes.setdefault(grade, []).append(_box(row, columns[0], columns[-1]))
    for grade, paths in sorted(boxes.items()):
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), facecolor=_COLOURS[grade], linewidth=0))


def _box(row: int, first: int, last: int) -> Path:
    left, right, top, bottom = first - 0.5, last + 0.5, row - 0.5, row + 0.5
    return Path([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], closed=True)


def _frames(axes: Axes, matrix: Matrix, named: Sequence[Suspect]) -> None:
    for finding in named:
        if finding.other:
            one, other = matrix.names.index(finding.node), matrix.names.index(finding.other)
            for row, column in {(one, other), (one, other) if matrix.pairs.directed else (other, one)}:
                axes.add_patch(PathPatch(_box(row, column, column), fill=False, edgecolor=_INK, linewidth=1.4))


def _axes(axes: Axes, matrix: Matrix, named: Sequence[Suspect]) -> None:
    count = len(matrix.names)
    step = -(-count // _MOST_NAMES)
    slow = {(finding.role, finding.node) for finding in named if finding.kind == "node"}
    for axis, roles in ((axes.yaxis, ("sending", "either way")), (axes.xaxis, ("receiving", "either way"))):
        bold = [any((role, name) in slow for role in roles) for name in matrix.names]
        shown = [at for at in range(count) if at % step == 0 or bold[at]]
        axis.set_ticks(shown, ["\u200b" + clean(matrix.names[at]) for at in shown])
        axis.set_tick_params(length=0, labelsize=8)
        for label, at in zip(axis.get_ticklabels(), shown, strict=True):
            label.set(color=_NAMED if bold[at] else _INK, weight="bold" if bold[at] else "normal")
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    for label in axes.get_xticklabels():
        label.set(rotation=90 if count > 6 else 0)
    if matrix.pairs.directed:
        axes.set(xlabel="to", ylabel="from")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _describe(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """The slowest pairs in words."""
    worst = sorted(cells, key=lambda cell: -cell.ratio)[:3]
    said = (f"{matrix.names[c.row]} to {matrix.names[c.column]} {number(c.ratio, 3)}" for c in worst)
    return (
        f"{len(cells)} pairs of {len(matrix.names)} nodes; slowest: {', '.join(said)} times the time of ordinary nodes"
    )
