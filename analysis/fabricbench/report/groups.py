# SPDX-License-Identifier: Apache-2.0
"""Groups of figures: panels that share a legend, each with its numbers as a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fabricbench.report import facets, figures
from fabricbench.report.facets import Panel, Point
from fabricbench.report.formatting import interval, number, slugs, unit
from fabricbench.report.scales import axis_label
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName

_THIN_LINE = Markup(
    '<svg aria-hidden="true" width="36" height="13" viewBox="0 0 36 13">'
    '<path d="M2 6.5h32" stroke="#6b7280" stroke-width="0.8"/></svg>'
)
"""The legend's piece of a line without markers, which is the model of a lane."""

Draw = Callable[[Panel, Mapping[LaneName, LaneStyle], str, str], str]


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A piece of a line, or a colour, and its meaning."""

    swatch: Markup
    text: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """The points of a panel as a table: a row per value of the horizontal axis, a column per lane."""

    axis: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple["Number", ...]], ...]


@dataclass(frozen=True, slots=True)
class Number:
    """One point as text; ``weak``: it does not differ significantly from 1."""

    estimate: str
    interval: str
    n: int
    weak: bool


@dataclass(frozen=True, slots=True)
class FigureView:
    """One figure with its caption and its numbers."""

    key: str
    svg: Markup
    caption: str
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that share a heading and a legend; the page has three ``small`` ones in a row."""

    anchor: str
    title: str
    note: str
    legend: tuple[LegendEntry, ...]
    figures: tuple[FigureView, ...]
    small: bool


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of a group, of its panels and of its lines; all ids in the group begin with ``key``."""

    key: str
    title: str
    caption: Callable[[Panel], str]
    line: Callable[[LaneName], str]
    note: str = ""


def group(panels: Sequence[Panel], styles: Mapping[LaneName, LaneStyle], naming: Naming, small: bool) -> Group:
    """Draws ``panels`` and the legend of their lanes."""
    draw: Draw = figures.small_svg if small else figures.panel_svg
    lanes = sorted({lane for panel in panels for lane in panel.lines})
    legend = tuple(
        LegendEntry(
            Markup(figures.swatch_svg(styles[lane], f"{naming.key}-legend-{i}")),
            naming.line(lane),
        )
        for i, lane in enumerate(lanes)
    )
    models = dict.fromkeys(panel.model_name for panel in panels if panel.model)
    legend += tuple(LegendEntry(_THIN_LINE, name) for name in models)
    views = []
    for i, panel in enumerate(panels):
        key, caption = f"{naming.key}-{i}", naming.caption(panel)
        picture = Markup(draw(panel, styles, key, f"{naming.title}: {caption}"))
        views.append(FigureView(key, picture, caption, numbers(panel, naming.line)))
    return Group(naming.key, naming.title, naming.note, legend, tuple(views), small)


def numbers(panel: Panel, line: Callable[[LaneName], str]) -> Numbers:
    """The points of a panel as a table; ``line`` gives the name of a column."""
    columns = [(line(lane), panel.lines[lane]) for lane in sorted(panel.lines)]
    columns += [(f"{line(lane)}, {panel.model_name}", panel.model[lane]) for lane in sorted(panel.model)]
    points = [{point.size: point for point in of_column} for _, of_column in columns]
    sizes = sorted({size for column in points for size in column}, key=lambda size: -1 if size is None else size)
    label = axis_label(panel.axis)
    rows = [(label(size), tuple(number_of(column.get(size)) for column in points)) for size in sizes]
    return Numbers(panel.axis, tuple(name for name, _ in columns), tuple(rows))


def number_of(point: Point | None) -> Number:
    """A point as text; a dash for None."""
    if point is None:
        return Number(number(None), "", 0, False)
    spread = "" if point.low is None else interval(point.low, point.high)
    return Number(number(point.estimate), spread, point.n, point.weak)


def curves(panels: list[Panel], styles: Mapping[LaneName, LaneStyle]) -> tuple[list[Group], str]:
    """Latency and bandwidth of the ping-pong, a group per fabric, and the tool that measured them."""
    pingpong, tool = facets.pingpong(panels)
    result = []
    keys = slugs(sorted({lane.fabric for panel in pingpong for lane in panel.lines}), "curves")
    for fabric, key in keys.items():
        here = [p for p in (facets.on_fabric(panel, fabric) for panel in pingpong) if p.lines]
        here.sort(key=lambda p: (p.facet, p.metric != "latency"))
        naming = Naming(
            key, fabric, lambda p: metric_caption(p, facets.describe(p.facet)),
            lambda lane: lane.build,
        )  # fmt: skip
        result.append(group(here, styles, naming, small=False))
    return result, tool


def other_tools(panels: list[Panel], styles: Mapping[LaneName, LaneStyle]) -> list[Group]:
    """The other benchmarks of other tools with message sizes: a group of small panels per tool, all lanes together."""
    selection = facets.others(panels)
    keys = slugs(sorted({p.facet.tool for p in selection}), "benchmarks")
    return [
        group(
            [p for p in selection if p.facet.tool == tool],
            styles,
            Naming(
                key, f"Other benchmarks of {tool}",
                lambda p: metric_caption(p, facets.describe(p.facet, tool=False)), lambda lane: lane.name,
            ),
            small=True,
        )
        for tool, key in keys.items()
    ]  # fmt: skip


def metric_caption(panel: Panel, what: str) -> str:
    """The caption of a panel: its metric, its unit, and ``what`` was measured."""
    return f"{panel.metric.replace('_', ' ').capitalize()} in {unit(panel.unit)}: {what}"
