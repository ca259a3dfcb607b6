# SPDX-License-Identifier: Apache-2.0
"""The profiles of a campaign as tables: one row per profile, or one row per MPI function of each profile."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from fabricbench.verdict.frames import frame_of
from fabricbench.verdict.profiles import ProfileSummary


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One profile; the fields are the columns of the table. ``n``: the blocks with the dilation's both sides."""

    lane: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str
    launches: int
    mpi_share: float | None
    mpi_share_low: float | None
    mpi_share_high: float | None
    dilation: float | None
    dilation_low: float | None
    dilation_high: float | None
    confidence: float | None
    n: int
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class CallRow:
    """One MPI function of a profile; the fields are the columns of the table, as in ``profiles.CallTotals``."""

    lane: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str
    call: str
    calls: float | None
    time_s: float | None
    time_max_s: float | None
    share: float | None
    bytes: float | None
    state: str


def summary_table(summaries: Iterable[ProfileSummary]) -> pl.DataFrame:
    """Returns a row of type ``ProfileRow`` for each profile."""
    return frame_of(ProfileRow, [_profile_row(one) for one in summaries])


def call_table(summaries: Iterable[ProfileSummary]) -> pl.DataFrame:
    """Returns a row of type ``CallRow`` for each MPI function of each profile."""
    return frame_of(
        CallRow,
        [
            CallRow(
                *one.key.columns,
                call=call.call,
                calls=call.calls,
                time_s=call.seconds,
                time_max_s=call.seconds_max,
                share=call.share,
                bytes=call.bytes,
                state=one.state,
            )
            for one in summaries
            for call in one.calls
        ],
    )


def _profile_row(one: ProfileSummary) -> ProfileRow:
    notes = [*one.reasons, *([one.note] if one.note else [])]
    return ProfileRow(
        *one.key.columns,
        launches=len(one.launches),
        mpi_share=one.mpi_share.estimate,
        mpi_share_low=one.mpi_share.low,
        mpi_share_high=one.mpi_share.high,
        dilation=one.dilation.estimate,
        dilation_low=one.dilation.low,
        dilation_high=one.dilation.high,
        confidence=one.dilation.confidence,
        n=one.dilation.n,
        state=one.state,
        reason="; ".join(notes),
    )
