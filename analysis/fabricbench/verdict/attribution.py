# SPDX-License-Identifier: Apache-2.0
"""Attributes the run time of each profiled application of a campaign to computation, latency, bandwidth and waiting."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fabricbench.launch.record import Record
from fabricbench.models.attribution import CurveUse, attribute_run, curve_use
from fabricbench.models.curves import Curves, missing
from fabricbench.models.parts import PARTS, Parts, RunParts
from fabricbench.models.pop import Efficiencies, efficiencies
from fabricbench.parsers.tau.operations import RankOperations
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median
from fabricbench.verdict.curve_notes import curve_notes
from fabricbench.verdict.curves import LaneCurves, Place, lane_curves
from fabricbench.verdict.profiles import ProfileKey, ProfileSummary, has_confidence, profiles
from fabricbench.verdict.series import CellKey, Series, all_series

ABSENT_AT_MOST = 0.01
"""Operations whose curve is absent are rest if they take at most this share of the profiled time."""

LABELS = {
    "computation": "compute",
    "latency": "latency",
    "bandwidth": "bandwidth",
    "waiting": "imbalance",
    "undivided": "",
    "rest": "contention",
}
"""The label of each part of ``PARTS`` that dominates a run; undivided time has none."""

Operations = Callable[[Record], tuple[RankOperations, ...] | str]
"""Reads the operations by rank of a launch, or returns the reason why there are none."""


@dataclass(frozen=True, slots=True)
class BlockAttribution:
    """The parts of the run time of one profiled launch, from the curves that its block measured.

    ``launch``: its directory. ``run``: the parts by rank. ``run_time``, ``timed``: the run time in seconds of this
    launch, the profiler's cost taken off, and of the timed launch of the same block; None without one.
    """

    block: int
    launch: str
    run: RunParts
    run_time: float | None
    timed: float | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where the time of one application on one lane went.

    All intervals are of medians over blocks. ``shares``: each part of ``PARTS`` as a share of T, the profiled time.
    ``seconds``: T. ``efficiencies``: by name of ``models.pop``. ``closing_error``: the run time of the profiled
    launches, the profiler's cost taken off, over that of the timed launches of the same blocks, minus 1. ``dilation``:
    as in ``verdict.profiles``. ``unexplained``: the sum of the absolute rests by rank and function, over T.
    ``waiting_low``, ``waiting_high``: limits of the share of waiting where time stamps are missing.
    ``calls``: medians over blocks of the mean over ranks of each function's parts. ``ranks``: medians over blocks of
    each rank's parts. ``label``: the dominant part, empty if no interval is clear of the others.
    The label also needs intervals of the requested confidence.
    ``agreement``: the witnesses of the profile, each with the numbers of agreeing and of all launches.
    ``missing``: curves that the campaign lacks, each with the command that measures it; without them there are no
    blocks. ``notes``: what limits the attribution.
    """

    key: ProfileKey
    blocks: tuple[BlockAttribution, ...]
    seconds: Interval
    shares: Mapping[str, Interval]
    efficiencies: Mapping[str, Interval]
    closing_error: Interval
    dilation: Interval
    unexplained: Interval
    waiting_low: Interval
    waiting_high: Interval
    calls: Mapping[str, Parts]
    ranks: tuple[Parts, ...]
    label: str
    agreement: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """The operations by rank of one profiled launch, and the curves of its lane in its block."""

    record: Record
    block: int
    ranks: tuple[RankOperations, ...]
    curves: Curves


@dataclass(frozen=True, slots=True)
class Refusal:
    """A profile that is not attributed, with the reason."""

    key: ProfileKey
    reason: str


@dataclass(frozen=True, slots=True)
class Attributions:
    """The attributions of a campaign in order of benchmark and lane, and the profiles without one.

    ``launches``: those of each attribution. ``curves``: those of each lane and number of nodes. ``confidence``: the one
    that the intervals should have.
    """

    items: tuple[Attribution, ...]
    refused: tuple[Refusal, ...]
    launches: Mapping[ProfileKey, tuple[ProfiledLaunch, ...]]
    curves: Mapping[Place, LaneCurves]
    confidence: float = 0.95


