# SPDX-License-Identifier: Apache-2.0
"""Attributes the run time of each profiled application of a campaign to computation, latency, bandwidth and waiting."""

from collections.abc import Mapping
from dataclasses import dataclass

from fabricbench.models.parts import Parts, RunParts
from fabricbench.stats.interval import Interval
from fabricbench.verdict.profiles import ProfileKey


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
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
