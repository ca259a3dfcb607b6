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
from fabricbench.stats.median import median
from fabricbench.verdict.attribution import Attribution, Attributions, Refusal
from fabricbench.verdict.attribution_pairs import first_pairs
from fabricbench.verdict.difference import lane_difference
from fabricbench.verdict.profiles import ProfileKey, has_confidence
from fabricbench.verdict.sentences import WORDS, sentence

ACCEPTABLE = 0.8
"""Efficiencies from here on are acceptable. Source: POP, Standard Metrics for Performance Analysis."""

_EFFICIENCIES = (
    "parallel_efficiency", "load_balance", "communication_efficiency", "serialisation_efficiency",
    "transfer_efficiency",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LaneRow:
    """The attribution of one lane in a sentence, and its qualities. ``agreement``: the profile's witnesses."""

    lane: str
    sentence: str
    label: str
    seconds: Number
    mpi: Number
    closing_error: Number
    dilation: Number
    unexplained: Number
    agreement: str
    blocks: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Curves that the campaign lacks on some lanes, and the command that measures them."""

    lanes: str
    curves: str
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
    refused: tuple[tuple[str, str], ...]
    shares: Markup
    ranks: Markup
    efficiencies: tuple[tuple[str, tuple[EfficiencyCell | None, ...]], ...]
    waterfalls: tuple[Figure, ...]
    calls: tuple[PartsRow, ...]


EFFICIENCY_NAMES = tuple(name.removesuffix("_efficiency").replace("_", " ") for name in _EFFICIENCIES)
PART_COLUMNS = tuple(WORDS[name] for name in PARTS if name != "computation")


def attribution_views(found: Attributions | None, confidence: float) -> list[AttributionView]:
    """Returns a view for every problem and number of ranks, in the order of the attributions."""
    groups: dict[str, tuple[list[Attribution], list[Refusal]]] = defaultdict(lambda: ([], []))
    for one in found.items if found else ():
        groups[_title(one.key)][0].append(one)
    for refused in found.refused if found else ():
        groups[_title(refused.key)][1].append(refused)
    anchors = slugs(groups, "attribution")
    return [_view(title, anchors[title], *group, confidence) for title, group in groups.items()]


def _title(key: ProfileKey) -> str:
    facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
    return f"{heading(facet)}, {plural(key.ranks, 'rank')} on {plural(key.nodes, 'node')}"


def _view(
    title: str, key: str, group: Sequence[Attribution], refused: Sequence[Refusal], confidence: float
) -> AttributionView:
    labels = _labels([*(one.key for one in group), *(one.key for one in refused)])
    attributed = dict(zip(labels, group, strict=False))
    measured = {label: one for label, one in attributed.items() if one.blocks}
    bars = [_bar(label, one) for label, one in measured.items()]
    strips = [strip for label, one in measured.items() if (strip := _strip(label, one))]
    return AttributionView(
        anchor=key,
        title=title,
        rows=tuple(_row(label, one, confidence) for label, one in measured.items()),
        missing=tuple(_missing(attributed)),
        refused=tuple((label, one.reason) for label, one in zip(labels[len(group) :], refused, strict=True)),
        shares=Markup(shares_svg(bars, f"{key}-shares", f"{title}: parts of the time by lane")) if bars else Markup(),
        ranks=Markup(ranks_svg(strips, f"{key}-ranks", f"{title}: parts of the time by rank")) if strips else Markup(),
        efficiencies=tuple((label, _efficiencies(one, confidence)) for label, one in measured.items()),
        waterfalls=tuple(_waterfalls(measured, key, title, confidence)),
        calls=tuple(row for label, one in measured.items() for row in _calls(label, one)),
    )


def _labels(keys: Sequence[ProfileKey]) -> list[str]:
    """The lanes, with the profiler where a lane has profiles of several."""
    lanes = [key.lane.name for key in keys]
    return [
        lane if lanes.count(lane) == 1 else f"{lane}, {key.profiler}" for lane, key in zip(lanes, keys, strict=True)
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
        label=one.label,
        seconds=_number(one.seconds, confidence, duration),
        mpi=_number(_complement(computation), confidence, percent),
        closing_error=_number(one.closing_error, confidence, percent),
        dilation=_number(one.dilation, confidence, _ratio),
        unexplained=_number(one.unexplained, confidence, percent),
        agreement=one.agreement,
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


def _missing(attributed: Mapping[str, Attribution]) -> Iterator[Missing]:
    """Yields the lacking curves, those with the same command together."""
    lanes: dict[str, dict[str, None]] = defaultdict(dict)
    curves: dict[str, dict[str, None]] = defaultdict(dict)
    for label, one in attributed.items():
        for curve, command in one.missing:
            lanes[command][label] = curves[command][curve] = None
    for command, names in lanes.items():
        yield Missing(enumerate_words(names), enumerate_words(curves[command]), command)


def _efficiencies(one: Attribution, confidence: float) -> tuple[EfficiencyCell | None, ...]:
    return tuple(_efficiency(one.efficiencies.get(name), confidence) for name in _EFFICIENCIES)


def _efficiency(value: Interval | None, confidence: float) -> EfficiencyCell | None:
    """The cell of one efficiency; None if it is unknown. Without an interval the bar ends at the estimate."""
    if value is None or value.estimate is None:
        return None
    shown = _number(value, confidence, _ratio)
    low, high = (value.low, value.high) if shown.interval else (None, None)
    low, high = value.estimate if low is None else low, value.estimate if high is None else high
    return EfficiencyCell(shown, _limited(value.estimate), _limited(low), _limited(high), high < ACCEPTABLE)


def _limited(value: float) -> float:
    return min(1.0, max(0.0, value))


def _waterfalls(measured: Mapping[str, Attribution], key: str, title: str, confidence: float) -> Iterator[Figure]:
    labels = {id(one): label for label, one in measured.items()}
    for at, (slow, fast) in enumerate(first_pairs(list(measured.values()))):
        change = lane_difference(slow, fast, confidence)
        if not change.blocks:
            continue
        base, other = labels[id(fast)], labels[id(slow)]
        steps = tuple((name, part) for name, part in change.parts.items() if part.estimate or part.low or part.high)
        fall = Waterfall(base, other, _mean_time(fast, change.blocks), _mean_time(slow, change.blocks), steps)
        caption = f"{other} minus {base}"
        yield Figure(
            f"{caption}: {_explained(change.explained)}",
            Markup(waterfall_svg(fall, f"{key}-change-{at}", f"{title}: {caption}")),
        )


def _mean_time(one: Attribution, blocks: Sequence[int]) -> float:
    """The median over blocks of the mean time of the ranks, in seconds."""
    return median([block.run.mean.total for block in one.blocks if block.block in blocks])


def _explained(share: Interval) -> str:
    if share.estimate is None:
        return "no difference beyond the interval"
    return f"{percent(share.estimate)} of the difference is explained"


def _calls(label: str, one: Attribution) -> Iterator[PartsRow]:
    for call, parts in one.calls.items():
        values = [getattr(parts, name) for name in PARTS if name != "computation"]
        if any(values):
            yield PartsRow(label, call, tuple(duration(value) for value in (*values, sum(values))))
