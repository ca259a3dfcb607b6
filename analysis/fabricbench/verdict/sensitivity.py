# SPDX-License-Identifier: Apache-2.0
"""Measures how the run time of each application depends on injected delays, per lane."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from fabricbench.launch.injection import KINDS, UNITS, Kind, level_of
from fabricbench.models.sensitivity import CONSTANT, halves, slope, time_without, within
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median
from fabricbench.verdict.alike import metric_of, mpi_mean
from fabricbench.verdict.profiles import SYNC, ProfileSummary
from fabricbench.verdict.series import CellKey, Series, all_series

MOSTLY = 0.5
"""The share of the time in MPI from which on a slope is not given, if it is in collectives."""

SECONDS: Mapping[Kind, float] = {"latency": 1e-6, "per_byte": 1e-9, "overhead": 1e-6}
"""The unit of each kind's delays in seconds, per message or per byte."""

_NONE = Interval(None, None, None, None, 0)
_COUNTED_ALL = "counted=all"
_COLLECTIVE = re.compile(
    r"MPI_I?(barrier|bcast|(all)?(gather|reduce)v?|scatterv?|alltoall[vw]?|reduce_scatter(_block)?|(ex)?scan|neighbor_\w+)",
    re.IGNORECASE,
)


class Application(NamedTuple):
    """What ran, where, and which kind of delay was injected."""

    key: CellKey
    kind: Kind


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The dependence of one application's run time on one kind of delay on one lane; intervals over blocks.

    ``key``: the cell of the timed run times. ``levels``: the delays in the unit of the kind, 0 included.
    ``slope``: messages (latency, overhead) or bytes (per_byte) on the critical path. ``relative``: percent of the run
    time per unit of the delay. ``run_time``: seconds at level 0. ``time_without``: seconds without the lane's latency,
    ``transfer_efficiency``: the same over the run time; both without an estimate if they cannot be extrapolated.
    ``reason``: why there is no slope, empty if there is one. ``notes``: limits of the numbers.
    """

    key: CellKey
    kind: Kind
    levels: tuple[float, ...]
    run_time: Interval
    slope: Interval = _NONE
    relative: Interval = _NONE
    time_without: Interval = _NONE
    transfer_efficiency: Interval = _NONE
    lane_latency_us: float | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()


def sensitivities(
    table: pl.DataFrame, profiles: Sequence[ProfileSummary] = (), alpha: float = 0.05
) -> tuple[Sensitivity, ...]:
    """Returns the sensitivity of each application, lane and kind of delay, in order of these.

    Definition: per block the slope of the run time over the delay (``models.sensitivity.slope``), with the timed
    launches of the same block as level 0, or with injected launches of level 0 if the campaign has any; the median over
    blocks with an order-statistics interval at 1 - ``alpha``. A block counts if it has two levels or more.
    If the slopes of the lower and of the upper levels differ by more than ``models.sensitivity.CONSTANT`` beyond the
    interval of their difference, only the slope of the lower levels is given, and nothing is extrapolated.
    The run time without latency is T - slope * L per block, where L is the half round trip of the lane's smallest
    ping-pong of the block, or the campaign's median if the block lacks it.
    Assumptions: as in ``stats.interval`` and ``models.sensitivity``. Only attested launches count.

    ``profiles``: they give the share of the time in MPI that is in collectives, in which nothing is injected.
    """
    timed = all_series(table)
    confidence = 1.0 - alpha
    latencies = _lane_latencies(timed)
    result = []
    for application, levels in sorted(_levels(table).items()):
        base = levels.get(0.0) or timed.get(application.key)
        times = _times(levels, base.medians() if base else {})
        one = _fit(application, times, tuple(sorted(levels)), confidence)
        if reason := _in_collectives(application.key, profiles):
            one = replace(one, slope=_NONE, relative=_NONE, reason=reason)
        elif application.kind == "latency" and not one.reason:
            one = _extrapolated(one, times, latencies.get(_lane(application.key), {}), confidence)
        result.append(replace(one, notes=(*one.notes, *_notes(application, levels, profiles))))
    return tuple(result)


_Times = Mapping[int, Mapping[float, float]]
"""The run time by block and delay."""


def _levels(table: pl.DataFrame) -> dict[Application, dict[float, Series]]:
    """Returns the run times of the injected launches by application and delay."""
    result: dict[Application, dict[float, Series]] = defaultdict(dict)
    rows = table.filter(pl.col("metric") == "run_time")
    for key, series in all_series(rows, "injected").items():
        words = key.case.split()
        names = [word for word in words if word.partition("=")[0] in KINDS]
        for name in names[:1]:
            kind, delay = level_of(name)
            plain = key._replace(case=" ".join(word for word in words if word != name))
            result[Application(plain, kind)][delay] = series
    return result


def _times(levels: Mapping[float, Series], base: Mapping[int, float]) -> _Times:
    times: dict[int, dict[float, float]] = defaultdict(dict)
    for delay, values in ((0.0, base), *((delay, series.medians()) for delay, series in sorted(levels.items()))):
        for block, value in values.items():
            times[block][delay] = value
    return {block: of_block for block, of_block in sorted(times.items()) if len(of_block) > 1 and 0.0 in of_block}


def _fit(application: Application, times: _Times, requested: tuple[float, ...], confidence: float) -> Sensitivity:
    levels = tuple(sorted({delay for of_block in times.values() for delay in of_block})) or requested
    run_time = median_interval([of_block[0.0] for of_block in times.values()], confidence)
    one = Sensitivity(application.key, application.kind, levels, run_time)
    if not times:
        return replace(one, reason="no block has both a timed launch and one with a delay")
    unit = SECONDS[application.kind]
    split = halves(levels)
    if split and (note := _curvature(times, *split, confidence, application.kind)):
        times = {block: within(of_block, split[0]) for block, of_block in times.items()}
        one = replace(one, levels=split[0], notes=(note,))
    slopes = _slopes(times)
    return replace(
        one,
        slope=median_interval([value / unit for value in slopes.values()], confidence),
        relative=median_interval([100 * value / times[block][0.0] for block, value in slopes.items()], confidence),
    )


def _slopes(times: _Times) -> dict[int, float]:
    """Returns the slope of each block that has one, in seconds per unit of the delay."""
    return {block: value for block, of_block in times.items() if (value := slope(of_block)) is not None}


def _curvature(times: _Times, lower: Sequence[float], upper: Sequence[float], confidence: float, kind: Kind) -> str:
    """Returns why the slope is not constant; empty if nothing shows that."""
    below = _slopes({block: within(of_block, lower) for block, of_block in times.items()})
    above = _slopes({block: within(of_block, upper) for block, of_block in times.items()})
    both = below.keys() & above.keys()
    if not both:
        return ""
    change = median_interval([above[block] - below[block] for block in sorted(both)], confidence)
    first, second = median([below[block] for block in both]), median([above[block] for block in both])
    allowed = CONSTANT * abs(first)
    if change.confidence is None or change.confidence < confidence * (1 - 1e-9):
        return ""
    if change.side(allowed) <= 0 and change.side(-allowed) >= 0:
        return ""
    ratio = second / first if first else float("inf")
    return f"the slope is not constant: above {lower[-1]:g} {UNITS[kind]} it is {ratio:.3g} times as large"


_Lane = tuple[str, str, str, str]


def _lane(key: CellKey) -> _Lane:
    return key.system, key.stack, key.fabric, key.variant


def _lane_latencies(timed: Mapping[CellKey, Series]) -> dict[_Lane, dict[int, float]]:
    """Returns the half round trip of the smallest ping-pong of each lane by block, in microseconds."""
    smallest: dict[_Lane, CellKey] = {}
    for key in timed:
        if metric_of(key) != mpi_mean() or key.msg_size_bytes is None or key.of_node_pair:
            continue
        other = smallest.get(_lane(key))
        if other is None or (key.msg_size_bytes, key.case) < (other.msg_size_bytes or 0, other.case):
            smallest[_lane(key)] = key
    return {lane: timed[key].medians() for lane, key in smallest.items() if timed[key].samples}


def _extrapolated(one: Sensitivity, times: _Times, latencies: Mapping[int, float], confidence: float) -> Sensitivity:
    if any(note.startswith("the slope is not constant") for note in one.notes):
        return one
    if not latencies:
        note = "no latency of the lane, so no run time without it; measure it: fabricbench run --check MicroPingpong"
        return replace(one, notes=(*one.notes, note))
    usual = median(list(latencies.values()))
    without = {
        block: time_without(times[block][0.0], value, latencies.get(block, usual))
        for block, value in _slopes(times).items()
    }
    shares = [value / times[block][0.0] for block, value in without.items()]
    if shares and median(shares) <= 0:
        note = "slope times latency exceeds the run time, so no run time without latency"
        return replace(one, lane_latency_us=usual, notes=(*one.notes, note))
    return replace(
        one,
        lane_latency_us=usual,
        time_without=median_interval(list(without.values()), confidence),
        transfer_efficiency=median_interval(shares, confidence),
    )


def _of_application(key: CellKey, profiles: Iterable[ProfileSummary]) -> ProfileSummary | None:
    """Returns the profile of an application on its lane that counts the same steps, or all steps of the same input."""
    for profile in profiles:
        of = profile.key
        case = " ".join(word for word in of.case.split() if word != _COUNTED_ALL)
        same = (of.system, of.stack, of.fabric, of.variant, of.tool, of.benchmark, case, of.ranks, of.nodes)
        plain = (*_lane(key), key.tool, key.benchmark, key.case, key.ranks, key.nodes)
        if same == plain and profile.launches:
            return profile
    return None


def _collective_share(profile: ProfileSummary) -> float | None:
    """Returns the share of the time in MPI that is in collectives; None if there is no time in MPI."""
    times = {call.call: call.seconds for call in profile.calls if call.seconds is not None}
    total = sum(times.values())
    inside = sum(seconds for call, seconds in times.items() if call == SYNC or _COLLECTIVE.fullmatch(call))
    return inside / total if total > 0 else None


def _in_collectives(key: CellKey, profiles: Sequence[ProfileSummary]) -> str:
    profile = _of_application(key, profiles)
    share = _collective_share(profile) if profile else None
    if share is None or share <= MOSTLY:
        return ""
    percent = f"{100 * share:.0f} % of the time in MPI is in collectives"
    return f"{percent}, in which nothing is injected: delay the link"


def _notes(
    application: Application, levels: Mapping[float, Series], profiles: Sequence[ProfileSummary]
) -> Iterable[str]:
    ignored = sum(len(series.doubtful) + len(series.failed) for series in levels.values())
    if ignored:
        yield "1 launch does not count" if ignored == 1 else f"{ignored} launches do not count"
    profile = _of_application(application.key, profiles)
    share = _collective_share(profile) if profile else None
    if share is None:
        yield "no profile, so the share of collectives is unknown"
    elif 0.01 <= share <= MOSTLY:
        yield f"{100 * share:.0f} % of the time in MPI is in collectives, in which nothing is injected"
