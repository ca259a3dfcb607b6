# SPDX-License-Identifier: Apache-2.0
"""The own micro-benchmarks by family, drawn as the papers draw them: over message size, or over what was varied."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.metrics import METRICS
from fabricbench.report.groups import Group, Naming, group, metric_caption
from fabricbench.report.series import OWN, Line, Panel, describe
from fabricbench.report.style import Lane, LaneStyle
from fabricbench.report.words import size_label


@dataclass(frozen=True, slots=True)
class Picture:
    """A metric of a benchmark, a panel per case that agrees with ``case``.

    ``over``: the key of the case that runs along the horizontal axis in place of the message size; then there is a
    panel for each of ``sizes``.
    """

    benchmark: str
    metric: str
    case: Mapping[str, str] = field(default_factory=dict)
    over: str = ""
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """A section of the page."""

    key: str
    title: str
    note: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class FamilyView:
    """A family with its drawings."""

    key: str
    title: str
    group: Group


COLLECTIVES = ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter")
WINDOWS = ("unidirectional", "bidirectional", "bothway")

FAMILIES = (
    Family(
        "windows", "Windows of messages",
        "64 non-blocking messages at once: one way with an acknowledgement, both ways with receives posted first, both "
        "ways with sends posted first (Rashti 2007, figure 4). Bandwidth counts both directions.",
        (
            *(Picture(name, "bandwidth", {"window": "64"}) for name in WINDOWS),
            Picture("unidirectional", "bandwidth", {"window": "1"}),
            Picture("unidirectional", "message_rate", {"window": "64"}),
        ),
    ),
    Family(
        "one-sided", "One-sided transfers",
        "One transfer with its synchronisation, and 64 with one (Narravula 2007, figure 5).",
        (
            *(Picture(name, "latency") for name in ("put", "get")),
            *(Picture(name, "bandwidth") for name in ("put", "get")),
        ),
    ),
    Family(
        "plogp", "P-LogP and LogGP",
        "Overheads of sender and receiver and the gap between messages (Rashti 2007, figure 5). The table has LogGP's "
        "parameters: L, o and g of the smallest message; G by protocol, from the slopes of the skip.",
        tuple(Picture("plogp", name) for name in ("send_overhead", "receive_overhead", "gap")),
    ),
    Family(
        "reuse", "Buffer re-use",
        "Latency without re-use of buffers over latency with full re-use (Rashti 2007, figure 6): what a message costs "
        "more where every one has a buffer that the stack has not seen lately.",
        (Picture("reuse", "latency_ratio", {"reuse": "0"}), Picture("reuse", "latency_ratio", {"reuse": "50"})),
    ),
    Family(
        "queues", "Message queues",
        "Latency past a queue over latency without one (Rashti 2007, figures 7 and 8): 1024 unexpected messages, or "
        "1024 posted receives that do not match; and of 8 bytes over the length of the queue.",
        (
            *(Picture(name, "latency_ratio", {"queued": "1024"}) for name in ("unexpected", "posted")),
            *(
                Picture(name, "latency_ratio", over="queued", sizes=(8,))
                for name in ("unexpected", "posted")
            ),
        ),
    ),
    Family(
        "multiconn", "Many connections",
        "A pair of ranks over many connections at once (Rashti 2007, figure 2): half round trip of all together over "
        "their number, and both-way throughput. A connection is a communicator on MPI stacks, a pair of endpoints on "
        "libfabric.",
        (
            Picture("multiconn", "normalised_latency", over="connections", sizes=(1, 512, 32768)),
            Picture("multiconn", "bandwidth", over="connections", sizes=(1, 512, 32768)),
        ),
    ),
    Family(
        "overlap", "Overlap and progress",
        "What is saved by computing beside a transfer, as a share of the shorter of the two: 1 hides it, 0 does not. "
        "Overlap computes as long as the transfer takes; progress four times as long, without calls or with calls of "
        "MPI_Test.",
        (Picture("overlap", "overlap"), Picture("progress", "progress"), Picture("progress", "progress_tested")),
    ),
    Family(
        "hotspot", "Hot spot",
        "All ranks to one at once.",
        (Picture("hotspot", "latency"), Picture("hotspot", "bandwidth")),
    ),
    Family(
        "collectives", "Collectives, own",
        "Mean over ranks of each rank's median, a barrier before every call.",
        tuple(Picture(name, "time") for name in COLLECTIVES),
    ),
)  # fmt: skip


def families(found: Sequence[Panel], styles: Mapping[Lane, LaneStyle]) -> list[FamilyView]:
    """Every family that was measured, in the order of ``FAMILIES``."""
    views = []
    for family in FAMILIES:
        panels = [panel for picture in family.pictures for panel in _panels(picture, found)]
        if panels:
            naming = Naming(f"family-{family.key}", family.title, _caption, lambda lane: lane.name, family.note)
            views.append(FamilyView(family.key, family.title, group(panels, styles, naming, small=True)))
    return views


def compared(found: Sequence[Panel]) -> list[Panel]:
    """What stacks are compared by: the panels over message size of main metrics."""
    sized = [picture for family in FAMILIES for picture in family.pictures if not picture.over]
    return [panel for picture in sized if METRICS[picture.metric].main for panel in _panels(picture, found)]


def _caption(panel: Panel) -> str:
    return metric_caption(panel, describe(panel.facet, tool=False))


def _panels(picture: Picture, found: Sequence[Panel]) -> list[Panel]:
    """The panels of a picture, in order of case."""
    chosen = [
        panel
        for panel in found
        if (panel.facet.tool, panel.facet.benchmark, panel.metric) == (OWN, picture.benchmark, picture.metric)
        and picture.case.items() <= case_parts(panel.facet.case).items()
    ]
    return [one for size in picture.sizes for one in _over(picture.over, size, chosen)] if picture.over else chosen


def _over(key: str, size: int, panels: Sequence[Panel]) -> list[Panel]:
    """``panels``, which differ in ``key`` alone or in more, at one message size: their values over that of ``key``."""
    lines: dict[tuple[str, int, int], dict[Lane, Line]] = defaultdict(dict)
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
        drawn = {
            lane: tuple(sorted(line, key=lambda point: point.size or 0)) for lane, line in lines[where].items() if line
        }
        if drawn:
            result.append(replace(pattern[where], facet=facet, lines=drawn, axis=key))
    return result
