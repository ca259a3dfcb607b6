# SPDX-License-Identifier: Apache-2.0
"""Sections of applications that report a rate: the rate of each lane over scales, its efficiency and communication."""

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
from fabricbench.report.facets import MANY_SCALES, Facet, Measured, Panel, Point, suffices
from fabricbench.report.formatting import clean, number, percent, slugs
from fabricbench.report.groups import Group, Naming, Number, group, number_of
from fabricbench.report.over_ranks import application_panels, scaled
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName
from fabricbench.site.scale import scale_text
from fabricbench.verdict.scaling import RATES, Scaling, below, strong_scaling

REQUIRED_EFFICIENCY = 0.7
"""The report names the scale up to which an application is at least so efficient."""

_Scale = tuple[int, int]
"""Ranks and nodes, in the order of the table."""
_Rates = Mapping[_Scale, Point]


@dataclass(frozen=True, slots=True)
class RunRow:
    """The rate of one lane on one scale. ``speed_up``, ``efficiency``: against the smallest scale of the lane."""

    scale: str
    ranks: int
    rate: Number
    speed_up: Number
    efficiency: Number
    communication: str
    imbalance: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One problem: a figure and the rows of each lane.

    ``curves``: rate, speed-up and efficiency over ranks in place of the figure, if a lane has many scales. ``limits``:
    up to which scale each lane is efficient. ``split``: the shares of activities, if the tool reports any.
    """

    anchor: str
    title: str
    unit: str
    svg: Markup
    rows: tuple[tuple[str, tuple[RunRow, ...]], ...]
    curves: Group | None
    limits: tuple[str, ...]
    split: Split | None

    @property
    def scaled(self) -> bool:
        """Whether a lane has runs on different scales."""
        return any(len(rows) > 1 for _, rows in self.rows)

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


def applications(
    panels: Sequence[Panel], styles: Mapping[LaneName, LaneStyle], cells: Measured, confidence: float
) -> list[Application]:
    """A section for every tool that reports a rate, with a view per problem and case, in order of name."""
    tools = sorted({panel.facet.tool for panel in panels if panel.metric in RATES}, key=_place)
    scaling: dict[tuple[str, str], list[Scaling]] = defaultdict(list)
    for row in strong_scaling(cells, confidence):
        scaling[row.tool, heading(Facet(row.tool, row.benchmark, row.case, row.ranks, row.nodes))].append(row)
    return [
        Application(
            tool,
            _about(tool).title,
            _about(tool).note,
            tuple(_runs(panels, tool, styles, scaling, confidence)),
        )
        for tool in tools
    ]


def _place(tool: str) -> tuple[int, str]:
    order = list(_KNOWN)
    return (order.index(tool) if tool in order else len(order), tool)


def _about(tool: str) -> _About:
    return _KNOWN.get(tool, _About(tool, "The rate is as the tool reports it.", _plain_name))


def _runs(
    panels: Sequence[Panel],
    tool: str,
    styles: Mapping[LaneName, LaneStyle],
    scaling: Mapping[tuple[str, str], Sequence[Scaling]],
    confidence: float,
) -> list[RunView]:
    rates: dict[str, dict[LaneName, dict[_Scale, Point]]] = defaultdict(lambda: defaultdict(dict))
    values: dict[tuple[str, LaneName, _Scale], dict[str, float]] = defaultdict(dict)
    units: dict[str, str] = {}
    of_tool = [panel for panel in panels if panel.facet.tool == tool]
    rated = {panel.facet for panel in of_tool if panel.metric in RATES}
    for panel in (panel for panel in of_tool if panel.facet in rated):
        title, scale = heading(panel.facet), (panel.facet.ranks, panel.facet.nodes)
        for lane, line in panel.lines.items():
            if panel.metric in RATES:
                rates[title][lane][scale] = line[0]
                units[title] = panel.unit
            values[title, lane, scale][panel.metric] = line[0].estimate
    anchors = slugs(rates, tool)
    parts = splits(of_tool, heading, anchors)
    views = []
    for title, lanes in sorted(rates.items()):
        rows = scaling.get((tool, title), ())
        by_place = {(row.lane, row.ranks, row.nodes): row for row in rows}
        curves = _curves(rows, lanes, styles, anchors[title], units[title], confidence)
        name = f"{units[title]} of {title}"
        figure = "" if curves else _figure(lanes, styles, anchors[title], name, units[title])
        views.append(
            RunView(
                anchors[title],
                title,
                units[title],
                Markup(figure),
                tuple(
                    (lane.name, _rows(title, lane, lanes[lane], values, by_place, confidence)) for lane in sorted(lanes)
                ),
                curves,
                _limits(rows),
                parts.get(title),
            )
        )
    return views


def _on_many_scales(rows: Sequence[Scaling]) -> dict[str, list[Scaling]]:
    """Returns the rows of the lanes with ``MANY_SCALES`` or more, by lane."""
    by_lane: dict[str, list[Scaling]] = defaultdict(list)
    for row in rows:
        by_lane[row.lane].append(row)
    return {lane: of_lane for lane, of_lane in by_lane.items() if len(of_lane) >= MANY_SCALES}


def _curves(
    rows: Sequence[Scaling],
    lanes: Mapping[LaneName, _Rates],
    styles: Mapping[LaneName, LaneStyle],
    anchor: str,
    unit: str,
    confidence: float,
) -> Group | None:
    """Returns the figures over ranks; None if no lane has many scales."""
    if not _on_many_scales(rows):
        return None
    panels = application_panels(rows, lambda row: lanes[LaneName.of(row.lane)][row.ranks, row.nodes], unit, confidence)
    naming = Naming(f"{anchor}-scales", "Over ranks", _curve_caption, lambda lane: lane.name)
    return group(panels, styles, naming, small=True)


def _curve_caption(panel: Panel) -> str:
    what = {"speed_up": "Speed-up", "efficiency": "Efficiency in %"}.get(panel.metric, panel.unit)
    return f"{what}: {panel.facet.case}"


def _limits(rows: Sequence[Scaling]) -> tuple[str, ...]:
    return tuple(
        f"{lane}: {below(of_lane, REQUIRED_EFFICIENCY).sentence(REQUIRED_EFFICIENCY)}."
        for lane, of_lane in _on_many_scales(rows).items()
    )


def heading(facet: Facet) -> str:
    """The problem and its case in words, without lane and ranks."""
    return _about(facet.tool).name(facet)


def _rows(
    title: str,
    lane: LaneName,
    points: _Rates,
    values: Mapping[tuple[str, LaneName, _Scale], Mapping[str, float]],
    scaling: Mapping[tuple[str, int, int], Scaling],
    confidence: float,
) -> tuple[RunRow, ...]:
    rows = []
    for (ranks, nodes), point in sorted(points.items()):
        metrics = values[title, lane, (ranks, nodes)]
        has_share = metrics.get("run_time", 0.0) > 0 and "communication_time" in metrics
        share = f"{metrics['communication_time'] / metrics['run_time']:.1%}" if has_share else number(None)
        imbalance = f"{metrics['load_imbalance']:.1%}" if "load_imbalance" in metrics else number(None)
        speed_up, efficiency = _against_base(scaling.get((lane.name, ranks, nodes)), confidence)
        scale = scale_text(nodes, ranks)
        rows.append(RunRow(scale, ranks, number_of(point), speed_up, efficiency, share, imbalance))
    return tuple(rows)


def _against_base(row: Scaling | None, confidence: float) -> tuple[Number, Number]:
    """Returns speed-up and efficiency; dashes on the smallest scale of a lane."""
    if row is None or row.speed_up is None or (row.ranks, row.nodes) == (row.base_ranks, row.base_nodes):
        return number_of(None), number_of(None)
    sure = suffices(row.confidence, confidence)
    low, high = (row.speed_up_low, row.speed_up_high) if sure else (None, None)
    speed_up = number_of(Point(None, row.speed_up, low, high, row.n))
    share = row.base_ranks / row.ranks
    spread = "" if low is None else f"[{percent(scaled(low, share))}, {percent(scaled(high, share))}]"
    return speed_up, Number(percent(row.speed_up * share), spread, row.n, weak=False)


def _figure(
    lanes: Mapping[LaneName, _Rates], styles: Mapping[LaneName, LaneStyle], key: str, title: str, unit: str
) -> str:
    """The rates with their intervals as inline SVG: a row per lane and scale."""
    entries = [
        (lane, scale_text(nodes, ranks), lanes[lane][ranks, nodes])
        for lane in sorted(lanes)
        for ranks, nodes in sorted(lanes[lane])
    ]
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 0.75 + ROW_INCHES * len(entries)))
        height = 1 - 0.62 / figure.get_figheight()
        axes = figure.add_axes((0.33, 1 - height - 0.02, 0.64, height))
        _dots(axes, entries, styles)
        axes.set_xlabel(f"{unit}; lane, scale")
        rates = "; ".join(f"{lane.name}, {scale}: {number(p.estimate)} {unit}" for lane, scale, p in entries)
        return svg.inline(figure, key, clean(title), clean(rates))


def _dots(axes: Axes, entries: Sequence[tuple[LaneName, str, Point]], styles: Mapping[LaneName, LaneStyle]) -> None:
    for at, (lane, _scale, point) in enumerate(entries):
        style = styles[lane]
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [at, at], color=style.colour, linewidth=3, alpha=0.35)
        axes.plot([point.estimate], [at], color=style.colour, marker=style.marker, markersize=5, linestyle="none")
    label_rows(axes, [(lane, scale) for lane, scale, _ in entries])
    axes.set_xlim(left=0)
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
