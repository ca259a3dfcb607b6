# SPDX-License-Identifier: Apache-2.0
"""Draws attributions: the parts of the run time by lane and by rank."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fabricbench.models.parts import PARTS
from fabricbench.report import svg
from fabricbench.report.bars import ink_on, label_names
from fabricbench.report.formatting import clean, duration, percent
from fabricbench.verdict.sentences import WORDS

COLOUR = {
    "computation": "#e5e7eb",
    "latency": "#E69F00",
    "bandwidth": "#0072B2",
    "waiting": "#CC79A7",
    "undivided": "#f3dfea",
    "rest": "#4b5563",
}
"""A colour for each part; the grey of computation is that of time outside MPI in the figures of profiles."""

HATCH = {"undivided": "////"}
"""Lines over the colour of a part."""

_BAR_INCHES, _STRIP_INCHES = 0.3, 0.85
_LEFT, _WIDTH = 0.33, 0.51
_AXIS_COLOUR = "#6b7280"
_NARROWEST_LABEL = 0.05
"""Smallest width of a part with a label, as a share of the axis."""
_MOST_SEPARATED = 32
MOST_RANKS = 128
"""A strip of more ranks has this many groups of ranks instead of ranks."""


@dataclass(frozen=True, slots=True)
class ShareBar:
    """The time T of one lane in seconds, and its parts as shares of T by name of ``PARTS``."""

    label: str
    seconds: float
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Strip:
    """The parts of each rank's time on one lane, as shares of T: by name of ``PARTS`` an array over ranks."""

    label: str
    parts: Mapping[str, np.ndarray]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.parts["computation"])


def colours(parts: Iterable[str]) -> list[Patch]:
    """The entries of a legend for the parts."""
    return [
        Patch(facecolor=COLOUR[name], hatch=HATCH.get(name), edgecolor=_edge(name), linewidth=0, label=WORDS[name])
        for name in parts
    ]


def _edge(part: str) -> str:
    """The colour of the hatch, which matplotlib takes from the edge."""
    return COLOUR["waiting"] if part in HATCH else "white"


