# SPDX-License-Identifier: Apache-2.0
"""Divides the profiled time of each rank into computation, latency, bandwidth, waiting and rest."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fabricbench.models.costs import Cost, cost_of, substituted_ranks
from fabricbench.models.curves import Curves
from fabricbench.models.parts import Parts, RankParts, RunParts
from fabricbench.parsers.tau.operations import Operations, RankOperations

SYNC = "MPI Collective Sync"
"""The barrier that a profiler puts in front of collectives."""


@dataclass(frozen=True, slots=True)
class CurveUse:
    """How much of the time in MPI rests on which curves, in seconds, summed over ranks.

    ``absent``: by the name of a curve that is needed and not measured, the time of its operations without waiting.
    ``extrapolated``: the modelled time of operations beyond the largest measured size. ``unsized``: the time of
    operations whose sizes are unknown. ``total``: the profiled time. ``substituted``: collectives whose curve has
    another number of ranks than their communicator, each with the measured and the needed number.
    """

    absent: Mapping[str, float]
    extrapolated: float
    unsized: float
    total: float
    substituted: frozenset[tuple[str, int, int]] = frozenset()


def attribute_run(ranks: Sequence[RankOperations], curves: Curves) -> RunParts:
    """Returns the parts of the time of one launch.

    Definition, per rank: computation U = T - time in MPI, of the thread with the most time in MPI. Per operation of s
    bytes whose partner entered d earlier: its cost e(s, d) = Lat + Bw (``models.costs``), from the lane's curves.
    Operations that one call completes together share one latency. waiting: the measured time before the partner
    entered, at most the time of the operations. rest = time - waiting - Lat - Bw, which is negative where transfers
    overlap. Operations without time stamps: a positive remainder is undivided, as it is waiting or rest. The
    cost of messages without time stamps is that after a long head start, the least, so that their undivided remainder
    may also be latency or bandwidth.
    After a barrier of the profiler in front of collectives (``SYNC``), the time in the barrier beyond the barrier's own
    cost is waiting, and the collectives do not wait.
    Source: waiting, the waiting times of Scalasca (Geimer et al. 2010, CCPE 22: late sender, late receiver, wait at
    NxN); the costs, table convolution (Snavely et al. 2002, SC'02) with P-LogP (Kielmann, Bal, Verstoep 2000).
    """
    stamped = any(one.matched for rank in ranks for one in rank.operations)
    return RunParts(tuple(_rank(rank, curves, stamped) for rank in ranks))


def curve_use(ranks: Sequence[RankOperations], curves: Curves) -> CurveUse:
    """Returns how much of the time rests on absent curves, on extrapolation, and on unknown sizes."""
    absent: dict[str, float] = defaultdict(float)
    substituted: set[tuple[str, int, int]] = set()
    extrapolated = unsized = 0.0
    for rank in ranks:
        for one in rank.operations:
            cost = cost_of(one, curves)
            if found := substituted_ranks(one, curves):
                substituted.add(found)
            if isinstance(cost, str):
                absent[cost] += one.seconds - max(0.0, min(one.late_seconds, one.seconds))
            elif cost.unsized:
                unsized += one.seconds
            elif cost.extrapolates:
                latency, bandwidth = _modelled(one, cost)
                extrapolated += min(one.seconds, latency + bandwidth)
    return CurveUse(dict(absent), extrapolated, unsized, sum(rank.seconds for rank in ranks), frozenset(substituted))


def _rank(rank: RankOperations, curves: Curves, stamped: bool) -> RankParts:
    synced = has_barriers(rank)
    calls: dict[str, Parts] = defaultdict(Parts)
    for one in rank.operations:
        name = one.operation or one.call
        calls[name] = calls[name] + operation_parts(one, curves, stamped, synced)
    in_mpi = sum(one.seconds for one in rank.operations)
    return RankParts(rank.rank, rank.seconds - in_mpi, dict(calls))


def has_barriers(rank: RankOperations) -> bool:
    """Returns whether the profiler put a barrier in front of the rank's collectives."""
    return any(one.call == SYNC for one in rank.operations)


def operation_parts(one: Operations, curves: Curves, stamped: bool, synced: bool = False) -> Parts:
    """Returns the parts of the time of some operations of a rank.

    ``stamped``: whether the launch has time stamps. ``synced``: whether a barrier of the profiler precedes collectives.
    """
    cost = cost_of(one, curves)
    if isinstance(cost, str):
        cost = Cost()
    cost = certain_cost(cost, one)
    latency, bandwidth = _modelled(one, cost)
    if one.call == SYNC:
        latency = min(latency, one.seconds)
        return Parts(latency=latency, waiting=one.seconds - latency)
    waiting = max(0.0, min(one.late_seconds, one.seconds))
    remainder = one.seconds - waiting - latency - bandwidth
    divided = cost.alone or (synced and cost.collective) or (not cost.has_partner and (stamped or not cost.collective))
    share = 0.0 if divided or not one.count else 1.0 - min(1.0, one.matched / one.count)
    undivided = max(0.0, remainder) * share
    return Parts(latency=latency, bandwidth=bandwidth, waiting=waiting, undivided=undivided, rest=remainder - undivided)


def certain_cost(cost: Cost, one: Operations) -> Cost:
    """Returns the cost that operations have after any head start: that of messages without time stamps is the least."""
    if one.matched or cost.collective:
        return cost
    return replace(cost, whole=min(cost.least, cost.whole), first=min(cost.first_least, cost.first))


def _modelled(one: Operations, cost: Cost) -> tuple[float, float]:
    """Returns the seconds of latency and of bandwidth of the operations."""
    if not one.count:
        return 0.0, 0.0
    starts = [(start.count, start.seconds / start.count) for start in one.head_starts if start.count]
    without = max(0, one.count - sum(count for count, _ in starts))
    parts = [(count, cost.after(head_start)) for count, head_start in [(without, 0.0), *starts]]
    latency = sum(count * each for count, (each, _) in parts)
    bandwidth = sum(count * each for count, (_, each) in parts)
    return latency * min(1.0, one.calls / one.count), bandwidth


def extrapolated_share(uses: Iterable[CurveUse]) -> float:
    """Returns the largest share of the profiled time that rests on extrapolation, 0 to 1."""
    return max((use.extrapolated / use.total for use in uses if use.total), default=0.0)
