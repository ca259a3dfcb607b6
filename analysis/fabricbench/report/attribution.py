# SPDX-License-Identifier: Apache-2.0
"""The section of attributions: where the run time of each application goes on every lane, and why two lanes differ."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from fabricbench.models.parts import PARTS
from fabricbench.report.applications import heading
from fabricbench.report.attribution_changes import Waterfall, waterfall_svg
from fabricbench.report.attribution_figures import ShareBar, Strip, ranks_svg, shares_svg
from fabricbench.report.facets import Facet
from fabricbench.report.formatting import duration, enumerate_words, number, percent, plural, slugs
from fabricbench.report.groups import Number
from fabricbench.stats.interval import Interval
from fabricbench.verdict.attribution import Attribution
from fabricbench.verdict.attribution_pairs import difference, first_pairs
from fabricbench.verdict.attribution_words import PART_NAMES, sentence
from fabricbench.verdict.profiles import has_confidence

ACCEPTABLE = 0.8
"""Efficiencies from here on are acceptable. Source: POP, Standard Metrics for Performance Analysis."""

_EFFICIENCIES = (
    "parallel_efficiency", "load_balance", "communication_efficiency", "serialisation_efficiency",
    "transfer_efficiency",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaneRow:
    """The attribution of one lane: the sentence, and what stands beside it."""

    lane: str
    sentence: str
    label: str
    seconds: Number
    mpi: Number
    closing_error: Number
    dilation: Number
    unexplained: Number
    blocks: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A curve that the campaign lacks on some lanes, and the command that measures it."""

    lanes: str
    curve: str
    command: str


@dataclass(frozen=True, slots=True)
class EfficiencyCell:
    """An efficiency as text and as a bar from 0 to 1. ``low``, ``high``: limits of the interval, 0 to 1.

    ``below``: whether the whole interval is below ``ACCEPTABLE``.
    """

    number: Number
    estimate: float
    low: float
    high: float
    below: bool


