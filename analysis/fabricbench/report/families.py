# SPDX-License-Identifier: Apache-2.0
"""Draws the own benchmarks by section of the page, over the message size or over a part of the case.

The record of each benchmark names its section and its pictures (``parsers/tools/micro/benchmarks.json``).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro.description import MEASURED, Picture
from fabricbench.report.facets import OWN, Line, Panel, describe
from fabricbench.report.formatting import size_label
from fabricbench.report.groups import Group, Naming, group, metric_caption
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page. ``key``: the ``section`` of the benchmarks that it shows."""

    key: str
    title: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FamilyView:
    """A section with its drawings."""

    key: str
    title: str
    group: Group


SECTIONS = (
    Section(
        "windows", "Windows of messages",
        "64 non-blocking messages at once: one way with an acknowledgement, both ways with receives posted first, both "
        "ways with sends posted first (Rashti 2007, figure 4). Bandwidth counts both directions.",
    ),
    Section(
        "one-sided", "One-sided transfers",
        "One transfer with its synchronisation, and 64 with one (Narravula 2007, figure 5).",
    ),
    Section(
        "plogp", "P-LogP and LogGP",
        "Overheads of sender and receiver and the gap between messages (Rashti 2007, figure 5). The table has LogGP's "
        "parameters: L, o and g of the smallest message; G by protocol, from the slopes of the gap.",
    ),
    Section(
        "reuse", "Buffer re-use",
        "Latency without re-use of buffers over latency with full re-use (Rashti 2007, figure 6): the extra cost of a "
        "message whose buffer the stack has not used recently.",
    ),
    Section(
        "queues", "Message queues",
        "Latency past a queue over latency without one (Rashti 2007, figures 7 and 8): 1024 unexpected messages, or "
        "1024 posted receives that do not match; and of 8 bytes over the length of the queue.",
    ),
    Section(
        "multiconn", "Many connections",
        "A pair of ranks over many connections at once (Rashti 2007, figure 2): half round trip of all together over "
        "their number, and both-way throughput. A connection is a communicator on MPI stacks, a pair of endpoints on "
        "libfabric.",
    ),
    Section(
        "overlap", "Overlap and progress",
        "The time saved by computing beside a transfer, as a share of the shorter of the two: 1 hides it, 0 does not. "
        "Overlap computes as long as the transfer takes; progress four times as long, without calls or with calls of "
        "MPI_Test.",
    ),
    Section("hotspot", "Hot spot", "All ranks send to one rank at once."),
    Section("collectives", "Collectives, own", "Mean over ranks of each rank's median, a barrier before every call."),
)  # fmt: skip
"""The sections in the order of the page. A section that a benchmark names and this list lacks follows them."""


def sections() -> Iterator[Section]:
    """Every section that a benchmark names; the title of one that ``SECTIONS`` lacks is its key."""
    names = [benchmark.section for benchmark in MEASURED.values() if benchmark.pictures]
    yield from (section for section in SECTIONS if section.key in names)
    keys = {section.key for section in SECTIONS}
    for key in dict.fromkeys(names):
        if key not in keys:
            yield Section(key, key.replace("-", " ").capitalize())


def pictures(section: str = "") -> list[tuple[str, Picture]]:
    """Benchmark and picture of one section, or of all: the first picture of every benchmark before any second one."""
    result = [
        (place, benchmark.name, picture)
        for benchmark in MEASURED.values()
        for place, picture in enumerate(benchmark.pictures)
        if section in ("", benchmark.section)
    ]
    return [(name, picture) for _, name, picture in sorted(result, key=lambda one: one[0])]


def families(measured: Sequence[Panel], styles: Mapping[LaneName, LaneStyle]) -> list[FamilyView]:
    """The sections whose benchmarks were measured."""
    views = []
    for section in sections():
        panels = [panel for name, picture in pictures(section.key) for panel in _panels(name, picture, measured)]
        if panels:
            naming = Naming(f"family-{section.key}", section.title, _caption, lambda lane: lane.name, section.note)
            views.append(FamilyView(section.key, section.title, group(panels, styles, naming, small=True)))
    return views


def compared(measured: Sequence[Panel]) -> list[Panel]:
    """The panels by which stacks are compared: main metrics over the message size."""
    sized = [(name, picture) for section in sections() for name, picture in pictures(section.key) if not picture.over]
    main = [(name, picture) for name, picture in sized if METRICS[picture.metric].main]
    return [panel for name, picture in main for panel in _panels(name, picture, measured)]


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
