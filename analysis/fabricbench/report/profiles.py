# SPDX-License-Identifier: Apache-2.0
"""The section of profiles: time in MPI by function, rank and message size on each lane, and whether it is confirmed."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fabricbench.launch.record import Agreement
from fabricbench.parsers.tau.rows import RankShares
from fabricbench.report.applications import heading
from fabricbench.report.facets import Facet
from fabricbench.report.formatting import amount, duration, enumerate_words, interval, number, percent, plural, slugs
from fabricbench.report.groups import Number
from fabricbench.report.links import Launches, Link
from fabricbench.report.profile_figures import Bar, call_label, colours, ranks_svg, sizes_svg, time_svg
from fabricbench.stats.interval import Interval
from fabricbench.verdict.profiles import CallTotals, ProfileState, ProfileSummary, WitnessTotals, has_confidence

RanksOf = Callable[[str], RankShares | None]
"""Returns the shares by rank of the launch in a directory; None if they are unknown."""

_TAGS: dict[ProfileState, tuple[str, str]] = {
    "usable": ("pass", "✓"),
    "disputed": ("fail", "✗"),
    "not used": ("inconclusive", "–"),
    "unpaired": ("inconclusive", "?"),
    "no launch": ("invalid", "⊘"),
}
_WITNESSES = {"timers": "timers of the application", "sockets": "bytes on the sockets", "imports": "imported functions"}


@dataclass(frozen=True, slots=True)
class CallRow:
    """One MPI function on one lane, as text."""

    call: str
    calls: str
    seconds: str
    seconds_max: str
    share: str
    bytes: str
    message: str


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """One witness of one lane; the numbers are those of its worst launch. ``launches``: how many of them agree."""

    lane: str
    witness: str
    what: str
    profile: str
    other: str
    limits: str
    launches: str
    agrees: bool
    link: Link


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """The profile of one lane. ``tag``, ``symbol``: how its ``state`` is shown; ``notes``: the reasons for it."""

    lane: str
    profiler: str
    state: str
    tag: str
    symbol: str
    notes: tuple[str, ...]
    share: Number
    ranks: str
    dilation: Number
    launches: int
    calls: tuple[CallRow, ...]
    others: tuple[tuple[Link, str], ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The message sizes of lanes that have the same numbers of calls."""

    key: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class ProfileView:
    """The profiles of one problem on a number of ranks. ``ranks``: the strips by rank, empty if they are unknown."""

    anchor: str
    title: str
    time: Markup
    ranks: Markup
    rows: tuple[ProfileRow, ...]
    sizes: tuple[Sizes, ...]
    witnesses: tuple[WitnessRow, ...]
    barriers: str


def profile_views(
    summaries: Sequence[ProfileSummary], launches: Launches, ranks_of: RanksOf | None = None
) -> list[ProfileView]:
    """A view for every problem and number of ranks. ``ranks_of``: reads the shares by rank; None: they are omitted."""
    groups: dict[str, list[ProfileSummary]] = defaultdict(list)
    for one in summaries:
        key = one.key
        facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
        title = f"{heading(facet)}, {plural(key.ranks, 'rank')} on {plural(key.nodes, 'node')}"
        groups[title].append(one)
    anchors = slugs(groups, "profile")
    return [_view(title, anchors[title], group, launches, ranks_of) for title, group in groups.items()]


def _view(
    title: str, key: str, group: Sequence[ProfileSummary], launches: Launches, ranks_of: RanksOf | None
) -> ProfileView:
    labels = _labels(group)
    measured = {label: one for label, one in zip(labels, group, strict=True) if one.launches}
    bars = [_bar(label, one) for label, one in measured.items()]
    palette = colours(bars)
    by_rank = {label: ranks_of(one.median_launch) if ranks_of else None for label, one in measured.items()}
    strips = {label: shares for label, shares in by_rank.items() if shares is not None}
    return ProfileView(
        anchor=key,
        title=title,
        time=Markup(time_svg(bars, palette, f"{key}-time", f"{title}: time by MPI function")) if bars else Markup(),
        ranks=Markup(ranks_svg(strips, palette, f"{key}-ranks", f"{title}: time in MPI by rank"))
        if strips
        else Markup(),
        rows=tuple(_row(label, one, launches) for label, one in zip(labels, group, strict=True)),
        sizes=tuple(_sizes(measured, key, title)),
        witnesses=tuple(
            _witness(label, item, launches) for label, one in zip(labels, group, strict=True) for item in one.witnesses
        ),
        barriers=enumerate_words(label for label, one in measured.items() if one.separates_waiting),
    )


