# SPDX-License-Identifier: Apache-2.0
"""Summarises the profiles of a campaign: the time in MPI by call on each lane, and whether a profile may be used."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Agreement, Record
from fabricbench.site.lane import LaneName
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median
from fabricbench.stats.paired import paired_ratio
from fabricbench.verdict.series import CellKey, Series, all_series

DILATION = 1.10
"""Largest run time with a profiler over the run time without it; a profile above it is not used."""

SYNC = "collective_sync"
"""The call of the barrier that a profiler puts in front of collectives."""

ProfileState = Literal["usable", "disputed", "not used", "unpaired", "no launch"]

_CALL = "call="


class ProfileKey(NamedTuple):
    """What was profiled, and with which profiler, as ``profiler_of`` names it."""

    system: str
    stack: str
    fabric: str
    variant: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str

    @property
    def lane(self) -> LaneName:
        """The lane."""
        return LaneName(self.stack, self.fabric, self.variant)

    @property
    def columns(self) -> tuple[str, str, str, str, int, int, str]:
        """The columns that tables of profiles and attributions begin with."""
        return self.lane.name, self.tool, self.benchmark, self.case, self.ranks, self.nodes, self.profiler


@dataclass(frozen=True, slots=True)
class CallTotals:
    """One MPI function: medians over blocks.

    ``calls``: of all ranks. ``seconds``, ``seconds_max``: mean and largest over ranks. ``share``: share of the profiled
    time; the shares of all functions sum to the MPI share. ``bytes``: sum of the message sizes of all ranks; None if
    unknown. ``by_size``: pairs of a power of two, or 0, and the number of calls from that size to less than the next.
    TAU counts the bytes of some functions together: their totals have a ``call`` such as ``MPI_Isend+MPI_Send`` and
    bytes only.
    """

    call: str
    calls: float | None
    seconds: float | None
    seconds_max: float | None
    share: float | None
    bytes: float | None
    by_size: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessTotals:
    """How one witness agrees with the profiles of all launches.

    ``launches``, ``agreeing``: numbers of launches. ``worst``: the comparison in which the witness is farthest beyond
    its limits, or nearest to one of them; ``worst_launch``: the directory of that launch.
    """

    launches: int
    agreeing: int
    worst: Agreement
    worst_launch: str

    @property
    def agrees(self) -> bool:
        """Whether the witness agrees with every launch."""
        return self.agreeing == self.launches


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """The profiles of one benchmark on one lane with one profiler.

    ``launches``: directories of the attested launches with a profile. ``median_launch``: the one whose MPI share is
    the median, or the next below it. ``mpi_share``: mean over ranks, median over blocks; ``share_min``, ``share_max``:
    of the ranks with the least and the most. ``profiled_time``: seconds that the shares refer to. ``dilation``: the
    median over blocks of the run time with the profiler over the run time without it. ``confidence``: the one that the
    intervals should have. ``others``: launches whose values do not count, each with the reason.
    """

    key: ProfileKey
    launches: tuple[str, ...]
    median_launch: str
    mpi_share: Interval
    share_min: float | None
    share_max: float | None
    profiled_time: float | None
    dilation: Interval
    confidence: float
    calls: tuple[CallTotals, ...]
    witnesses: tuple[WitnessTotals, ...]
    others: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> ProfileState:
        """Whether the profile may be used; ``unpaired``: its dilation is unknown; ``no launch``: no launch counts."""
        if not self.launches:
            return "no launch"
        if not all(witness.agrees for witness in self.witnesses):
            return "disputed"
        if self.dilation.estimate is None:
            return "unpaired"
        return "not used" if self._is_dilated else "usable"

    @property
    def _is_dilated(self) -> bool:
        """Whether the dilation is above the limit, and an interval of the confidence does not include 1."""
        low, estimate = self.dilation.low, self.dilation.estimate
        is_scatter = low is not None and low <= 1.0 and has_confidence(self.dilation, self.confidence)
        return estimate is not None and estimate > DILATION and not is_scatter

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons against the use of the profile, with numbers; empty if it is usable."""
        if not self.launches:
            return tuple(dict.fromkeys(reason for _, reason in self.others))
        disputes = (_dispute(witness) for witness in self.witnesses if not witness.agrees)
        if self.dilation.estimate is None:
            return (*disputes, "no timed launch of the same blocks")
        if self._is_dilated:
            excess = f"{100 * (DILATION - 1):.0f} %"
            return (*disputes, f"dilation above {excess}: the run time is {self.dilation.estimate:.3g} times as long")
        return tuple(disputes)

    @property
    def note(self) -> str:
        """What limits the dilation: too few blocks for an interval, or scatter; empty without a dilation."""
        if not self.launches or self.dilation.estimate is None:
            return ""
        if has_confidence(self.dilation, self.confidence):
            is_above = self.dilation.estimate > DILATION and not self._is_dilated
            return "the dilation is above the limit, but its interval includes 1: launches scatter" if is_above else ""
        blocks = "1 block is" if self.dilation.n == 1 else f"{self.dilation.n} blocks are"
        return f"{blocks} too few for a {100 * self.confidence:g} % interval of the dilation"

    @property
    def separates_waiting(self) -> bool:
        """Whether a barrier preceded the collectives of the profiled launches."""
        return any(call.call == SYNC for call in self.calls)


