# SPDX-License-Identifier: Apache-2.0
"""The drawings: lines over message size, with the interval of every point."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
    SymmetricalLogLocator,
)

from fabricbench.report import series, svg
from fabricbench.report.series import Line, Panel, Point
from fabricbench.report.style import Lane, Look, looks
from fabricbench.report.words import clean, number, size_label, tick

SCALES = {
    **dict.fromkeys(("latency", "latency_mean", "time", "normalised_latency", "round_trip"), "log"),
    **dict.fromkeys(("send_overhead", "receive_overhead", "gap", "message_rate"), "log"),
    **dict.fromkeys(("ratio", "latency_ratio"), "ratio"),
    "difference": "signed",
}
"""How a metric's axis runs; linear from 0 where nothing is said. Signed: logarithmic on both sides of 0."""

_SIGNED_LINEAR = 0.1
"""Up to here, in its unit, a signed axis is linear."""

UNITS = {"us": "µs"}

_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

_ZERO_GAP = 1.5
"""Size 0 stands this many doublings left of the smallest other size."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The horizontal axis: base 2 logarithm of message size, with a place of its own for size 0."""

    smallest: int
    largest: int
    zero: bool

    @classmethod
    def of(cls, lines: Sequence[Line]) -> "Sizes":
        """The axis that holds every point of ``lines``."""
        sizes = {point.size for line in lines for point in line if point.size is not None}
        positive = sorted(sizes - {0})
        return cls(positive[0] if positive else 1, positive[-1] if positive else 1, 0 in sizes)

    def at(self, size: int) -> float:
        """Where a size stands."""
        return math.log2(size) if size > 0 else math.log2(self.smallest) - _ZERO_GAP

    def ticks(self, most: int = 6) -> list[int]:
        """Sizes to label: powers of two, evenly apart, and 0 where it was measured."""
        low, high = math.ceil(math.log2(self.smallest)), math.floor(math.log2(self.largest))
        step = max(1, math.ceil((high - low + 1) / most))
        powers = [2**k for k in range(high, low - 1, -step)][::-1] or [self.smallest]
        room = self.at(0) + 0.7 * step if self.zero else -math.inf
        return [0] * self.zero + [size for size in powers if self.at(size) >= room]


def panel_svg(panel: Panel, appearance: Mapping[Lane, Look], key: str, title: str) -> str:
    """One panel as inline SVG, 5.3 x 3.4 inches; its caption and legend stand outside."""
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 3.4))
        axes = figure.add_axes((0.135, 0.145, 0.845, 0.81))
        _panel(axes, panel, appearance)
        return svg.inline(figure, key, clean(title), clean(_describe(panel)))


def small_svg(panel: Panel, appearance: Mapping[Lane, Look], key: str, title: str) -> str:
    """One of many small panels as inline SVG, 3.6 x 2.5 inches."""
    with svg.drawing(key):
        figure = Figure(figsize=(3.6, 2.5))
        axes = figure.add_axes((0.175, 0.19, 0.805, 0.76))
        _panel(axes, panel, appearance, most_ticks=5)
        return svg.inline(figure, key, clean(title), clean(_describe(panel)))


def swatch_svg(look: Look, key: str) -> str:
    """A short piece of a lane's line, for a legend written as text beside it."""
    with svg.drawing(key):
        figure = Figure(figsize=(0.5, 0.18))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(-1, 1), ylim=(-1, 1))
        axes.plot([-0.9, 0, 0.9], [0, 0, 0], markevery=[1], **_line_style(look, 5.5))
        return svg.hidden(figure, key)


