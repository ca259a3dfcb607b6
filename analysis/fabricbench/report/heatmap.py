# SPDX-License-Identifier: Apache-2.0
"""The heat map of node pairs: the slowdown of each pair against a pair of ordinary nodes, in seven classes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from fabricbench.report import svg
from fabricbench.report.formatting import clean, number
from fabricbench.report.groups import LegendEntry
from fabricbench.report.squares import Classes, Square, box, fill
from fabricbench.verdict.nodes import Matrix
from fabricbench.verdict.suspects import Suspect

MOST_NODES = 64
"""A map of more nodes is too dense to read."""

_SLOWDOWN = Classes(
    (1 / 1.25, 1 / 1.1, 1.1, 1.25, 1.6, 2.5),
    ("#4393c3", "#a6cee3", "#f1f3f5", "#fddbc7", "#f4a582", "#d6604d", "#8c1d2c"),
    ("faster by 1.25 or more", "by 1.1", "within 1.1", "slower by 1.1", "by 1.25", "by 1.6", "by 2.5 or more"),
)
_MOST_NUMBERS, _MOST_NAMES = 12, 24
_INK, _NAMED = "#1f2937", "#8c1d2c"


def legend() -> tuple[LegendEntry, ...]:
    """The colours of the classes."""
    return _SLOWDOWN.legend()


def heat_map_svg(matrix: Matrix, slow: Sequence[Suspect], key: str, title: str) -> str:
    """The map as inline SVG, with frames around the slow pairs and the names of slow nodes in bold."""
    count = len(matrix.names)
    squares = _squares(matrix)
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 4.9))
        axes = figure.add_axes((0.17, 0.14, 0.81, 0.84))
        fill(axes, squares, _SLOWDOWN)
        if count <= _MOST_NUMBERS:
            for one in squares:
                colour = "white" if _SLOWDOWN.grade(one.value) >= len(_SLOWDOWN.colours) - 2 else _INK
                axes.text(one.column, one.row, f"{one.value:.2f}", color=colour, fontsize=8, ha="center", va="center")
        _frames(axes, matrix, slow)
        _axes(axes, matrix, slow)
        return svg.inline(figure, key, clean(title), clean(_describe(matrix, squares)))


def _squares(matrix: Matrix) -> list[Square]:
    effects = matrix.effects
    ratios = np.exp(effects.typical - effects.ordinary)
    directions = [(effects.first, effects.second)]
    if not matrix.pairs.directed:
        directions.append((effects.second, effects.first))
    return sorted(
        (
            Square(int(one), int(other), float(ratio))
            for rows, columns in directions
            for one, other, ratio in zip(rows, columns, ratios, strict=True)
        ),
        key=lambda square: (square.row, square.column),
    )


def _frames(axes: Axes, matrix: Matrix, slow: Sequence[Suspect]) -> None:
    for suspect in slow:
        if suspect.other:
            one, other = matrix.names.index(suspect.node), matrix.names.index(suspect.other)
            for row, column in {(one, other), (one, other) if matrix.pairs.directed else (other, one)}:
                axes.add_patch(PathPatch(box(row, column, column), fill=False, edgecolor=_INK, linewidth=1.4))


def _axes(axes: Axes, matrix: Matrix, slow: Sequence[Suspect]) -> None:
    count = len(matrix.names)
    step = -(-count // _MOST_NAMES)
    nodes = {(suspect.role, suspect.node) for suspect in slow if suspect.kind == "node"}
    for axis, roles in ((axes.yaxis, ("sending", "either way")), (axes.xaxis, ("receiving", "either way"))):
        bold = [any((role, name) in nodes for role in roles) for name in matrix.names]
        ticks = [at for at in range(count) if at % step == 0 or bold[at]]
        axis.set_ticks(ticks, ["\u200b" + clean(matrix.names[at]) for at in ticks])
        axis.set_tick_params(length=0, labelsize=8)
        for label, at in zip(axis.get_ticklabels(), ticks, strict=True):
            label.set(color=_NAMED if bold[at] else _INK, weight="bold" if bold[at] else "normal")
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    for label in axes.get_xticklabels():
        label.set(rotation=90 if count > 6 else 0)
    if matrix.pairs.directed:
        axes.set(xlabel="to", ylabel="from")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _describe(matrix: Matrix, squares: Sequence[Square]) -> str:
    """The three slowest pairs in words."""
    worst = sorted(squares, key=lambda square: -square.value)[:3]
    slowest = ", ".join(f"{matrix.names[s.row]} to {matrix.names[s.column]} {number(s.value, 3)}" for s in worst)
    return f"{len(squares)} pairs of {len(matrix.names)} nodes; slowest: {slowest} times the time of ordinary nodes"
