# SPDX-License-Identifier: Apache-2.0
"""Draws the difference between two lanes by part, and run times over injected delays."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.attribution_figures import COLOUR
from fabricbench.report.bars import label_names
from fabricbench.report.formatting import clean, number
from fabricbench.report.style import LaneStyle
from fabricbench.stats.interval import Interval
from fabricbench.verdict.sentences import WORDS

_LEFT, _WIDTH = 0.33, 0.37
_ROW_INCHES = 0.27
_TOTAL_COLOUR, _LINE_COLOUR = "#9aa3af", "#6b7280"
_INK = "#111827"


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The difference between two lanes in seconds.

    ``base``, ``other``: the lanes; ``base_seconds``, ``other_seconds``: their T. ``steps``: by name of ``PARTS``, what
    the other lane takes longer.
    """

    base: str
    other: str
    base_seconds: float
    other_seconds: float
    steps: tuple[tuple[str, Interval], ...]


def waterfall_svg(fall: Waterfall, key: str, title: str) -> str:
    """A row for the base lane, one for each part, one for the other lane, as inline SVG; whiskers are intervals."""
    unit, scale = _unit(max(abs(fall.base_seconds), abs(fall.other_seconds)))
    rows = len(fall.steps) + 2
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 0.75 + _ROW_INCHES * rows))
        inches = figure.get_figheight()
        axes = figure.add_axes((_LEFT, 0.48 / inches, _WIDTH, _ROW_INCHES * rows / inches))
        beside = axes.get_yaxis_transform()
        reach = scale * fall.base_seconds
        _total(axes, 0, reach)
        for at, (name, change) in enumerate(fall.steps, 1):
            reach = _step(axes, at, name, change, reach, scale)
            axes.text(1.04, at, _change(change, scale), transform=beside, fontsize=8, va="center")
        _total(axes, rows - 1, scale * fall.other_seconds)
        for at, seconds in ((0, fall.base_seconds), (rows - 1, fall.other_seconds)):
            axes.text(1.04, at, number(scale * seconds, 3), transform=beside, fontsize=8, va="center", weight="bold")
        axes.text(1.04, -0.85, f"{unit}, interval", transform=beside, fontsize=8, va="center", color=_LINE_COLOUR)
        label_names(axes, [fall.base, *(WORDS[name] for name, _ in fall.steps), fall.other])
        axes.axvline(0, color=_LINE_COLOUR, linewidth=0.8)
        axes.set_xlim(*_limits(axes))
        axes.set_xlabel(f"profiled time T, {unit}")
        return svg.inline(figure, key, clean(title), clean(_describe(fall, unit, scale)))


def _unit(seconds: float) -> tuple[str, float]:
    return next(((unit, scale) for unit, scale in (("s", 1.0), ("ms", 1e3)) if seconds * scale >= 1), ("µs", 1e6))


def _total(axes: Axes, at: int, width: float) -> None:
    axes.barh([at], [width], height=0.7, color=_TOTAL_COLOUR, linewidth=0)


def _step(axes: Axes, at: int, name: str, change: Interval, start: float, scale: float) -> float:
    """Draws one part from where the part before ends, and returns where it ends."""
    width = scale * (change.estimate or 0.0)
    axes.barh([at], [width], left=start, height=0.7, color=COLOUR[name], edgecolor=_LINE_COLOUR, linewidth=0.5)
    axes.vlines(start, at - 1 + 0.35, at + 0.35, color=_LINE_COLOUR, linewidth=0.6)
    axes.vlines(start + width, at - 0.35, at + 0.65, color=_LINE_COLOUR, linewidth=0.6)
    if change.low is not None and change.high is not None:
        ends = [start + scale * change.low, start + scale * change.high]
        axes.plot(ends, [at, at], color=_INK, linewidth=1.1, marker="|", markersize=5)
    return start + width


def _limits(axes: Axes) -> tuple[float, float]:
    low, high = axes.get_xlim()
    return min(0.0, low), high


def _change(change: Interval, scale: float) -> str:
    text = _signed(change.estimate, scale)
    if change.low is None or change.high is None:
        return text
    return f"{text} [{_signed(change.low, scale)}, {_signed(change.high, scale)}]"


def _signed(value: float | None, scale: float) -> str:
    text = number(None if value is None else scale * value, 3)
    return f"+{text}" if value is not None and value > 0 else text


def _describe(fall: Waterfall, unit: str, scale: float) -> str:
    steps = ", ".join(f"{WORDS[name]} {_change(change, scale)}" for name, change in fall.steps)
    return (
        f"{fall.base}: {number(scale * fall.base_seconds, 3)} {unit}; {steps}; "
        f"{fall.other}: {number(scale * fall.other_seconds, 3)} {unit}"
    )


@dataclass(frozen=True, slots=True)
class SlopeLine:
    """The run time of one lane over injected delays.

    ``points``: pairs of a delay and the run time in seconds; ``slope``: in seconds per unit of the delay, through
    ``start``, the run time in seconds without a delay.
    """

    label: str
    style: LaneStyle
    points: tuple[tuple[float, Interval], ...]
    slope: Interval
    start: float


def slopes_svg(lines: Sequence[SlopeLine], what: str, key: str, title: str) -> str:
    """Run time over the injected delay, a line per lane, as inline SVG. ``what``: the delay with its unit."""
    unit, scale = _unit(max(point.estimate or 0.0 for line in lines for _, point in line.points))
    with svg.drawing(key):
        above = 0.1 + 0.19 * -(-len(lines) // 2)
        figure = Figure(figsize=(5.3, 2.4 + above))
        inches = figure.get_figheight()
        axes = figure.add_axes((0.13, 0.48 / inches, 0.84, (2.4 - 0.6) / inches))
        for line in lines:
            _line(axes, line, scale)
        axes.set_xlim(left=0)
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel(what)
        axes.set_ylabel(f"run time, {unit}")
        figure.legend(loc="upper left", ncols=2, fontsize=8, borderaxespad=0.1, bbox_to_anchor=(0.02, 1.0))
        return svg.inline(figure, key, clean(title), clean("; ".join(_describe_line(line) for line in lines)))


def _line(axes: Axes, line: SlopeLine, scale: float) -> None:
    style = line.style
    for level, point in line.points:
        if point.low is not None and point.high is not None:
            axes.vlines(level, scale * point.low, scale * point.high, color=style.colour, linewidth=1.2)
    levels = [level for level, _ in line.points]
    axes.plot(levels, [scale * (p.estimate or 0.0) for _, p in line.points], style.marker, color=style.colour, ms=4.5)
    ends = [0.0, max(levels, default=0.0)]
    fitted = [scale * (line.start + (line.slope.estimate or 0.0) * level) for level in ends]
    axes.plot(ends, fitted, linestyle=style.dash, color=style.colour, linewidth=1.3)
    axes.plot(
        [], [], style.marker, linestyle=style.dash, color=style.colour, linewidth=1.3, ms=4.5,
        label="\u200b" + clean(line.label),
    )  # fmt: skip


def _describe_line(line: SlopeLine) -> str:
    return f"{line.label}: " + ", ".join(f"{number(p.estimate, 4)} s at {number(level, 3)}" for level, p in line.points)