@dataclass(frozen=True, slots=True)
class PartsRow:
    """The parts of one function on one lane, as text in the order of the columns."""

    lane: str
    call: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its caption."""

    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class AttributionView:
    """The attributions of one problem on a number of ranks."""

    anchor: str
    title: str
    rows: tuple[LaneRow, ...]
    missing: tuple[Missing, ...]
    shares: Markup
    ranks: Markup
    efficiencies: tuple[tuple[str, tuple[EfficiencyCell | None, ...]], ...]
    waterfalls: tuple[Figure, ...]
    calls: tuple[PartsRow, ...]


EFFICIENCY_NAMES = tuple(name.removesuffix("_efficiency").replace("_", " ") for name in _EFFICIENCIES)
PART_COLUMNS = tuple(PART_NAMES[name] for name in PARTS if name != "computation")


def attribution_views(attributions: Sequence[Attribution], confidence: float) -> list[AttributionView]:
    """Returns a view for every problem and number of ranks, in the order of the attributions."""
    groups: dict[str, list[Attribution]] = defaultdict(list)
    for one in attributions:
        key = one.key
        facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
        groups[f"{heading(facet)}, {plural(key.ranks, 'rank')} on {plural(key.nodes, 'node')}"].append(one)
    anchors = slugs(groups, "attribution")
    return [_view(title, anchors[title], group, confidence) for title, group in groups.items()]


def _view(title: str, key: str, group: Sequence[Attribution], confidence: float) -> AttributionView:
    labels = _labels(group)
    measured = {label: one for label, one in zip(labels, group, strict=True) if one.blocks}
    bars = [_bar(label, one) for label, one in measured.items()]
    strips = [strip for label, one in measured.items() if (strip := _strip(label, one))]
    return AttributionView(
        anchor=key,
        title=title,
        rows=tuple(_row(label, one, confidence) for label, one in measured.items()),
        missing=tuple(_missing(labels, group)),
        shares=Markup(shares_svg(bars, f"{key}-shares", f"{title}: parts of the time by lane")) if bars else Markup(),
        ranks=Markup(ranks_svg(strips, f"{key}-ranks", f"{title}: parts of the time by rank")) if strips else Markup(),
        efficiencies=tuple((label, _efficiencies(one, confidence)) for label, one in measured.items()),
        waterfalls=tuple(_waterfalls(measured, key, title, confidence)),
        calls=tuple(row for label, one in measured.items() for row in _calls(label, one)),
    )


def _labels(group: Sequence[Attribution]) -> list[str]:
    """The lanes, with the profiler where a lane has attributions of several."""
    lanes = [one.key.lane.name for one in group]
    return [
        lane if lanes.count(lane) == 1 else f"{lane}, {one.key.profiler}"
        for lane, one in zip(lanes, group, strict=True)
    ]


def _bar(label: str, one: Attribution) -> ShareBar:
    shares = {name: one.shares[name].estimate or 0.0 for name in PARTS if name in one.shares}
    return ShareBar(label, one.seconds.estimate or 0.0, shares)


def _strip(label: str, one: Attribution) -> Strip | None:
    seconds = one.seconds.estimate
    if not seconds or not one.ranks:
        return None
    return Strip(label, {name: np.array([getattr(rank, name) / seconds for rank in one.ranks]) for name in PARTS})


def _row(label: str, one: Attribution, confidence: float) -> LaneRow:
    computation = one.shares["computation"]
    return LaneRow(
        lane=label,
        sentence=sentence(one),
        label=PART_NAMES.get(one.label, one.label),
        seconds=_number(one.seconds, confidence, duration),
        mpi=_number(_complement(computation), confidence, percent),
        closing_error=_number(one.closing_error, confidence, percent),
        dilation=_number(one.dilation, confidence, _ratio),
        unexplained=_number(one.unexplained, confidence, percent),
        blocks=len(one.blocks),
        notes=one.notes,
    )


def _number(value: Interval, confidence: float, text: Callable[[float | None], str] = number) -> Number:
    """The estimate with its interval, which is empty if it has too little confidence."""
    if value.low is None or value.high is None or not has_confidence(value, confidence):
        return Number(text(value.estimate), "", value.n, False)
    return Number(text(value.estimate), f"{text(value.low)} to {text(value.high)}", value.n, False)


def _ratio(value: float | None) -> str:
    return number(value, 3)


def _complement(share: Interval) -> Interval:
    """The interval of 1 minus the share."""
    low, value, high = (None if one is None else 1 - one for one in (share.high, share.estimate, share.low))
    return replace(share, estimate=value, low=low, high=high)


def _missing(labels: Sequence[str], group: Sequence[Attribution]) -> Iterator[Missing]:
    lanes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for label, one in zip(labels, group, strict=True):
        for item in one.missing:
            lanes[item].append(label)
    for (curve, command), names in lanes.items():
        yield Missing(enumerate_words(names), curve, command)


def _efficiencies(one: Attribution, confidence: float) -> tuple[EfficiencyCell | None, ...]:
    return tuple(_efficiency(one.efficiencies, name, confidence) for name in _EFFICIENCIES)


def _efficiency(values: Mapping[str, Interval], name: str, confidence: float) -> EfficiencyCell | None:
    """The cell of one efficiency; None if it is unknown."""
    least, most = (values.get(name, values.get(f"{name}_{end}")) for end in ("low", "high"))
    if least is None or most is None or least.estimate is None or most.estimate is None:
        return None
    known = has_confidence(least, confidence) and has_confidence(most, confidence)
    low, high = (least.low, most.high) if known else (None, None)
    text = _ratio(least.estimate)
    if least.estimate != most.estimate:
        text += f" to {_ratio(most.estimate)}"
    low, high = least.estimate if low is None else low, most.estimate if high is None else high
    return EfficiencyCell(
        number=Number(text, f"{_ratio(low)} to {_ratio(high)}" if known else "", least.n, False),
        estimate=(least.estimate + most.estimate) / 2,
        low=min(1.0, max(0.0, low)),
        high=min(1.0, max(0.0, high)),
        below=high < ACCEPTABLE,
    )


def _waterfalls(measured: Mapping[str, Attribution], key: str, title: str, confidence: float) -> Iterator[Figure]:
    labels = {id(one): label for label, one in measured.items()}
    for at, (base, other) in enumerate(first_pairs(list(measured.values()))):
        change = difference(base, other, confidence)
        if change is None:
            continue
        names = labels[id(base)], labels[id(other)]
        fall = Waterfall(*names, change.base, change.other, tuple(change.parts.items()))
        caption = f"{names[1]} over {names[0]}"
        yield Figure(caption, Markup(waterfall_svg(fall, f"{key}-change-{at}", f"{title}: {caption}")))


def _calls(label: str, one: Attribution) -> Iterator[PartsRow]:
    for call, parts in one.calls.items():
        values = [getattr(parts, name) for name in PARTS if name != "computation"]
        if any(values):
            yield PartsRow(label, call, tuple(duration(value) for value in (*values, sum(values))))
