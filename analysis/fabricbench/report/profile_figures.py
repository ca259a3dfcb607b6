# SPDX-License-Identifier: Apache-2.0
"""Draws profiles: run time by MPI function, shares by rank, and numbers of calls by message size."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from fabricbench.parsers.tau.rows import RankShares
from fabricbench.report import svg
from fabricbench.report.bars import INK, ink_on, label_names
from fabricbench.report.formatting import clean, number, percent, size_label
from fabricbench.report.style import COLOURS
from fabricbench.verdict.profiles import SYNC

MOST_RANKS = 256
"""A strip of more ranks shows quantiles instead of ranks."""

OTHER, OUTSIDE = "other MPI functions", "outside MPI"
_MOST_CALLS = 6
_OTHER_COLOUR, _OUTSIDE_COLOUR = "#6b7280", "#e5e7eb"
_BAR_INCHES, _STRIP_INCHES, _CELL_INCHES = 0.3, 0.8, 0.22
_LEFT, _WIDTH = 0.42, 0.56
_MOST_SEPARATED = 64
_NARROWEST_LABEL = 0.06
"""Smallest width of a part with a label, as a share of the axis."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The run time of one lane. ``shares``: by MPI function, of ``seconds``."""

    label: str
    seconds: float
    shares: Mapping[str, float]


def call_label(call: str) -> str:
    """The name of an MPI function as the page writes it."""
    return "barrier before collectives" if call == SYNC else call


def colours(bars: Sequence[Bar]) -> dict[str, str]:
    """The functions with the largest shares of any lane, each with a colour; the others share that of ``OTHER``."""
    largest: dict[str, float] = {}
    for bar in bars:
        for call, share in bar.shares.items():
            largest[call] = max(share, largest.get(call, 0.0))
    calls = [call for call in sorted(largest, key=lambda name: (-largest[name], name)) if largest[call] >= 0.001]
    result = dict(zip(calls[:_MOST_CALLS], COLOURS, strict=False))
    return result | ({OTHER: _OTHER_COLOUR} if len(largest) > len(result) else {})


def _parts(shares: Mapping[str, float], palette: Mapping[str, str]) -> dict[str, float]:
    """The shares by colour of the palette; ``OTHER`` is the sum of the functions without a colour of their own."""
    parts = {call: shares.get(call, 0.0) for call in palette if call != OTHER}
    if OTHER in palette:
        parts[OTHER] = max(0.0, sum(shares.values()) - sum(parts.values()))
    return parts