def lane_curves_svg(table: pl.DataFrame, confidence: float = 0.95) -> str:
    """Latency and bandwidth of the ping-pong over message size, every lane, as an SVG file.

    Letters are outlines, so that the picture looks the same wherever it is shown.
    """
    found, _tool = series.pingpong(series.panels(table, confidence))
    appearance = looks(series.lanes(table))
    with svg.drawing("lane-curves", outlines=True):
        figure = Figure(figsize=(10.6, 4.6))
        shown = [next((p for p in found if p.metric == name), None) for name in ("latency", "bandwidth")]
        drawn = sorted({lane for panel in shown if panel for lane in panel.lines})
        height = 0.76 - 0.06 * (max(0, len(drawn) - 1) // 6)
        for place, panel in zip((0.072, 0.57), shown, strict=True):
            axes = figure.add_axes((place, 0.125, 0.415, height))
            if panel is None:
                axes.set_axis_off()
                axes.text(0.5, 0.5, "nothing measured", ha="center", transform=axes.transAxes)
                continue
            _panel(axes, panel, appearance)
            axes.set_title(f"{panel.metric}, {series.describe(panel.facet)}", loc="left", fontsize=10)
        handles = [Line2D([], [], **_line_style(appearance[lane], 5)) for lane in drawn]
        names = ["\u200b" + clean(lane.name) for lane in drawn]
        if drawn:
            figure.legend(handles, names, loc="upper left", ncols=min(6, len(drawn)), bbox_to_anchor=(0.04, 1.0))
        return svg.standalone(figure, white=True)


def _panel(axes: Axes, panel: Panel, appearance: Mapping[Lane, Look], most_ticks: int = 7) -> None:
    scale = SCALES.get(panel.metric, "linear")
    lines = {lane: _drawable(line, scale) for lane, line in panel.lines.items()}
    sizes = Sizes.of(list(lines.values()))
    for lane in sorted(lines):
        _line(axes, lines[lane], sizes, appearance[lane])
    _size_axis(axes, sizes, most_ticks, panel.axis)
    _value_axis(axes, [p for line in lines.values() for p in line], scale)
    unit = UNITS.get(panel.unit, panel.unit)
    axes.set_ylabel("ratio" if scale == "ratio" else f"{clean(panel.metric).replace('_', ' ')} in {clean(unit)}")
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)


def _drawable(line: Line, scale: str) -> Line:
    positive = scale in ("log", "ratio")
    return tuple(
        p for p in line if p.size is not None and math.isfinite(p.estimate) and (p.estimate > 0 or not positive)
    )


def _line_style(look: Look, size: float) -> dict[str, Any]:
    return {
        "color": look.colour, "marker": look.marker, "linestyle": look.dash, "linewidth": 1.4,
        "markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.5,
    }  # fmt: skip


def _line(axes: Axes, line: Line, sizes: Sizes, look: Look) -> None:
    """A lane's line: size 0 is joined to nothing; beside a point that is not significant the line is pale."""
    style = _line_style(look, 4.6)
    for part in ([p for p in line if p.size == 0], [p for p in line if p.size]):
        x, y = [sizes.at(p.size or 0) for p in part], [p.estimate for p in part]
        _band(axes, x, part, look)
        bare = style | {"marker": ""}
        axes.plot(x, y, **(bare | {"alpha": 0.4 if any(p.weak for p in part) else 1}))
        for start, end in _strong_runs(part):
            axes.plot(x[start:end], y[start:end], **bare)
        for weak in (True, False):
            at = [i for i, p in enumerate(part) if p.weak is weak]
            if at:
                marks = style | {"linestyle": "none"} | (_weak(look) if weak else {})
                axes.plot([x[i] for i in at], [y[i] for i in at], **marks)


def _band(axes: Axes, x: list[float], part: Sequence[Point], look: Look) -> None:
    """The intervals: a band, broken where a point has none; a bar where a point stands alone."""
    low = [p.estimate if p.low is None else p.low for p in part]
    high = [p.estimate if p.high is None else p.high for p in part]
    known = [p.low is not None and p.high is not None for p in part]
    if len(part) > 1:
        axes.fill_between(x, low, high, where=known, color=look.colour, alpha=0.16, linewidth=0)
    elif any(known):
        axes.plot([x[0], x[0]], [low[0], high[0]], color=look.colour, alpha=0.4, linewidth=3)