def _labels(group: Sequence[ProfileSummary]) -> list[str]:
    """The lanes, with the profiler where a lane has profiles of several."""
    lanes = [one.key.lane.name for one in group]
    return [
        lane if lanes.count(lane) == 1 else f"{lane}, {one.key.profiler}"
        for lane, one in zip(lanes, group, strict=True)
    ]


def _bar(label: str, one: ProfileSummary) -> Bar:
    return Bar(label, one.profiled_time or 0.0, {call.call: call.share for call in one.calls if call.share is not None})


def _row(label: str, one: ProfileSummary, launches: Launches) -> ProfileRow:
    tag, symbol = _TAGS[one.state]
    spread = (one.share_min, one.share_max)
    return ProfileRow(
        lane=label,
        profiler=one.key.profiler,
        state=one.state,
        tag=tag,
        symbol=symbol,
        notes=(*one.reasons, *([one.note] if one.note else [])),
        share=_number(one.mpi_share, one.confidence, percents=True),
        ranks=percent(None) if None in spread else " to ".join(map(percent, spread)),
        dilation=_number(one.dilation, one.confidence),
        launches=len(one.launches),
        calls=tuple(map(_call, one.calls)),
        others=tuple((launches.link(name), reason) for name, reason in one.others),
    )


def _number(value: Interval, confidence: float, *, percents: bool = False) -> Number:
    """The estimate with its interval, which is empty if it has too little confidence."""
    low, high = (value.low, value.high) if has_confidence(value, confidence) else (None, None)
    if percents:
        spread = "" if low is None or high is None else f"{percent(low)} to {percent(high)}"
        return Number(percent(value.estimate), spread, value.n, False)
    return Number(number(value.estimate, 3), "" if low is None else interval(low, high, 3), value.n, False)


def _call(call: CallTotals) -> CallRow:
    total = None if call.bytes is None else round(call.bytes)
    message = None if total is None or not call.calls else round(total / call.calls)
    return CallRow(
        call=" + ".join(call_label(name) for name in call.call.split("+")),
        calls=number(None) if call.calls is None else number(round(call.calls)),
        seconds=duration(call.seconds),
        seconds_max=duration(call.seconds_max),
        share=percent(call.share),
        bytes=amount(total),
        message=amount(message),
    )


def _witness(label: str, item: WitnessTotals, launches: Launches) -> WitnessRow:
    worst = item.worst
    return WitnessRow(
        lane=label,
        witness=_WITNESSES[worst.witness],
        what=": ".join(part for part in (worst.what, worst.reason) if part),
        profile=_quantity(worst.profile, worst),
        other=_quantity(worst.other, worst),
        limits=f"{_quantity(worst.least, worst)} to {_quantity(worst.most, worst)}",
        launches=f"{item.agreeing} of {item.launches}",
        agrees=item.agrees,
        link=launches.link(item.worst_launch),
    )


def _quantity(value: float, item: Agreement) -> str:
    if item.unit == "B":
        return amount(round(value))
    return duration(value, 4) if item.unit == "s" else f"{number(round(value))}\u202f{item.unit}"


def _sizes(measured: Mapping[str, ProfileSummary], key: str, title: str) -> Iterator[Sizes]:
    """Yields one figure for each set of lanes with the same numbers of calls."""
    lanes: dict[tuple[tuple[str, tuple[tuple[int, float], ...]], ...], list[str]] = defaultdict(list)
    for label, one in measured.items():
        lanes[tuple(sorted((call.call, call.by_size) for call in one.calls if call.by_size))].append(label)
    for at, (counts, labels) in enumerate(lanes.items()):
        if counts:
            by_call = {call: dict(by_size) for call, by_size in _by_calls(counts)}
            name = f"{key}-sizes-{at}"
            caption = "all lanes" if len(labels) == len(measured) > 1 else ", ".join(labels)
            yield Sizes(name, caption, Markup(sizes_svg(by_call, name, f"{title}: calls by message size, {caption}")))


def _by_calls(
    counts: Sequence[tuple[str, tuple[tuple[int, float], ...]]],
) -> list[tuple[str, tuple[tuple[int, float], ...]]]:
    """The functions, the one with the most calls first."""
    return sorted(counts, key=lambda item: (-sum(count for _, count in item[1]), item[0]))