def profiles(table: pl.DataFrame, records: Sequence[Record], alpha: float = 0.05) -> tuple[ProfileSummary, ...]:
    """Returns the summary of every profiled benchmark, in order of benchmark and lane.

    Definition: a value is the median over blocks, with an order-statistics interval at 1 - ``alpha``. The dilation is
    ``run_time`` of profiled over timed launches of the same lane, benchmark, case and ranks, paired by block.
    Assumptions: as in ``stats.interval`` and ``stats.paired``. Only attested launches count.

    ``records``: those of the table; they name the profiler of each launch and have the comparisons with the witnesses.
    """
    profiled = {record.directory: record for record in records if record.launch and record.launch.mode == "profiled"}
    if not profiled:
        return ()
    timed = _run_times(table)
    by_profiler: dict[str, list[str]] = defaultdict(list)
    for directory, record in profiled.items():
        if record.launch is not None:
            by_profiler[profiler_of(record.launch)].append(directory)
    summaries = [
        _summary(key, metrics, timed, profiled, 1.0 - alpha)
        for profiler, directories in sorted(by_profiler.items())
        for key, metrics in _metrics(table.filter(pl.col("launch").is_in(directories)), profiler).items()
    ]
    summaries = [one for one in summaries if one.launches or one.others]
    return tuple(sorted(summaries, key=lambda one: (one.key[4:9], one.key.lane, one.key.profiler)))


def has_confidence(interval: Interval, confidence: float) -> bool:
    """Returns whether the interval has at least this confidence."""
    return interval.confidence is not None and interval.confidence >= confidence * (1 - 1e-9)


def profiler_of(launch: Launch) -> str:
    """Returns the profiler of a profiled launch: ``own``, ``own with barriers``, or ``TAU`` with its version."""
    if launch.profiler == "tau":
        return f"TAU {launch.versions.get('tau', '')}".strip()
    return "own with barriers" if launch.environment.get("FABRICBENCH_PROFILE_SYNC") == "1" else "own"


_Metrics = Mapping[tuple[str, str, int | None], Series]
"""The series of one benchmark by metric, call and message size."""


def _metrics(rows: pl.DataFrame, profiler: str) -> dict[ProfileKey, _Metrics]:
    result: dict[ProfileKey, dict[tuple[str, str, int | None], Series]] = defaultdict(dict)
    for cell, series in all_series(rows, "profiled").items():
        case, call = _split(cell.case)
        result[_key(cell, case, profiler)][cell.metric, call, cell.msg_size_bytes] = series
    return {key: metrics for key, metrics in result.items() if ("mpi_share", "", None) in metrics}


def _run_times(table: pl.DataFrame) -> dict[ProfileKey, Series]:
    rows = table.filter(pl.col("metric") == "run_time")
    return {_key(cell, cell.case, ""): series for cell, series in all_series(rows).items()}


def _key(cell: CellKey, case: str, profiler: str) -> ProfileKey:
    lane = (cell.system, cell.stack, cell.fabric, cell.variant)
    return ProfileKey(*lane, cell.tool, cell.benchmark, case, cell.ranks, cell.nodes, profiler)


def _split(case: str) -> tuple[str, str]:
    """Splits a case into its other parameters and the value of ``call``, which is empty if the case has none."""
    words = case.split()
    calls = [word.removeprefix(_CALL) for word in words if word.startswith(_CALL)]
    return " ".join(word for word in words if not word.startswith(_CALL)), calls[0] if calls else ""