def _strong_runs(part: Sequence[Point]) -> list[tuple[int, int]]:
    """Runs of two or more neighbours that are significant, where some point is not; ends are exclusive."""
    runs, start = [], 0
    for end in range(len(part) + 1):
        if end == len(part) or part[end].weak:
            if end - start > 1 and end - start < len(part):
                runs.append((start, end))
            start = end + 1
    return runs


def _weak(look: Look) -> dict[str, Any]:
    return {"markerfacecolor": "white", "markeredgecolor": look.colour, "markeredgewidth": 0.9, "alpha": 0.55}


def axis_label(axis: str) -> Callable[[int | None], str]:
    """How places on a horizontal axis are written."""
    return size_label if axis == series.MESSAGE_SIZE else number


def _size_axis(axes: Axes, sizes: Sizes, most: int, axis: str) -> None:
    ticks = sizes.ticks(most)
    left = sizes.at(0) if sizes.zero else sizes.at(sizes.smallest)
    axes.set_xlim(left - 0.6, sizes.at(sizes.largest) + 0.6)
    axes.xaxis.set_major_locator(FixedLocator([sizes.at(size) for size in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([axis_label(axis)(size) for size in ticks])
    axes.set_xlabel(axis)
    if sizes.zero:
        axes.axvline(sizes.at(sizes.smallest) - _ZERO_GAP / 2, color="#d1d5db", linewidth=0.8, linestyle=(0, (1, 2)))


def _value_axis(axes: Axes, points: Sequence[Point], scale: str) -> None:
    values = [v for p in points for v in (p.estimate, p.low, p.high) if v is not None and math.isfinite(v)]
    positive = [v for v in values if v > 0]
    axes.yaxis.set_minor_locator(NullLocator())
    if scale == "signed":
        _signed_axis(axes, values)
    elif scale == "linear" or not positive:
        axes.set_ylim(min(0, *values, 0) * 1.06, max(values, default=0) * 1.06 or 1)
        axes.yaxis.set_major_locator(MaxNLocator(6))
    else:
        if scale == "ratio":
            axes.axhline(1, color="#374151", linewidth=1)
            positive = [*positive, 0.95, 1.05]
        low, high = min(positive), max(positive)
        low, high = low / (high / low) ** 0.05 / 1.01, high * (high / low) ** 0.05 * 1.01
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(_log_locator(low, high, scale))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def _signed_axis(axes: Axes, values: Sequence[float]) -> None:
    """Decades on both sides of 0, which has a line of its own; 0 and one decade at least are always in sight."""
    axes.axhline(0, color="#374151", linewidth=1)
    axes.set_yscale("symlog", linthresh=_SIGNED_LINEAR)
    low, high = min([*values, 0.0]), max([*values, _SIGNED_LINEAR])
    axes.set_ylim(min(low * 1.5, -0.3 * _SIGNED_LINEAR), high * 1.5)
    axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_SIGNED_LINEAR))
    axes.yaxis.set_minor_locator(NullLocator())


def _log_locator(low: float, high: float, scale: str) -> Locator:
    """Ticks that are plain numbers at every span: decades, 1-2-5, or equal steps where it is short.

    Those of a ratio are counted from 1.
    """
    decades = math.log10(high / low)
    if decades >= 0.9:
        return LogLocator(base=10, subs=(1.0, 2.0, 5.0) if decades < 2.6 else (1.0,), numticks=12)
    if scale != "ratio":
        return MaxNLocator(5)
    step = next(s for s in _STEPS if (high - low) / s <= 7)
    below, above = math.floor((1 - low) / step), math.floor((high - 1) / step)
    return FixedLocator([1 + k * step for k in range(-below, above + 1)])


def _describe(panel: Panel) -> str:
    """What a panel shows in words: each lane's first and last point."""
    unit = UNITS.get(panel.unit, panel.unit)
    parts = []
    for lane, line in sorted(panel.lines.items()):
        ends = (line[0], line[-1]) if len(line) > 1 else line[:1]
        said = " to ".join(f"{number(p.estimate)} {unit} at {axis_label(panel.axis)(p.size)}" for p in ends)
        parts.append(f"{lane.name}: {said}")
    return "; ".join(parts)
