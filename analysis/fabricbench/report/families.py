# SPDX-License-Identifier: Apache-2.0
"""Draws the project's own benchmarks by section of the page, over the message size or over a part of the case.

The record of each benchmark names its section and its pictures (``parsers/tools/micro/benchmarks.json``).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro.description import MEASURED, Picture, Section
from fabricbench.parsers.tools.micro.description import TOOL as OWN
from fabricbench.report.facets import Line, Panel, describe, ends_of_scales
from fabricbench.report.formatting import size_label
from fabricbench.report.groups import Group, Naming, group, metric_caption
from fabricbench.report.loggp import PLOGP
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName


@dataclass(frozen=True, slots=True)
class FamilyView:
    """A section with its drawings; ``loggp``: the table of LogGP's parameters belongs to it."""

    key: str
    title: str
    group: Group
    loggp: bool


def sections() -> list[Section]:
    """Every section with a picture of a benchmark of the project, in the order of the page."""
    drawn = [benchmark.section for benchmark in MEASURED.values() if benchmark.pictures and benchmark.section]
    by_key = {section.key: section for section in reversed(drawn)}
    return sorted(by_key.values(), key=lambda section: section.place)


def pictures(section: str = "") -> list[tuple[str, Picture]]:
    """Benchmark and picture of one section, or of all: the first picture of every benchmark before any second one."""
    result = [
        (place, benchmark.name, picture)
        for benchmark in MEASURED.values()
        for place, picture in enumerate(benchmark.pictures)
        if benchmark.section and section in ("", benchmark.section.key)
    ]
    return [(name, picture) for _, name, picture in sorted(result, key=lambda one: one[0])]


def families(measured: Sequence[Panel], styles: Mapping[LaneName, LaneStyle]) -> list[FamilyView]:
    """The sections whose benchmarks were measured."""
    views = []
    for section in sections():
        every = [panel for name, picture in pictures(section.key) for panel in _panels(name, picture, measured)]
        if panels := ends_of_scales(every):
            title = section.title or section.key.replace("-", " ").capitalize()
            naming = Naming(f"family-{section.key}", title, _caption, lambda lane: lane.name, section.note)
            loggp = any(name in PLOGP for name, _ in pictures(section.key))
            views.append(FamilyView(section.key, title, group(panels, styles, naming, small=True), loggp))
    return views


def compared(measured: Sequence[Panel]) -> list[Panel]:
    """The panels by which stacks are compared: main metrics over the message size."""
    sized = [(name, picture) for section in sections() for name, picture in pictures(section.key) if not picture.over]
    main = [(name, picture) for name, picture in sized if METRICS[picture.metric].main]
    return ends_of_scales([panel for name, picture in main for panel in _panels(name, picture, measured)])


def _caption(panel: Panel) -> str:
    return metric_caption(panel, describe(panel.facet, tool=False))


def _panels(benchmark: str, picture: Picture, measured: Sequence[Panel]) -> list[Panel]:
    """The panels of a picture, in order of case."""
    only = case_parts(picture.only)
    matches = [
        panel
        for panel in measured
        if (panel.facet.tool, panel.facet.benchmark, panel.metric) == (OWN, benchmark, picture.metric)
        and only.items() <= case_parts(panel.facet.case).items()
    ]
    return (
        [panel for size in picture.sizes for panel in _over(picture.over, size, matches)] if picture.over else matches
    )


def _over(key: str, size: int, panels: Sequence[Panel]) -> list[Panel]:
    """Panels whose horizontal axis is the value of ``key``, at one message size: one for each case without ``key``."""
    lines: dict[tuple[str, int, int], dict[LaneName, Line]] = defaultdict(dict)
    pattern: dict[tuple[str, int, int], Panel] = {}
    for panel in panels:
        case = case_parts(panel.facet.case)
        amount = case.pop(key, "")
        if not amount.isdecimal():
            continue
        rest = canonical_case(dict(case))
        where = (rest, panel.facet.ranks, panel.facet.nodes)
        pattern[where] = panel
        for lane, line in panel.lines.items():
            points = [replace(point, size=int(amount)) for point in line if point.size == size]
            lines[where][lane] = (*lines[where].get(lane, ()), *points)
    result = []
    for where in sorted(lines):
        facet = replace(pattern[where].facet, case=f"{where[0]} {size_label(size)}".strip())
        curves = {
            lane: tuple(sorted(line, key=lambda point: point.size or 0)) for lane, line in lines[where].items() if line
        }
        if curves:
            result.append(replace(pattern[where], facet=facet, lines=curves, axis=key))
    return result
