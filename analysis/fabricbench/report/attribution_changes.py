# SPDX-License-Identifier: Apache-2.0
"""Draws the difference between two lanes by part."""

import math
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.attribution_figures import COLOUR
from fabricbench.report.bars import label_names
from fabricbench.report.formatting import MISSING, clean, number
from fabricbench.stats.interval import Interval
from fabricbench.verdict.sentences import WORDS

_LEFT, _WIDTH = 0.33, 0.36
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
        decimals = _decimals(scale * max(fall.base_seconds, fall.other_seconds))
        reach = scale * fall.base_seconds
        _total(axes, 0, reach)
        for at, (name, change) in enumerate(fall.steps, 1):
            reach = _step(axes, at, name, change, reach, scale)
            axes.text(1.04, at, _change(change, scale, decimals), transform=beside, fontsize=8, va="center")
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


def _decimals(largest: float) -> int:
    """The decimals with which the largest time has four digits."""
    return max(0, 3 - math.floor(math.log10(largest))) if largest > 0 else 3


def _change(change: Interval, scale: float, decimals: int) -> str:
    values = (change.estimate, change.low, change.high)
    estimate, *limits = (None if one is None else _signed(scale * one, decimals) for one in values)
    return f"{estimate or MISSING} [{', '.join(map(str, limits))}]" if None not in limits else estimate or MISSING


def _signed(value: float, decimals: int) -> str:
    text = f"{value:+.{decimals}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\u2212")


def _describe(fall: Waterfall, unit: str, scale: float) -> str:
    decimals = _decimals(scale * max(fall.base_seconds, fall.other_seconds))
    steps = ", ".join(f"{WORDS[name]} {_change(change, scale, decimals)}" for name, change in fall.steps)
    return (
        f"{fall.base}: {number(scale * fall.base_seconds, 3)} {unit}; {steps}; "
        f"{fall.other}: {number(scale * fall.other_seconds, 3)} {unit}"
    )
