# SPDX-License-Identifier: Apache-2.0
"""The attributions of a campaign as tables: one row per application and lane, per MPI function, or per rank."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from fabricbench.models.parts import Parts
from fabricbench.stats.interval import Interval
from fabricbench.verdict.attribution import Attribution, Attributions, Refusal
from fabricbench.verdict.frames import frame_of
from fabricbench.verdict.profiles import ProfileKey


@dataclass(frozen=True, slots=True)
class AttributionRow:
    """One attribution; the fields are the columns of the table.

    Shares are of ``time_s``, the profiled time T. ``_low`` and ``_high`` are the ends of the interval. ``n``: blocks.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str
    time_s: float | None
    computation: float | None
    computation_low: float | None
    computation_high: float | None
    latency: float | None
    latency_low: float | None
    latency_high: float | None
    bandwidth: float | None
    bandwidth_low: float | None
    bandwidth_high: float | None
    waiting: float | None
    waiting_low: float | None
    waiting_high: float | None
    undivided: float | None
    undivided_low: float | None
    undivided_high: float | None
    rest: float | None
    rest_low: float | None
    rest_high: float | None
    parallel_efficiency: float | None
    load_balance: float | None
    communication_efficiency: float | None
    serialisation_efficiency: float | None
    transfer_efficiency: float | None
    closing_error: float | None
    closing_error_low: float | None
    closing_error_high: float | None
    dilation: float | None
    unexplained: float | None
    unexplained_low: float | None
    unexplained_high: float | None
    agreement: str
    confidence: float | None
    n: int
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class PartsRow:
    """The parts of one MPI function, mean over ranks, or of one rank, in seconds; the fields are the columns.

    ``call``: empty for a rank. ``rank``: None for a function. Values are medians over blocks.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str
    call: str
    rank: int | None
    computation_s: float
    latency_s: float
    bandwidth_s: float
    waiting_s: float
    undivided_s: float
    rest_s: float
    total_s: float


def attribution_table(found: Attributions) -> pl.DataFrame:
    """Returns a row of type ``AttributionRow`` for each attribution, then one for each refused profile."""
    rows = [_row(one) for one in found.items] + [_refused(one) for one in found.refused]
    return frame_of(AttributionRow, rows)


def parts_by_call(items: Iterable[Attribution]) -> pl.DataFrame:
    """Returns a row of type ``PartsRow`` for each MPI function of each attribution."""
    return frame_of(PartsRow, [_parts(one, call, None, parts) for one in items for call, parts in one.calls.items()])


def parts_by_rank(items: Iterable[Attribution]) -> pl.DataFrame:
    """Returns a row of type ``PartsRow`` for each rank of each attribution."""
    return frame_of(PartsRow, [_parts(one, "", rank, parts) for one in items for rank, parts in enumerate(one.ranks)])


def _place(key: ProfileKey) -> tuple[str, str, str, str, int, int, str]:
    return key.lane.name, key.tool, key.benchmark, key.case, key.ranks, key.nodes, key.profiler


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.estimate, interval.low, interval.high


def _row(one: Attribution) -> AttributionRow:
    shares = [end for name in one.shares for end in _ends(one.shares[name])]
    names = ("parallel_efficiency", "load_balance", "communication_efficiency")
    names += ("serialisation_efficiency", "transfer_efficiency")
    missing = [f"no curve of {curve}; measure it: {command}" for curve, command in one.missing]
    return AttributionRow(
        *_place(one.key),
        one.seconds.estimate,
        *shares,
        *(one.efficiencies[name].estimate for name in names),
        *_ends(one.closing_error),
        one.dilation.estimate,
        *_ends(one.unexplained),
        one.agreement,
        one.seconds.confidence,
        one.seconds.n,
        one.label,
        "; ".join([*missing, *one.notes]),
    )


def _refused(one: Refusal) -> AttributionRow:
    empty = [None] * 32
    return AttributionRow(*_place(one.key), *empty, agreement="", confidence=None, n=0, label="", reason=one.reason)


def _parts(one: Attribution, call: str, rank: int | None, parts: Parts) -> PartsRow:
    seconds = (parts.computation, parts.latency, parts.bandwidth, parts.waiting, parts.undivided, parts.rest)
    return PartsRow(*_place(one.key), call, rank, *seconds, parts.total)