def shares_svg(bars: Sequence[ShareBar], key: str, title: str) -> str:
    """A stacked bar per lane as inline SVG: the parts as shares of T. Negative parts are left of zero."""
    parts = [name for name in PARTS if any(bar.shares.get(name) for bar in bars)]
    with svg.drawing(key), rc_context({"hatch.linewidth": 0.8}):
        above = 0.32 + 0.19 * -(-len(parts) // 3)
        height = _BAR_INCHES * len(bars)
        figure = Figure(figsize=(5.3, above + height + 0.5))
        inches = figure.get_figheight()
        axes = figure.add_axes((_LEFT, 0.5 / inches, _WIDTH, height / inches))
        low, high = extent([list(bar.shares.values()) for bar in bars])
        axes.set_xlim(100 * low, 100 * high)
        beside = axes.get_yaxis_transform()
        for at, bar in enumerate(bars):
            for name, start, share in stacked(bar.shares):
                _block(axes, at, name, start, share, label=abs(share) >= _NARROWEST_LABEL * (high - low))
            axes.text(1.03, at, duration(bar.seconds), transform=beside, fontsize=8.5, va="center")
        axes.text(1.03, -0.8, "T", transform=beside, fontsize=8.5, va="center", weight="bold")
        axes.axvline(0, color=_AXIS_COLOUR, linewidth=0.8)
        axes.axvline(100, color=_AXIS_COLOUR, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
        label_names(axes, [bar.label for bar in bars])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("% of T, the profiled time")
        _legend(figure, parts)
        return svg.inline(figure, key, clean(title), clean("; ".join(map(_describe, bars))))


def _legend(figure: Figure, parts: Sequence[str]) -> None:
    figure.legend(
        handles=colours(parts), loc="upper left", ncols=3, fontsize=8, borderaxespad=0.1, handlelength=1.2,
        columnspacing=1.4, bbox_to_anchor=(0.0, 1.0),
    )  # fmt: skip


def extent(shares: Iterable[Sequence[float]]) -> tuple[float, float]:
    """The limits of an axis that holds every stack: from at most 0 to at least 1."""
    stacks = [(sum(s for s in one if s < 0), sum(s for s in one if s > 0)) for one in shares]
    low, high = min((s[0] for s in stacks), default=0.0), max((s[1] for s in stacks), default=1.0)
    return min(0.0, 1.05 * low), max(1.0, high)


def stacked(shares: Mapping[str, float]) -> Iterator[tuple[str, float, float]]:
    """Yields part, start and share: positive parts to the right of zero, negative ones to the left, none clipped."""
    left = right = 0.0
    for name in PARTS:
        share = shares.get(name, 0.0)
        if share > 0:
            yield name, right, share
            right += share
        elif share < 0:
            yield name, left, share
            left += share


def _block(axes: Axes, at: int, name: str, start: float, share: float, *, label: bool) -> None:
    axes.barh(
        [at], [100 * share], left=100 * start, height=0.74, color=COLOUR[name], hatch=HATCH.get(name),
        edgecolor=_edge(name), linewidth=0 if name in HATCH else 0.5,
    )  # fmt: skip
    if label:
        text = f"{100 * share:.0f}".replace("-", "\u2212")
        place = (100 * (start + share / 2), at)
        axes.text(*place, text, color=ink_on(COLOUR[name]), fontsize=8, ha="center", va="center")


def _describe(bar: ShareBar) -> str:
    parts = ", ".join(f"{WORDS[name]} {percent(share)}" for name, share in bar.shares.items() if share)
    return f"{bar.label}, T {duration(bar.seconds)}: {parts}"


def ranks_svg(strips: Sequence[Strip], key: str, title: str) -> str:
    """The parts of each rank's time as shares of T, a strip per lane, as inline SVG. Negative parts are below zero.

    With more than ``MOST_RANKS`` ranks: the ranks in ascending order of their time in MPI, in groups of neighbours,
    with the mean of each group.
    """
    count = max(strip.ranks for strip in strips)
    with svg.drawing(key), rc_context({"hatch.linewidth": 0.8}):
        height = _STRIP_INCHES * len(strips)
        figure = Figure(figsize=(5.3, height + 0.5))
        inches = figure.get_figheight()
        for at, strip in enumerate(strips):
            bottom = (0.48 + height - (at + 1) * _STRIP_INCHES) / inches
            axes = figure.add_axes((0.1, bottom, 0.88, 0.65 * _STRIP_INCHES / inches))
            _strip(axes, strip)
            axes.set_title("\u200b" + clean(strip.label), loc="left", fontsize=8.5, pad=3)
            if at < len(strips) - 1:
                axes.tick_params(axis="x", labelbottom=False, length=0)
            else:
                axes.set_xlabel("rank" if count <= MOST_RANKS else "% of the ranks, by ascending share in MPI")
        return svg.inline(figure, key, clean(title), clean("; ".join(map(_describe_strip, strips))))


def _strip(axes: Axes, strip: Strip) -> None:
    ranks = strip.ranks
    parts, edges = _columns(strip)
    low, high = extent([[float(v[at]) for v in parts.values()] for at in range(len(edges) - 1)])
    right, left = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for name in PARTS:
        values = 100 * parts[name]
        for base, part in ((right, np.maximum(values, 0)), (left, np.minimum(values, 0))):
            if part.any():
                axes.stairs(
                    base + part, edges, baseline=base.copy(), fill=True, facecolor=COLOUR[name],
                    hatch=HATCH.get(name), edgecolor=_edge(name), linewidth=0,
                )  # fmt: skip
                base += part
    if ranks <= _MOST_SEPARATED:
        axes.vlines(edges, 100 * low, 100 * high, color="white", linewidth=1.2)
    axes.axhline(0, color=_AXIS_COLOUR, linewidth=0.6)
    axes.set_ylim(100 * low, 100 * high)
    axes.set_yticks([0, 50, 100], ["0", "", "100 %"], fontsize=7)
    axes.set_xlim(edges[0], edges[-1])
    if ranks <= MOST_RANKS:
        axes.set_xticks(range(0, ranks, max(1, 2 ** math.ceil(math.log2(ranks / 16)))))


def _columns(strip: Strip) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The values of each column, and the edges of the columns: ranks, or groups of neighbours by share in MPI."""
    if strip.ranks <= MOST_RANKS:
        return dict(strip.parts), np.arange(strip.ranks + 1) - 0.5
    in_mpi = np.sum([values for name, values in strip.parts.items() if name != "computation"], axis=0)
    groups = np.array_split(np.argsort(in_mpi, kind="stable"), MOST_RANKS)
    means = {name: np.array([values[group].mean() for group in groups]) for name, values in strip.parts.items()}
    return means, np.linspace(0, 100, MOST_RANKS + 1)


def _describe_strip(strip: Strip) -> str:
    means = ", ".join(
        f"{WORDS[name]} {percent(float(strip.parts[name].min()))} to {percent(float(strip.parts[name].max()))}"
        for name in PARTS
        if strip.parts[name].any()
    )
    return f"{strip.label}, by rank: {means}"
