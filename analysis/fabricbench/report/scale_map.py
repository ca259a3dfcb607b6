# SPDX-License-Identifier: Apache-2.0
"""Heat maps of scale x message size: a ratio for each scale (row) and size (column), in seven classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.formatting import clean, number, size_label
from fabricbench.report.groups import LegendEntry
from fabricbench.report.squares import Classes, Square, fill

_RATIOS = Classes(
    (0.8, 1.25, 2.0, 4.0, 8.0, 16.0),
    ("#74add1", "#f1f3f5", "#fee8c8", "#fdbb84", "#ef6548", "#b30000", "#5c0010"),
    ("below 0.8", "0.8 to 1.25", "1.25 to 2", "2 to 4", "4 to 8", "8 to 16", "16 or more"),
)
_ROW_INCHES = 0.23
_MOST_SIZES = 12
"""Of more sizes a map has every second, or third, counted from the largest."""
_MOST_LABELS = 26


@dataclass(frozen=True, slots=True)
class ScaleMap:
    """Ratios by scale and size; ``rows``: the scales as text, ``columns``: sizes in bytes, both in order."""

    rows: tuple[str, ...]
    columns: tuple[int, ...]
    squares: tuple[Square, ...]


def legend() -> tuple[LegendEntry, ...]:
    """The colours of the classes."""
    return _RATIOS.legend()


def scale_map(ratios: Mapping[tuple[int, int, str, int], float]) -> ScaleMap:
    """Returns the map of ratios by (ranks per node, ranks, scale as text, size): rows in this order."""
    rows = sorted({place[:3] for place in ratios})
    sizes = sorted({place[3] for place in ratios}, reverse=True)
    columns = sorted(sizes[:: -(-len(sizes) // _MOST_SIZES)])
    squares = [
        Square(rows.index(place[:3]), columns.index(place[3]), ratio)
        for place, ratio in ratios.items()
        if place[3] in columns
    ]
    squares.sort(key=lambda square: (square.row, square.column))
    return ScaleMap(tuple(text for _, _, text in rows), tuple(columns), tuple(squares))


def scale_map_svg(one: ScaleMap, key: str, title: str) -> str:
    """The map as inline SVG, 5.3 inches wide, its height by the number of scales."""
    below, above = 0.55, 0.05
    height = below + above + _ROW_INCHES * len(one.rows)
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, height))
        axes = figure.add_axes((0.13, below / height, 0.86, 1 - (below + above) / height))
        fill(axes, one.squares, _RATIOS)
        for square in one.squares:
            ink, text = _RATIOS.ink(square.value), _short(square.value)
            axes.text(square.column, square.row, text, color=ink, fontsize=7, ha="center", va="center")
        _label(axes, one)
        return svg.inline(figure, key, clean(title), clean(_describe(one)))


def _label(axes: Axes, one: ScaleMap) -> None:
    step = -(-len(one.rows) // _MOST_LABELS)
    rows = range(0, len(one.rows), step)
    axes.set_yticks(list(rows), ["\u200b" + clean(one.rows[at]) for at in rows])
    axes.set_xticks(range(len(one.columns)), [size_label(size) for size in one.columns])
    axes.tick_params(length=0, labelsize=7.5)
    axes.tick_params(axis="x", labelsize=6.3)
    axes.set(xlim=(-0.5, len(one.columns) - 0.5), ylim=(len(one.rows) - 0.5, -0.5))
    axes.set_xlabel("message size")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _short(value: float) -> str:
    """Returns a ratio in at most four characters."""
    if value >= 999.5:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def _describe(one: ScaleMap) -> str:
    """The extremes of each scale in words."""
    parts = []
    for at, scale in enumerate(one.rows):
        values: Sequence[float] = [square.value for square in one.squares if square.row == at]
        parts.append(f"{scale}: {number(min(values), 3)} to {number(max(values), 3)}")
    return "; ".join(parts)
