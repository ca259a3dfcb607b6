# SPDX-License-Identifier: Apache-2.0
"""The attributions of a campaign as tables: one row per application and lane, per MPI function, or per rank."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

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
class ShortRow:
    """One attribution as text for a terminal: shares of the profiled time in percent, each with its interval."""

    application: str
    lane: str
    ranks: int
    blocks: int
    time_s: str
    computation: str
    latency: str
    bandwidth: str
    waiting: str
    undivided: str
    rest: str
    closing_error: str
    unexplained: str
    label: str


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


def short_table(items: Iterable[Attribution]) -> pl.DataFrame:
    """Returns a row of type ``ShortRow`` for each attribution that has blocks."""
    rows = []
    for one in items:
        key, shares = one.key, {name: _percent(interval) for name, interval in one.shares.items()}
        if one.blocks:
            row = ShortRow(
                application=" ".join(word for word in (key.benchmark, key.case) if word),
                lane=key.lane.name,
                ranks=key.ranks,
                blocks=one.seconds.n,
                time_s=f"{one.seconds.estimate:.4g}",
                **shares,
                closing_error=_percent(one.closing_error),
                unexplained=_percent(one.unexplained),
                label=one.label,
            )
            rows.append(row)
    return frame_of(ShortRow, rows)


def _percent(interval: Interval) -> str:
    if interval.estimate is None:
        return "-"
    text = f"{100 * interval.estimate:.1f}"
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def parts_by_call(items: Iterable[Attribution]) -> pl.DataFrame:
    """Returns a row of type ``PartsRow`` for each MPI function of each attribution."""
    return frame_of(PartsRow, [_parts(one, call, None, parts) for one in items for call, parts in one.calls.items()])


def parts_by_rank(items: Iterable[Attribution]) -> pl.DataFrame:
    """Returns a row of type ``PartsRow`` for each rank of each attribution."""
    return frame_of(PartsRow, [_parts(one, "", rank, parts) for one in items for rank, parts in enumerate(one.ranks)])


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.estimate, interval.low, interval.high


def _row(one: Attribution) -> AttributionRow:
    missing = [f"no curve of {curve}; measure it: {command}" for curve, command in one.missing]
    intervals = {**one.shares, "closing_error": one.closing_error, "unexplained": one.unexplained}
    ends = {
        column: value
        for name, interval in intervals.items()
        for column, value in zip((name, f"{name}_low", f"{name}_high"), _ends(interval), strict=True)
    }
    return _filled(
        one.key,
        {
            **ends,
            **{name: interval.estimate for name, interval in one.efficiencies.items()},
            "time_s": one.seconds.estimate,
            "dilation": one.dilation.estimate,
            "agreement": one.agreement,
            "confidence": one.seconds.confidence,
            "n": one.seconds.n,
            "label": one.label,
            "reason": "; ".join([*missing, *one.notes]),
        },
    )


def _refused(one: Refusal) -> AttributionRow:
    return _filled(one.key, {"agreement": "", "n": 0, "label": "", "reason": one.reason})


def _filled(key: ProfileKey, values: Mapping[str, str | int | float | None]) -> AttributionRow:
    """Returns the row with these values; the other columns are None."""
    columns: list[Any] = [values.get(field.name) for field in fields(AttributionRow)]
    place = key.columns
    return AttributionRow(*place, *columns[len(place) :])


def _parts(one: Attribution, call: str, rank: int | None, parts: Parts) -> PartsRow:
    seconds = (parts.computation, parts.latency, parts.bandwidth, parts.waiting, parts.undivided, parts.rest)
    return PartsRow(*one.key.columns, call, rank, *seconds, parts.total)
