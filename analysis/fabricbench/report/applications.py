# SPDX-License-Identifier: Apache-2.0
"""Sections of applications that report a rate: the rate of each lane over ranks, its efficiency and communication."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.activities import Split, splits
from fabricbench.report.bars import ROW_INCHES, label_rows
from fabricbench.report.codes import problem_name
from fabricbench.report.facets import Facet, Panel, Point
from fabricbench.report.formatting import clean, number, slugs
from fabricbench.report.groups import Number, number_of
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName
from fabricbench.verdict.scaling import RATES


@dataclass(frozen=True, slots=True)
class RunRow:
    """The rate of one lane on ``ranks`` ranks. ``efficiency``: its rate over ``ranks`` times the rate of one rank."""

    ranks: int
    rate: Number
    efficiency: str
    communication: str
    imbalance: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One problem: a figure and the rows of each lane. ``split``: the shares of activities, if the tool reports any."""

    anchor: str
    title: str
    unit: str
    svg: Markup
    rows: tuple[tuple[str, tuple[RunRow, ...]], ...]
    split: Split | None

    @property
    def scaled(self) -> bool:
        """Whether there are runs with different numbers of ranks."""
        return len({row.ranks for _, rows in self.rows for row in rows}) > 1

    @property
    def balanced(self) -> bool:
        """Whether the load imbalance of any run is known."""
        return any(row.imbalance != number(None) for _, rows in self.rows for row in rows)


@dataclass(frozen=True, slots=True)
class Application:
    """A section of the page: all runs of one tool."""

    key: str
    title: str
    note: str
    runs: tuple[RunView, ...]


@dataclass(frozen=True, slots=True)
class _About:
    """Title and note of a tool's section; ``name`` makes the heading of a problem and its case."""

    title: str
    note: str
    name: Callable[[Facet], str]


def _plain_name(facet: Facet) -> str:
    return f"{facet.benchmark} {facet.case}".strip()


_KNOWN = {
    "npb": _About(
        "NAS parallel benchmarks",
        "The rate is in Mop/s, by NASA’s count of operations. Communication is the time in MPI, the mean over ranks, "
        "as a share of the run time. The own kernels are programs of this project after NASA’s specification; they are "
        "not comparable with published figures of NPB. They send the messages of NASA’s programs and compute faster, "
        "so their shares of communication are higher than those of NASA’s programs.",
        problem_name,
    ),
    "gromacs": _About(
        "GROMACS",
        "The rate is the simulated time per day, over the second half of the steps. Communication is the time for "
        "messages and for waiting on other ranks in GROMACS’s cycle table, as a share of the run time.",
        _plain_name,
    ),
}


def applications(panels: Sequence[Panel], styles: Mapping[LaneName, LaneStyle]) -> list[Application]:
    """A section for every tool that reports a rate, with a view per problem and case, in order of name."""
    tools = sorted({panel.facet.tool for panel in panels if panel.metric in RATES}, key=_place)
    return [
        Application(tool, _about(tool).title, _about(tool).note, tuple(_runs(panels, tool, styles))) for tool in tools
    ]


def _place(tool: str) -> tuple[int, str]:
    order = list(_KNOWN)
    return (order.index(tool) if tool in order else len(order), tool)


def _about(tool: str) -> _About:
    return _KNOWN.get(tool, _About(tool, "The rate is as the tool reports it.", _plain_name))


def _runs(panels: Sequence[Panel], tool: str, styles: Mapping[LaneName, LaneStyle]) -> list[RunView]:
    rates: dict[str, dict[LaneName, dict[int, Point]]] = defaultdict(lambda: defaultdict(dict))
    values: dict[tuple[str, LaneName, int], dict[str, float]] = defaultdict(dict)
    units: dict[str, str] = {}
    of_tool = [panel for panel in panels if panel.facet.tool == tool]
    rated = {panel.facet for panel in of_tool if panel.metric in RATES}
    for panel in (panel for panel in of_tool if panel.facet in rated):
        title = heading(panel.facet)
        for lane, line in panel.lines.items():
            if panel.metric in RATES:
                rates[title][lane][panel.facet.ranks] = line[0]
                units[title] = panel.unit
            values[title, lane, panel.facet.ranks][panel.metric] = line[0].estimate
    anchors = slugs(rates, tool)
    parts = splits(of_tool, heading, anchors)
    return [
        RunView(
            anchors[title],
            title,
            units[title],
            Markup(_figure(lanes, styles, anchors[title], f"{units[title]} of {title}", units[title])),
            tuple((lane.name, _rows(title, lane, lanes[lane], values)) for lane in sorted(lanes)),
            parts.get(title),
        )
        for title, lanes in sorted(rates.items())
    ]


def heading(facet: Facet) -> str:
    """The problem and its case in words, without lane and ranks."""
    return _about(facet.tool).name(facet)


def _rows(
    title: str,
    lane: LaneName,
    points: Mapping[int, Point],
    values: Mapping[tuple[str, LaneName, int], Mapping[str, float]],
) -> tuple[RunRow, ...]:
    rows = []
    alone = points.get(1)
    for ranks, point in sorted(points.items()):
        metrics = values[title, lane, ranks]
        has_share = metrics.get("run_time", 0.0) > 0 and "communication_time" in metrics
        share = f"{metrics['communication_time'] / metrics['run_time']:.1%}" if has_share else number(None)
        scales = ranks > 1 and alone is not None and alone.estimate > 0
        efficiency = f"{point.estimate / (ranks * alone.estimate):.0%}" if scales and alone else number(None)
        imbalance = f"{metrics['load_imbalance']:.1%}" if "load_imbalance" in metrics else number(None)
        rows.append(RunRow(ranks, number_of(point), efficiency, share, imbalance))
    return tuple(rows)


def _figure(
    lanes: Mapping[LaneName, Mapping[int, Point]], styles: Mapping[LaneName, LaneStyle], key: str, title: str, unit: str
) -> str:
    """The rates with their intervals as inline SVG: a row per lane and number of ranks."""
    entries = [(lane, ranks, lanes[lane][ranks]) for lane in sorted(lanes) for ranks in sorted(lanes[lane])]
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 0.75 + ROW_INCHES * len(entries)))
        height = 1 - 0.62 / figure.get_figheight()
        axes = figure.add_axes((0.33, 1 - height - 0.02, 0.64, height))
        _dots(axes, entries, styles)
        axes.set_xlabel(f"{unit}; lane, ranks")
        rates = "; ".join(f"{lane.name}, {ranks} rank(s): {number(p.estimate)} {unit}" for lane, ranks, p in entries)
        return svg.inline(figure, key, clean(title), clean(rates))


def _dots(axes: Axes, entries: Sequence[tuple[LaneName, int, Point]], styles: Mapping[LaneName, LaneStyle]) -> None:
    for at, (lane, _ranks, point) in enumerate(entries):
        style = styles[lane]
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [at, at], color=style.colour, linewidth=3, alpha=0.35)
        axes.plot([point.estimate], [at], color=style.colour, marker=style.marker, markersize=5, linestyle="none")
    label_rows(axes, [(lane, ranks) for lane, ranks, _ in entries])
    axes.set_xlim(left=0)
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