def _summary(
    key: ProfileKey,
    metrics: _Metrics,
    timed: Mapping[ProfileKey, Series],
    records: Mapping[str, Record],
    confidence: float,
) -> ProfileSummary:
    shares = metrics["mpi_share", "", None]
    launches = shares.launches(shares.samples)
    run_time = metrics.get(("run_time", "", None))
    plain = timed.get(key._replace(profiler=""))
    dilation = paired_ratio(run_time.values() if run_time else {}, plain.values() if plain else {}, confidence)
    share = median_interval(list(shares.medians().values()), confidence)
    return ProfileSummary(
        key=key,
        launches=launches,
        median_launch=_median_launch(shares),
        mpi_share=share,
        share_min=_median(metrics, "mpi_share_min"),
        share_max=_median(metrics, "mpi_share_max"),
        profiled_time=_median(metrics, "profiled_time"),
        dilation=dilation.interval,
        confidence=confidence,
        calls=tuple(_calls(metrics, share.estimate)),
        witnesses=tuple(_witnesses([records[name] for name in launches])),
        others=tuple(_others(shares, records)),
    )


def _median(metrics: _Metrics, metric: str, call: str = "", size: int | None = None) -> float | None:
    series = metrics.get((metric, call, size))
    values = list(series.medians().values()) if series else []
    return median(values) if values else None


def _median_launch(shares: Series) -> str:
    values = sorted((value, launch) for sample in shares.samples.values() for launch, value in sample)
    return values[(len(values) - 1) // 2][1] if values else ""


def _calls(metrics: _Metrics, mpi_share: float | None) -> Iterator[CallTotals]:
    """Yields the functions, the one with the most time first, then those whose bytes TAU counts together."""
    names = sorted({call for _, call, _ in metrics if call})
    times = {call: seconds for call in names if (seconds := _median(metrics, "mpi_time", call)) is not None}
    total = sum(times.values())
    for call in sorted(names, key=lambda name: (-times.get(name, -1.0), name)):
        seconds = times.get(call)
        sizes = sorted(
            size for name, of, size in metrics if name == "mpi_calls_by_size" and of == call and size is not None
        )
        by_size = ((size, _median(metrics, "mpi_calls_by_size", call, size)) for size in sizes)
        totals = CallTotals(
            call=call,
            calls=_median(metrics, "mpi_calls", call),
            seconds=seconds,
            seconds_max=_median(metrics, "mpi_time_max", call),
            share=None if seconds is None else (mpi_share or 0.0) * seconds / total if total else 0.0,
            bytes=_median(metrics, "mpi_bytes", call),
            by_size=tuple((size, count) for size, count in by_size if count),
        )
        if totals.calls is not None or totals.bytes is not None:
            yield totals


def _witnesses(records: Sequence[Record]) -> Iterator[WitnessTotals]:
    by_witness: dict[tuple[str, str], list[tuple[Agreement, str]]] = defaultdict(list)
    for record in records:
        for item in record.agreements:
            by_witness[item.witness, item.what].append((item, record.directory))
    for items in by_witness.values():
        worst, launch = max(items, key=lambda item: (_excess(item[0]), item[1]))
        yield WitnessTotals(len(items), sum(item.agrees for item, _ in items), worst, launch)


def _excess(item: Agreement) -> float:
    """Returns how far the witness is beyond its nearer limit, over the width of the limits; negative within them."""
    width = max(item.most - item.least, 1e-9 * max(abs(item.most), abs(item.least)), 1e-300)
    return max(item.least - item.other, item.other - item.most) / width


def _dispute(witness: WitnessTotals) -> str:
    item = witness.worst
    share = f"{witness.launches - witness.agreeing} of {witness.launches} launches"
    if item.witness == "imports":
        return f"{share} use functions that the profiler does not know: {item.reason}"
    return (
        f"{item.witness} disagree in {share}: {item.what}: {item.other:.4g} {item.unit}, "
        f"expected {item.least:.4g} to {item.most:.4g} {item.unit}"
    )


def _others(shares: Series, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    for launch, state in (*shares.doubtful, *shares.failed):
        record = records.get(launch)
        if record is not None:
            yield launch, "; ".join(part for part in (state, record.reason.strip()) if part)
