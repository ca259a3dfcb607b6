# SPDX-License-Identifier: Apache-2.0
"""The axes of a panel: message size on a logarithmic scale with base 2, values on the scale of their metric."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
    SymmetricalLogLocator,
)

from fabricbench.report.facets import MESSAGE_SIZE, RANKS, Line, Panel, Point
from fabricbench.report.formatting import number, size_label, tick
from fabricbench.verdict.scaling import RATES

SCALES = {
    **dict.fromkeys(("latency", "latency_mean", "time", "normalised_latency", "round_trip"), "log"),
    **dict.fromkeys(("send_overhead", "receive_overhead", "gap", "message_rate"), "log"),
    **dict.fromkeys(("ratio", "latency_ratio"), "ratio"),
    "difference": "signed",
    "speed_up": "log",
}
"""The scale of a metric's axis; the others are linear from 0. ``signed``: logarithmic on both sides of 0."""

_SIGNED_LINEAR = 0.1
"""A signed axis is linear from minus this value to this value, in its unit."""

_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

_ZERO_DISTANCE = 1.5
"""Distance from size 0 to the smallest other size, in doublings."""

_REFERENCE_LINE = "#374151"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The horizontal axis: the logarithm with base 2 of the message size, with a separate place for size 0."""

    smallest: int
    largest: int
    zero: bool

    @classmethod
    def of(cls, lines: Sequence[Line]) -> "Sizes":
        """The axis for all points of ``lines``."""
        sizes = {point.size for line in lines for point in line if point.size is not None}
        positive = sorted(sizes - {0})
        return cls(positive[0] if positive else 1, positive[-1] if positive else 1, 0 in sizes)

    def at(self, size: int) -> float:
        """The coordinate of a size."""
        return math.log2(size) if size > 0 else math.log2(self.smallest) - _ZERO_DISTANCE

    def ticks(self, most: int = 6) -> list[int]:
        """The sizes with a label: powers of two at equal distances, and 0 if it was measured."""
        low, high = math.ceil(math.log2(self.smallest)), math.floor(math.log2(self.largest))
        step = max(1, math.ceil((high - low + 1) / most))
        powers = [2**k for k in range(high, low - 1, -step)][::-1] or [self.smallest]
        room = self.at(0) + 0.7 * step if self.zero else -math.inf
        return [0] * self.zero + [size for size in powers if self.at(size) >= room]


def value_scale(panel: Panel) -> str:
    """Returns the scale of a panel's vertical axis, as in ``SCALES``; rates over ranks are on a logarithmic one."""
    if panel.axis == RANKS and panel.metric in RATES:
        return "log"
    return SCALES.get(panel.metric, "linear")


def axis_label(axis: str) -> Callable[[int | None], str]:
    """The function that writes the values of a horizontal axis."""
    return size_label if axis == MESSAGE_SIZE else number


def size_axis(axes: Axes, sizes: Sizes, most: int, axis: str) -> None:
    """Sets up the horizontal axis, with at most ``most`` labels."""
    ticks = sizes.ticks(most)
    start = sizes.at(0) if sizes.zero else sizes.at(sizes.smallest)
    axes.set_xlim(start - 0.6, sizes.at(sizes.largest) + 0.6)
    axes.xaxis.set_major_locator(FixedLocator([sizes.at(size) for size in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([axis_label(axis)(size) for size in ticks])
    axes.set_xlabel(axis)
    if sizes.zero:
        middle = sizes.at(sizes.smallest) - _ZERO_DISTANCE / 2
        axes.axvline(middle, color="#d1d5db", linewidth=0.8, linestyle=(0, (1, 2)))


def value_axis(axes: Axes, points: Sequence[Point], scale: str) -> None:
    """Sets up the vertical axis for the points and their intervals. ``scale``: as in ``SCALES``, or ``linear``."""
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
            axes.axhline(1, color=_REFERENCE_LINE, linewidth=1)
            positive = [*positive, 0.95, 1.05]
        low, high = min(positive), max(positive)
        low, high = low / (high / low) ** 0.05 / 1.01, high * (high / low) ** 0.05 * 1.01
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(_log_locator(low, high, scale))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def _signed_axis(axes: Axes, values: Sequence[float]) -> None:
    """Decades on both sides of a line at 0. The axis always shows 0 and at least one decade."""
    axes.axhline(0, color=_REFERENCE_LINE, linewidth=1)
    axes.set_yscale("symlog", linthresh=_SIGNED_LINEAR)
    low, high = min([*values, 0.0]), max([*values, _SIGNED_LINEAR])
    axes.set_ylim(min(low * 1.5, -0.3 * _SIGNED_LINEAR), high * 1.5)
    axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_SIGNED_LINEAR))
    axes.yaxis.set_minor_locator(NullLocator())


def _log_locator(low: float, high: float, scale: str) -> Locator:
    """Ticks at plain numbers: at decades, at 1, 2 and 5 of each decade, or at equal steps on a short axis.

    The steps of a ratio start at 1.
    """
    decades = math.log10(high / low)
    if decades >= 0.9:
        return LogLocator(base=10, subs=(1.0, 2.0, 5.0) if decades < 2.6 else (1.0,), numticks=12)
    if scale != "ratio":
        return MaxNLocator(5)
    step = next(s for s in _STEPS if (high - low) / s <= 7)
    below, above = math.floor((1 - low) / step), math.floor((high - 1) / step)
    return FixedLocator([1 + k * step for k in range(-below, above + 1)])