def time_svg(bars: Sequence[Bar], palette: Mapping[str, str], key: str, title: str) -> str:
    """The run time of each lane by MPI function, as inline SVG."""
    everything = {**palette, OUTSIDE: _OUTSIDE_COLOUR}
    legend_rows = -(-len(everything) // 2)
    with svg.drawing(key):
        above = 0.12 + 0.19 * legend_rows
        height = _BAR_INCHES * len(bars)
        figure = Figure(figsize=(5.3, above + height + 0.5))
        axes = figure.add_axes((_LEFT, 0.5 / figure.get_figheight(), _WIDTH, height / figure.get_figheight()))
        longest = max((bar.seconds for bar in bars), default=1.0)
        for at, bar in enumerate(bars):
            _time_bar(axes, at, bar, everything, longest)
        axes.set_xlim(0, longest)
        label_names(axes, [bar.label for bar in bars])
        axes.set_xlabel("profiled time, s; labels: % of the lane’s time")
        figure.legend(
            handles=[Patch(color=colour, label=call_label(call)) for call, colour in everything.items()],
            loc="upper left", ncols=2, fontsize=8, borderaxespad=0.1, handlelength=1.0, bbox_to_anchor=(0.02, 1.0),
        )  # fmt: skip
        return svg.inline(figure, key, clean(title), clean("; ".join(_describe(bar, palette) for bar in bars)))


def _time_bar(axes: Axes, at: int, bar: Bar, palette: Mapping[str, str], longest: float) -> None:
    parts = _parts(bar.shares, {name: colour for name, colour in palette.items() if name != OUTSIDE})
    parts[OUTSIDE] = max(0.0, 1 - sum(parts.values()))
    start = 0.0
    for name, share in parts.items():
        width = share * bar.seconds
        axes.barh([at], [width], left=start, height=0.74, color=palette[name], edgecolor="white", linewidth=0.5)
        if width >= _NARROWEST_LABEL * longest:
            place = (start + width / 2, at)
            axes.text(*place, f"{100 * share:.0f}", color=ink_on(palette[name]), fontsize=8, ha="center", va="center")
        start += width


def _describe(bar: Bar, palette: Mapping[str, str]) -> str:
    parts = ", ".join(f"{call_label(call)} {percent(share)}" for call, share in _parts(bar.shares, palette).items())
    return f"{bar.label}, {number(bar.seconds)} s: {parts or 'nothing in MPI'}"


def ranks_svg(lanes: Mapping[str, RankShares], palette: Mapping[str, str], key: str, title: str) -> str:
    """The share of each rank's time in MPI by function, a strip per lane, as inline SVG.

    With more than ``MOST_RANKS`` ranks: the MPI shares in ascending order, by percentile of the ranks.
    """
    count = max(len(shares.mpi) for shares in lanes.values())
    with svg.drawing(key):
        height = _STRIP_INCHES * len(lanes)
        figure = Figure(figsize=(5.3, height + 0.5))
        inches = figure.get_figheight()
        for at, (lane, shares) in enumerate(lanes.items()):
            bottom = (0.48 + height - (at + 1) * _STRIP_INCHES) / inches
            axes = figure.add_axes((0.1, bottom, 0.88, 0.65 * _STRIP_INCHES / inches))
            _strip(axes, shares, palette, numbered=at == len(lanes) - 1)
            axes.set_title("\u200b" + clean(lane), loc="left", fontsize=8.5, pad=3)
            axes.set_ylim(0, 100)
            axes.set_yticks([0, 50, 100], ["0", "", "100 %"], fontsize=7)
            if at == len(lanes) - 1:
                axes.set_xlabel("rank" if count <= MOST_RANKS else "% of the ranks, by ascending share in MPI")
        return svg.inline(figure, key, clean(title), clean("; ".join(map(_describe_ranks, lanes, lanes.values()))))


def _strip(axes: Axes, shares: RankShares, palette: Mapping[str, str], *, numbered: bool) -> None:
    ranks = len(shares.mpi)
    if not numbered:
        axes.set_xticks([])
    if ranks > MOST_RANKS:
        axes.set_xlim(0, 100)
        axes.fill_between(range(101), 100 * np.quantile(shares.mpi, np.linspace(0, 1, 101)), color=_OTHER_COLOUR)
        return
    edges = np.arange(ranks + 1) - 0.5
    base = np.zeros(ranks)
    by_rank = [_parts({call: values[rank] for call, values in shares.calls.items()}, palette) for rank in range(ranks)]
    axes.stairs(np.full(ranks, 100.0), edges, fill=True, color=_OUTSIDE_COLOUR)
    for name, colour in palette.items():
        values = np.array([100 * parts.get(name, 0.0) for parts in by_rank])
        if values.any():
            axes.stairs(base + values, edges, baseline=base, fill=True, color=colour)
        base = base + values
    if ranks <= _MOST_SEPARATED:
        axes.vlines(edges, 0, 100, color="white", linewidth=1.2)
    axes.set_xlim(-0.5, ranks - 0.5)
    if numbered:
        axes.set_xticks(range(0, ranks, max(1, 2 ** math.ceil(math.log2(ranks / 16)))))


def _describe_ranks(lane: str, shares: RankShares) -> str:
    if len(shares.mpi) > 16:
        return f"{lane}, {len(shares.mpi)} ranks: {percent(min(shares.mpi))} to {percent(max(shares.mpi))} in MPI"
    return f"{lane}, in MPI by rank: " + ", ".join(percent(share) for share in shares.mpi)


def sizes_svg(counts: Mapping[str, Mapping[int, float]], key: str, title: str) -> str:
    """The numbers of calls by function and message size as inline SVG; darker squares have more calls."""
    sizes = _all_sizes(counts)
    with svg.drawing(key):
        height = _CELL_INCHES * len(counts)
        figure = Figure(figsize=(5.3, height + 0.85))
        inches = figure.get_figheight()
        axes = figure.add_axes((_LEFT, 0.78 / inches, _WIDTH, height / inches))
        most = max((count for by_size in counts.values() for count in by_size.values()), default=1.0)
        for row, by_size in enumerate(counts.values()):
            for size, count in by_size.items():
                _square(axes, sizes.index(size), row, count, most, wide=len(sizes) <= 14)
        label_names(axes, [call_label(call) for call in counts])
        step = 1 if len(sizes) <= 20 else 2
        ticks = range(0, len(sizes), step)
        axes.set_xticks(ticks, [size_label(sizes[at]) for at in ticks], rotation=90, fontsize=8)
        axes.set_xlim(-0.5, len(sizes) - 0.5)
        axes.set_xlabel("message size, from this to the next")
        axes.vlines(
            [at - 0.5 for at in range(1, len(sizes))], -0.5, len(counts) - 0.5, color=_OUTSIDE_COLOUR, linewidth=0.7
        )
        return svg.inline(figure, key, clean(title), clean("; ".join(map(_describe_sizes, counts, counts.values()))))


def _all_sizes(counts: Mapping[str, Mapping[int, float]]) -> list[int]:
    """All powers of two from the smallest size to the largest, and 0 if it occurs."""
    known = {size for by_size in counts.values() for size in by_size}
    exponents = [size.bit_length() - 1 for size in known if size]
    powers = [1 << exponent for exponent in range(min(exponents), max(exponents) + 1)] if exponents else []
    return [*([0] if 0 in known else []), *powers]


def _square(axes: Axes, column: int, row: int, count: float, most: float, *, wide: bool) -> None:
    left, right, top, bottom = column - 0.5, column + 0.5, row - 0.46, row + 0.46
    box = Path([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], closed=True)
    depth = math.log1p(count) / math.log1p(most) if most > 0 else 0.0
    pale, dark = np.array(to_rgb("#dbeafe")), np.array(to_rgb("#0b5c94"))
    colour = tuple(float(part) for part in pale + depth * (dark - pale))
    axes.add_patch(PathPatch(box, facecolor=colour, linewidth=0))
    ink = "white" if depth > 0.6 else INK
    axes.text(column, row, short(count), color=ink, fontsize=7.5 if wide else 6, ha="center", va="center")


def short(count: float) -> str:
    """A number of calls in at most four characters: ``950``, ``3.3k``, ``12k``, ``4.1M``."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size * 0.9995:
            value = count / size
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{count:.0f}"


def _describe_sizes(call: str, by_size: Mapping[int, float]) -> str:
    parts = ", ".join(f"{number(count)} of {size_label(size)}" for size, count in by_size.items())
    return f"{call_label(call)}: {parts}"