def attributions(
    table: pl.DataFrame, records: Sequence[Record], operations: Operations, alpha: float = 0.05
) -> Attributions:
    """Returns the attribution of each profile of the campaign that is usable.

    Definition: ``models.attribution`` per launch, with the curves that its block measured on the same lane and number
    of nodes; then medians over blocks with order-statistics intervals at 1 - ``alpha``.
    Assumptions: as in ``stats.interval``.
    """
    cells = all_series(table)
    curves = lane_curves(cells)
    known = {record.directory: record for record in records}
    items, refused, launches = [], [], {}
    for summary in profiles(table, records, alpha):
        key = summary.key
        if summary.state != "usable":
            refused.append(Refusal(key, f"{summary.state}: {'; '.join(summary.reasons)}"))
            continue
        lane = curves.get((key.system, key.lane, key.nodes), LaneCurves({}))
        used, problems = _launches([known[name] for name in summary.launches], lane, operations)
        if not used:
            refused.append(Refusal(key, "; ".join(dict.fromkeys(problems.values()))))
            continue
        launches[key] = tuple(used)
        items.append(_attribution(summary, used, problems, _timed(cells, key)))
    return Attributions(tuple(items), tuple(refused), launches, curves, 1.0 - alpha)


def _launches(
    records: Iterable[Record], lane: LaneCurves, operations: Operations
) -> tuple[list[ProfiledLaunch], dict[str, str]]:
    """Returns the launches with a readable profile, and by launch the reasons why others have none."""
    used: list[ProfiledLaunch] = []
    problems: dict[str, str] = {}
    for record in records:
        ranks = operations(record)
        if isinstance(ranks, str):
            problems[record.directory] = ranks
        elif record.launch is not None:
            block = record.launch.block
            used.append(ProfiledLaunch(record, block, ranks, lane.at(block, record.launch.ranks)))
    return used, problems


def _timed(cells: Mapping[CellKey, Series], key: ProfileKey) -> dict[int, float]:
    """Returns the run time by block of the timed launches, in seconds."""
    place = (key.system, key.stack, key.fabric, key.variant, key.tool, key.benchmark, key.case)
    series = cells.get(CellKey(*place, "run_time", None, key.ranks, key.nodes))
    return series.medians() if series else {}


def _attribution(
    summary: ProfileSummary, used: Sequence[ProfiledLaunch], problems: Mapping[str, str], timed: Mapping[int, float]
) -> Attribution:
    uses = [curve_use(one.ranks, one.curves) for one in used]
    absent = _absent(uses)
    blocks = [] if absent else [_block(one, timed.get(one.block)) for one in used]
    ignored = [f"{launch} does not count: {reason}" for launch, reason in (*summary.others, *problems.items())]
    notes = [*ignored, *(note for one in used for note in one.curves.notes), *_notes(uses, used)]
    return _summary(summary, blocks, absent, tuple(dict.fromkeys(notes)))


def _block(one: ProfiledLaunch, timed: float | None) -> BlockAttribution:
    run_time = next((row.value for row in one.record.rows if row.metric == "run_time"), None)
    overhead = max(rank.overhead_seconds for rank in one.ranks)
    return BlockAttribution(
        block=one.block,
        launch=one.record.directory,
        run=attribute_run(one.ranks, one.curves),
        run_time=None if run_time is None else run_time - overhead,
        timed=timed,
    )


def _absent(uses: Iterable[CurveUse]) -> tuple[str, ...]:
    """Returns the absent curves whose operations take more than ``ABSENT_AT_MOST`` of the profiled time."""
    return tuple(
        sorted({name for use in uses for name, time in use.absent.items() if time > ABSENT_AT_MOST * use.total})
    )


def _notes(uses: Sequence[CurveUse], used: Sequence[ProfiledLaunch]) -> Iterable[str]:
    """Yields what limits the attribution, except for what the curves' own notes have."""
    names = sorted({name for use in uses for name in use.absent})
    if names and not _absent(uses):
        yield f"no curve of {', '.join(names)}: their time is rest"
    yield from curve_notes(uses)
    if any(use.unsized > ABSENT_AT_MOST * use.total for use in uses):
        yield "operations of unknown size have no cost: their time is undivided or rest"
    if not any(one.matched for launch in used for rank in launch.ranks for one in rank.operations):
        yield "no time stamps: waiting is not divided from rest; latency and bandwidth of messages are lower limits"
    stamps = {rank.stamps for launch in used for rank in launch.ranks} - {"", "complete"}
    yield from (f"time stamps: {text}" for text in sorted(stamps))
    error = max((rank.clock_error_seconds for launch in used for rank in launch.ranks), default=0.0)
    if error > 0:
        yield f"clocks of different nodes differ by up to {1e6 * error:.2g} us"


