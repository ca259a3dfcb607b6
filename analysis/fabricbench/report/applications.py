# SPDX-License-Identifier: Apache-2.0
"""Applications that report a rate: the rate per lane over ranks, what of the time was communication, and the rest."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.activities import Split, splits
from fabricbench.report.groups import Number
from fabricbench.report.series import RATES, Facet, Panel, Point
from fabricbench.report.style import Lane, Look
from fabricbench.report.words import clean, interval, number, slugs


@dataclass(frozen=True, slots=True)
class Cell:
    """A run on a lane and so many ranks. ``efficiency`` is its rate over ranks times that of one rank."""

    ranks: int
    rate: Number
    efficiency: str
    communication: str
    imbalance: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One problem: a drawing and a row of cells per lane. ``scaled``: on more than one number of ranks.

    ``split`` is where the time went, None where the application does not say.
    """

    anchor: str
    title: str
    unit: str
    svg: Markup
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    split: Split | None

    @property
    def scaled(self) -> bool:
        return len({cell.ranks for _, cells in self.rows for cell in cells}) > 1

    @property
    def balanced(self) -> bool:
        """Whether a load imbalance is known of any."""
        return any(cell.imbalance != number(None) for _, cells in self.rows for cell in cells)


@dataclass(frozen=True, slots=True)
class Application:
    """A section of the report: all that one tool ran."""

    key: str
    title: str
    note: str
    runs: tuple[RunView, ...]


@dataclass(frozen=True, slots=True)
class _About:
    title: str
    note: str
    name: Callable[[str], str]


_KNOWN = {
    "npb": _About(
        "NAS parallel benchmarks",
        "Mop/s of NASA’s count. Communication is the time in MPI, mean over ranks, as a share of the run.",
        str.upper,
    ),
    "gromacs": _About(
        "GROMACS",
        "Simulated time a day, over the second half of the steps. Communication is what GROMACS’s cycle table counts "
        "as messages and waiting for other ranks, as a share of the run.",
        str,
    ),
}


def applications(found: Sequence[Panel], appearance: Mapping[Lane, Look]) -> list[Application]:
    """A section for every tool whose runs have a rate, in it a view per problem (and case), in order of name."""
    tools = sorted({panel.facet.tool for panel in found if panel.metric in RATES}, key=_place)
    return [
        Application(tool, _about(tool).title, _about(tool).note, tuple(_runs(found, tool, appearance)))
        for tool in tools
    ]


def _place(tool: str) -> tuple[int, str]:
    known = list(_KNOWN)
    return (known.index(tool) if tool in known else len(known), tool)


def _about(tool: str) -> _About:
    return _KNOWN.get(tool, _About(tool, "The rate that it reports.", str))


def _runs(found: Sequence[Panel], tool: str, appearance: Mapping[Lane, Look]) -> list[RunView]:
    rates: dict[str, dict[Lane, dict[int, Point]]] = defaultdict(lambda: defaultdict(dict))
    shares: dict[tuple[str, Lane, int], dict[str, float]] = defaultdict(dict)
    units: dict[str, str] = {}
    mine = [panel for panel in found if panel.facet.tool == tool]
    rated = {panel.facet for panel in mine if panel.metric in RATES}
    for panel in (panel for panel in mine if panel.facet in rated):
        title = _title(panel.facet)
        for lane, line in panel.lines.items():
            if panel.metric in RATES:
                rates[title][lane][panel.facet.ranks] = line[0]
                units[title] = panel.unit
            shares[title, lane, panel.facet.ranks][panel.metric] = line[0].estimate
    anchors = slugs(rates, tool)
    parts = splits(mine, _title, anchors)
    return [
        RunView(
            anchors[title],
            title,
            units[title],
            Markup(_drawing(lanes, appearance, anchors[title], f"{units[title]} of {title}", units[title])),
            tuple((lane.name, _cells(title, lane, lanes[lane], shares)) for lane in sorted(lanes)),
            parts.get(title),
        )
        for title, lanes in sorted(rates.items())
    ]


def _title(facet: Facet) -> str:
    return f"{_about(facet.tool).name(facet.benchmark)} {facet.case}".strip()


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
        imbalance = f"{times['load_imbalance']:.1%}" if "load_imbalance" in times else number(None)
        cells.append(Cell(ranks, rate, efficiency, share, imbalance))
    return tuple(cells)


def _drawing(
    lanes: Mapping[Lane, Mapping[int, Point]], appearance: Mapping[Lane, Look], key: str, title: str, unit: str
) -> str:
    """The rate with intervals, a line of the drawing per lane and number of ranks, as inline SVG."""
    entries = [(lane, ranks, lanes[lane][ranks]) for lane in sorted(lanes) for ranks in sorted(lanes[lane])]
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 0.75 + 0.24 * len(entries)))
        height = 1 - 0.62 / figure.get_figheight()
        axes = figure.add_axes((0.33, 1 - height - 0.02, 0.64, height))
        _dots(axes, entries, appearance)
        axes.set_xlabel(f"{unit}; lane, ranks")
        said = "; ".join(f"{lane.name}, {ranks} rank(s): {number(p.estimate)} {unit}" for lane, ranks, p in entries)
        return svg.inline(figure, key, clean(title), clean(said))


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
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
