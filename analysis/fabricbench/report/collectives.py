# SPDX-License-Identifier: Apache-2.0
"""The report's section of scales: curves over ranks, heat maps of scale x size, and the cost of sharing a node."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fabricbench.report.facets import MANY_SCALES, Measured, Point, suffices
from fabricbench.report.formatting import size_label, slugs
from fabricbench.report.groups import Group, LegendEntry, Naming, Number, group, number_of
from fabricbench.report.over_ranks import chosen_sizes, collective_panels
from fabricbench.report.scale_map import legend, scale_map, scale_map_svg
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName
from fabricbench.verdict.scaling import CollectiveTime, collective_metric, collective_times
from fabricbench.verdict.sharing import SharingCost, sharing_costs

_Ratios = dict[tuple[int, int, str, int], float]
_Subject = tuple[str, str, str]
"""Tool, benchmark and case."""


@dataclass(frozen=True, slots=True)
class MapView:
    """A heat map with its caption."""

    key: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class CollectiveView:
    """One collective of one tool: its curves over ranks, and its heat maps."""

    group: Group
    maps: tuple[MapView, ...]


@dataclass(frozen=True, slots=True)
class SharingRow:
    """The time on a lane over the time on its variant with shared memory inside the nodes."""

    what: str
    lane: str
    variant: str
    scale: str
    ratio: Number


@dataclass(frozen=True, slots=True)
class ScalesView:
    """The section; ``legend``: of the heat maps. ``sharing``: on the largest scale of each benchmark and size."""

    collectives: tuple[CollectiveView, ...]
    legend: tuple[LegendEntry, ...]
    sharing: tuple[SharingRow, ...]

    @property
    def shown(self) -> bool:
        """Whether the section has any content."""
        return bool(self.collectives or self.sharing)


def scales_view(cells: Measured, styles: Mapping[LaneName, LaneStyle], confidence: float) -> ScalesView:
    """Returns the section: the collectives on ``MANY_SCALES`` or more, in order of tool and name."""
    by_subject: dict[_Subject, list[CollectiveTime]] = defaultdict(list)
    for row in collective_times(cells, confidence):
        by_subject[row.tool, row.benchmark, row.case].append(row)
    costs = sharing_costs(cells, confidence)
    subjects = [subject for subject, rows in sorted(by_subject.items()) if _on_many_scales(rows)]
    anchors = slugs(map(_title, subjects), "scales")
    views = []
    for subject in subjects:
        of_subject = [cost for cost in costs if (cost.tool, cost.benchmark, cost.case) == subject]
        views.append(_collective(by_subject[subject], of_subject, anchors[_title(subject)], styles, confidence))
    sizes = {subject: chosen_sizes(rows) for subject, rows in by_subject.items()}
    return ScalesView(tuple(views), legend(), tuple(_sharing_rows(costs, sizes, confidence)))


def _on_many_scales(rows: Sequence[CollectiveTime]) -> bool:
    scales: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for row in rows:
        scales[row.lane].add((row.nodes, row.ranks))
    return any(len(of_lane) >= MANY_SCALES for of_lane in scales.values())


def _title(subject: _Subject) -> str:
    tool, benchmark, case = subject
    return f"{benchmark}{f' {case}' if case else ''}, {tool}"


def _collective(
    rows: Sequence[CollectiveTime],
    costs: Sequence[SharingCost],
    anchor: str,
    styles: Mapping[LaneName, LaneStyle],
    confidence: float,
) -> CollectiveView:
    title = _title((rows[0].tool, rows[0].benchmark, rows[0].case))
    panels = collective_panels(rows, chosen_sizes(rows), confidence)
    slowest = " of the slowest rank" if collective_metric(rows[0].benchmark) == "time_max" else ""
    naming = Naming(anchor, title, lambda panel: f"Time{slowest} in µs: {panel.facet.case}", lambda lane: lane.name)
    maps: list[MapView] = []
    for caption, ratios in (*_maps_of_times(rows), *_maps_of_sharing(costs)):
        key = f"{anchor}-map-{len(maps)}"
        picture = scale_map_svg(scale_map(ratios), key, f"{title}: {caption}")
        maps.append(MapView(key, caption, Markup(picture)))
    return CollectiveView(group(panels, styles, naming, small=True), tuple(maps))


def _maps_of_times(rows: Sequence[CollectiveTime]) -> Iterable[tuple[str, _Ratios]]:
    """Yields a map for each lane: time over the model's, or over the time on the smallest scale without a model."""
    by_lane: dict[str, list[CollectiveTime]] = defaultdict(list)
    for row in rows:
        if row.msg_size_bytes and row.time is not None:
            by_lane[row.lane].append(row)
    for lane, of_lane in sorted(by_lane.items()):
        if any(row.over_model is not None for row in of_lane):
            with_model = {_place(row): row.over_model for row in of_lane if row.over_model is not None}
            yield f"{lane}: time over the model’s", with_model
            continue
        smallest = min(of_lane, key=lambda row: (row.ranks, row.nodes))
        base = {row.msg_size_bytes: row.time for row in of_lane if row.scale == smallest.scale}
        ratios = {
            _place(row): row.time / one
            for row in of_lane
            if (one := base.get(row.msg_size_bytes)) and row.time is not None and row.scale != smallest.scale
        }
        if ratios:
            yield f"{lane}: time over that on {smallest.scale}", ratios


def _maps_of_sharing(costs: Sequence[SharingCost]) -> Iterable[tuple[str, _Ratios]]:
    by_lane: dict[tuple[str, str], _Ratios] = defaultdict(dict)
    for cost in costs:
        if cost.msg_size_bytes:
            by_lane[cost.lane, cost.variant][_place(cost)] = cost.ratio
    for (lane, variant), ratios in sorted(by_lane.items()):
        yield f"{lane} over {variant}: cost of sharing a node", ratios


def _place(row: CollectiveTime | SharingCost) -> tuple[int, int, str, int]:
    return -(-row.ranks // row.nodes), row.ranks, row.scale, row.msg_size_bytes or 0


def _sharing_rows(
    costs: Sequence[SharingCost], sizes: Mapping[_Subject, Sequence[int | None]], confidence: float
) -> Iterable[SharingRow]:
    """Yields a row for each benchmark, size of its curves, and lane, on the largest scale."""
    largest: dict[tuple[str, str, str, int | None, str], SharingCost] = {}
    for cost in costs:
        subject = (cost.tool, cost.benchmark, cost.case)
        if cost.msg_size_bytes in sizes.get(subject, (None,)):
            place = (*subject, cost.msg_size_bytes, cost.lane)
            known = largest.get(place)
            if known is None or (known.ranks, known.nodes) < (cost.ranks, cost.nodes):
                largest[place] = cost
    for cost in sorted(largest.values(), key=lambda one: (one.tool, one.benchmark, one.case, one.msg_size_bytes or 0)):
        size = "" if cost.msg_size_bytes is None else f" {size_label(cost.msg_size_bytes)}"
        what = " ".join(word for word in (cost.tool, cost.benchmark, cost.case) if word) + size
        low, high = (cost.low, cost.high) if suffices(cost.confidence, confidence) else (None, None)
        number = number_of(Point(None, cost.ratio, low, high, cost.n))
        yield SharingRow(what, cost.lane, cost.variant, cost.scale, number)
