# SPDX-License-Identifier: Apache-2.0
"""Figures in groups: panels that share a legend, each with its numbers as a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fabricbench.report import figures, series
from fabricbench.report.series import Panel, Point
from fabricbench.report.style import Lane, Look
from fabricbench.report.verdicts import unit
from fabricbench.report.words import interval, number, slugs

Draw = Callable[[Panel, Mapping[Lane, Look], str, str], str]


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A piece of a line and what it stands for."""

    swatch: Markup
    text: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """A panel's points as a table: a row per place on the axis, a column per lane."""

    axis: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple["Number", ...]], ...]


@dataclass(frozen=True, slots=True)
class Number:
    """One point in words; ``weak`` is not significant."""

    estimate: str
    interval: str
    n: int
    weak: bool


@dataclass(frozen=True, slots=True)
class FigureView:
    """One drawing with its caption and its numbers."""

    key: str
    svg: Markup
    caption: str
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Group:
    """Drawings that share a heading and a legend; ``small`` ones stand three in a row."""

    anchor: str
    title: str
    note: str
    legend: tuple[LegendEntry, ...]
    figures: tuple[FigureView, ...]
    small: bool


@dataclass(frozen=True, slots=True)
class Naming:
    """How a group is called and how its panels and lines are; ``key`` begins every id within it."""

    key: str
    title: str
    caption: Callable[[Panel], str]
    line: Callable[[Lane], str]
    note: str = ""


def group(panels: Sequence[Panel], appearance: Mapping[Lane, Look], naming: Naming, small: bool) -> Group:
    """``panels`` drawn, each with its own ids, under one legend of the lanes that appear."""
    draw: Draw = figures.small_svg if small else figures.panel_svg
    drawn = sorted({lane for panel in panels for lane in panel.lines})
    legend = tuple(
        LegendEntry(
            Markup(figures.swatch_svg(appearance[lane], f"{naming.key}-legend-{i}")),
            naming.line(lane),
        )
        for i, lane in enumerate(drawn)
    )
    views = []
    for i, panel in enumerate(panels):
        key, caption = f"{naming.key}-{i}", naming.caption(panel)
        picture = Markup(draw(panel, appearance, key, f"{naming.title}: {caption}"))
        views.append(FigureView(key, picture, caption, numbers(panel, naming.line)))
    return Group(naming.key, naming.title, naming.note, legend, tuple(views), small)


def numbers(panel: Panel, line: Callable[[Lane], str]) -> Numbers:
    """The panel's points as a table."""
    lanes = sorted(panel.lines)
    points = {(lane, point.size): point for lane in lanes for point in panel.lines[lane]}
    sizes = sorted({size for _, size in points}, key=lambda size: -1 if size is None else size)
    label = figures.axis_label(panel.axis)
    rows = [(label(s), tuple(number_of(points.get((lane, s))) for lane in lanes)) for s in sizes]
    return Numbers(panel.axis, tuple(line(lane) for lane in lanes), tuple(rows))


def number_of(point: Point | None) -> Number:
    """A point in words; a dash where there is none."""
    if point is None:
        return Number(number(None), "", 0, False)
    spread = "" if point.low is None else interval(point.low, point.high)
    return Number(number(point.estimate), spread, point.n, point.weak)


def curves(found: list[Panel], appearance: Mapping[Lane, Look]) -> tuple[list[Group], str]:
    """Latency and bandwidth of the ping-pong, a group per fabric, and the tool that measured them."""
    pingpong, tool = series.pingpong(found)
    result = []
    keys = slugs(sorted({lane.fabric for panel in pingpong for lane in panel.lines}), "curves")
    for fabric, key in keys.items():
        panels = [p for p in (series.on_fabric(panel, fabric) for panel in pingpong) if p.lines]
        panels.sort(key=lambda p: (p.facet, p.metric != "latency"))
        naming = Naming(
            key, fabric, lambda p: metric_caption(p, series.describe(p.facet)),
            lambda lane: lane.build,
        )  # fmt: skip
        result.append(group(panels, appearance, naming, small=False))
    return result, tool


def collectives(found: list[Panel], appearance: Mapping[Lane, Look]) -> list[Group]:
    """Every other benchmark with message sizes: small panels, one group per tool, all lanes together."""
    panels = series.others(found)
    keys = slugs(sorted({p.facet.tool for p in panels}), "benchmarks")
    return [
        group(
            [p for p in panels if p.facet.tool == tool],
            appearance,
            Naming(
                key, f"Other benchmarks of {tool}",
                lambda p: metric_caption(p, series.describe(p.facet, tool=False)), lambda lane: lane.name,
            ),
            small=True,
        )
        for tool, key in keys.items()
    ]  # fmt: skip


def metric_caption(panel: Panel, what: str) -> str:
    """What a panel shows, and of ``what``."""
    return f"{panel.metric.replace('_', ' ').capitalize()} in {unit(panel.unit)}: {what}"
