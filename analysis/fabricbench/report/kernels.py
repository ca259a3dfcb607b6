# SPDX-License-Identifier: Apache-2.0
"""Applications and kernels that report a rate: Mop/s per lane over ranks, and what of the time was communication."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.groups import Number
from fabricbench.report.series import RATE, Facet, Panel, Point
from fabricbench.report.style import Lane, Look
from fabricbench.report.words import clean, interval, number, slugs


@dataclass(frozen=True, slots=True)
class Cell:
    """A kernel on a lane and so many ranks. ``efficiency`` is Mop/s over ranks times those of one rank."""

    ranks: int
    rate: Number
    efficiency: str
    communication: str


@dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel of one class: a drawing and a row of cells per lane. ``scaled``: on more than one number of ranks."""

    anchor: str
    title: str
    svg: Markup
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def scaled(self) -> bool:
        return len({cell.ranks for _, cells in self.rows for cell in cells}) > 1


def kernels(found: Sequence[Panel], appearance: Mapping[Lane, Look]) -> list[KernelView]:
    """A view per kernel and class (and code, where NASA's own was run too), in order of name."""
    rates: dict[str, dict[Lane, dict[int, Point]]] = defaultdict(lambda: defaultdict(dict))
    shares: dict[tuple[str, Lane, int], dict[str, float]] = defaultdict(dict)
    rated = {panel.facet for panel in found if panel.metric == RATE}
    for panel in (panel for panel in found if panel.facet in rated):
        title = _title(panel.facet)
        for lane, line in panel.lines.items():
            if panel.metric == RATE:
                rates[title][lane][panel.facet.ranks] = line[0]
            shares[title, lane, panel.facet.ranks][panel.metric] = line[0].estimate
    anchors = slugs(rates, "kernel")
    return [
        KernelView(
            anchors[title],
            title,
            Markup(_drawing(lanes, appearance, anchors[title], title)),
            tuple((lane.name, _cells(title, lane, lanes[lane], shares)) for lane in sorted(lanes)),
        )
        for title, lanes in sorted(rates.items())
    ]


def _title(facet: Facet) -> str:
    return f"{facet.benchmark.upper()} {facet.case}".strip()


def _cells(
    title: str, lane: Lane, points: Mapping[int, Point], shares: Mapping[tuple[str, Lane, int], Mapping[str, float]]
) -> tuple[Cell, ...]:
    cells = []
    for ranks, point in sorted(points.items()):
        spread = "" if point.low is None else interval(point.low, point.high)
        rate = Number(number(point.estimate), spread, point.n, point.weak)
        times = shares[title, lane, ranks]
        known = times.get("run_time", 0.0) > 0 and "communication_time" in times
        share = f"{times['communication_time'] / times['run_time']:.1%}" if known else number(None)
        alone = points.get(1)
        efficient = ranks > 1 and alone is not None and alone.estimate > 0
        efficiency = f"{point.estimate / (ranks * alone.estimate):.0%}" if efficient and alone else number(None)
        cells.append(Cell(ranks, rate, efficiency, share))
    return tuple(cells)


def _drawing(lanes: Mapping[Lane, Mapping[int, Point]], appearance: Mapping[Lane, Look], key: str, title: str) -> str:
    """Mop/s with intervals, a line of the drawing per lane and number of ranks, as inline SVG."""
    entries = [(lane, ranks, lanes[lane][ranks]) for lane in sorted(lanes) for ranks in sorted(lanes[lane])]
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 0.75 + 0.24 * len(entries)))
        height = 1 - 0.62 / figure.get_figheight()
        axes = figure.add_axes((0.33, 1 - height - 0.02, 0.64, height))
        _dots(axes, entries, appearance)
        said = "; ".join(f"{lane.name}, {ranks} rank(s): {number(p.estimate)} Mop/s" for lane, ranks, p in entries)
        return svg.inline(figure, key, clean(f"Mop/s of {title}"), clean(said))


def _dots(axes: Axes, entries: Sequence[tuple[Lane, int, Point]], appearance: Mapping[Lane, Look]) -> None:
    for at, (lane, _ranks, point) in enumerate(entries):
        look = appearance[lane]
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [at, at], color=look.colour, linewidth=3, alpha=0.35)
        axes.plot([point.estimate], [at], color=look.colour, marker=look.marker, markersize=5, linestyle="none")
    axes.set_yticks(range(len(entries)))
    axes.set_yticklabels(["\u200b" + clean(f"{lane.name}, {ranks}") for lane, ranks, _ in entries])
    axes.set_ylim(len(entries) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("Mop/s; lane, ranks")
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
