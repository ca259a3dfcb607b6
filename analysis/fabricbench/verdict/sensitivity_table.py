# SPDX-License-Identifier: Apache-2.0
"""The sensitivities of a campaign as a table."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from fabricbench.launch.injection import UNITS
from fabricbench.verdict.frames import frame_of
from fabricbench.verdict.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One application, lane and kind of delay; the fields are the columns of the table.

    ``levels``: the delays with their unit, per message or per byte. ``n``: the number of blocks. ``slope``: messages on
    the critical path, for ``per_byte`` bytes. ``percent``: of the run time per microsecond, for ``per_byte`` per
    nanosecond of each byte. ``time_without_latency_s``: the run time extrapolated to a network without latency.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    delay: str
    levels: str
    n: int
    run_time_s: float | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    latency_us: float | None
    time_without_latency_s: float | None
    time_without_latency_low_s: float | None
    time_without_latency_high_s: float | None
    transfer_efficiency: float | None
    transfer_efficiency_low: float | None
    transfer_efficiency_high: float | None
    confidence: float | None
    note: str


SHORT = (
    "lane", "benchmark", "case", "ranks", "nodes", "delay", "levels", "n", "slope", "slope_low", "slope_high",
    "percent", "percent_low", "percent_high", "transfer_efficiency", "note",
)  # fmt: skip
"""The columns of the table as text."""


def sensitivity_table(items: Iterable[Sensitivity]) -> pl.DataFrame:
    """Returns a row of type ``SensitivityRow`` for each sensitivity."""
    return frame_of(SensitivityRow, [_row(one) for one in items])


def _row(one: Sensitivity) -> SensitivityRow:
    key, without, efficiency = one.key, one.time_without, one.transfer_efficiency
    return SensitivityRow(
        lane=key.lane,
        tool=key.tool,
        benchmark=key.benchmark,
        case=key.case,
        ranks=key.ranks,
        nodes=key.nodes,
        delay=one.kind,
        levels=" ".join([*(f"{level:g}" for level in one.levels), UNITS[one.kind]]),
        n=one.run_time.n,
        run_time_s=one.run_time.estimate,
        slope=one.slope.estimate,
        slope_low=one.slope.low,
        slope_high=one.slope.high,
        percent=one.relative.estimate,
        percent_low=one.relative.low,
        percent_high=one.relative.high,
        latency_us=one.lane_latency_us,
        time_without_latency_s=without.estimate,
        time_without_latency_low_s=without.low,
        time_without_latency_high_s=without.high,
        transfer_efficiency=efficiency.estimate,
        transfer_efficiency_low=efficiency.low,
        transfer_efficiency_high=efficiency.high,
        confidence=one.slope.confidence,
        note="; ".join(part for part in (one.reason, *one.notes) if part),
    )