def _summary(
    summary: ProfileSummary, blocks: Sequence[BlockAttribution], absent: tuple[str, ...], notes: tuple[str, ...]
) -> Attribution:
    def interval(values: Iterable[float | None]) -> Interval:
        return median_interval([value for value in values if value is not None], summary.confidence)

    few = _too_few(interval(block.run.time for block in blocks), summary.confidence)
    means = [block.run.mean / block.run.mean.total for block in blocks]
    shares = {part: interval(getattr(mean, part) for mean in means) for part in PARTS}
    names = dict.fromkeys(name for block in blocks for name in block.run.by_call())
    count = min((len(block.run.ranks) for block in blocks), default=0)
    return Attribution(
        key=summary.key,
        blocks=tuple(blocks),
        seconds=interval(block.run.time for block in blocks),
        shares=shares,
        efficiencies=_efficiencies([efficiencies(block.run) for block in blocks], summary.confidence),
        closing_error=interval(closing_error(block) for block in blocks),
        dilation=summary.dilation,
        unexplained=interval(block.run.unexplained for block in blocks),
        waiting_low=shares["waiting"],
        waiting_high=interval(mean.waiting + mean.undivided for mean in means),
        calls={name: _median(block.run.by_call().get(name, Parts()) for block in blocks) for name in names},
        ranks=tuple(_median(block.run.ranks[rank].parts for block in blocks) for rank in range(count)),
        label=_label(shares) if not few else "",
        agreement=", ".join(f"{one.worst.witness} {one.agreeing} of {one.launches}" for one in summary.witnesses),
        missing=tuple((one.curve, one.command) for one in missing(absent)),
        notes=(*notes, few) if few else notes,
    )


def _too_few(interval: Interval, confidence: float) -> str:
    """Returns a note if there are too few blocks for intervals of this confidence; else an empty text."""
    if interval.n == 0 or has_confidence(interval, confidence):
        return ""
    if interval.confidence is None:
        return "1 block gives no intervals"
    return f"{interval.n} blocks give intervals of {100 * interval.confidence:.3g} %, not of {100 * confidence:.3g} %"


def closing_error(block: BlockAttribution) -> float | None:
    """Returns the run time of the profiled launch over that of the timed launch of the block, minus 1."""
    return block.run_time / block.timed - 1 if block.run_time is not None and block.timed else None


def _median(parts: Iterable[Parts]) -> Parts:
    """Returns the median of each part."""
    every = list(parts)
    return Parts(*(median([getattr(one, name) for one in every]) for name in PARTS))


def _efficiencies(every: Sequence[Efficiencies | None], confidence: float) -> dict[str, Interval]:
    """Returns the intervals by the names of ``models.pop``.

    Those of the serialisation and the transfer efficiency contain the intervals of both limits; their estimate is the
    median of the limits' middle.
    """
    known = [one for one in every if one is not None]
    result = {}
    for name in Efficiencies.__dataclass_fields__:
        values = [getattr(one, name) for one in known]
        if values and isinstance(values[0], tuple):
            low, high = (median_interval(side, confidence) for side in zip(*values, strict=True))
            middle = median([(one[0] + one[1]) / 2 for one in values])
            result[name] = Interval(middle, low.low, high.high, low.confidence, low.n, low.rank)
        else:
            result[name] = median_interval(values, confidence)
    return result


def _label(shares: Mapping[str, Interval]) -> str:
    """Returns the label of the part with the largest share if its interval is above those of all others; else empty."""
    known = {name: share for name, share in shares.items() if share.estimate is not None}
    if not known:
        return ""
    first = max(known, key=lambda name: known[name].estimate or 0.0)
    low = known[first].low
    others = [share.high for name, share in known.items() if name != first]
    clears = low is not None and all(high is not None and high < low for high in others)
    return LABELS[first] if clears else ""
