# SPDX-License-Identifier: Apache-2.0
"""Explains why an application takes longer on one lane than on another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fabricbench.errors import BadInput, nearest
from fabricbench.models.difference import Difference, difference
from fabricbench.models.parts import PARTS
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.verdict.attribution import Attribution, Attributions
from fabricbench.verdict.profiles import has_confidence


@dataclass(frozen=True, slots=True)
class LaneDifference:
    """The difference of the run times of one application on two lanes, in seconds: ``first`` minus ``second``.

    All intervals are of medians over ``blocks``, those in which both lanes were profiled. ``total``: dT, of the mean
    times over ranks. ``parts``: by the names of ``PARTS``; the medians need not add up to that of dT. ``explained``:
    the share of dT that is neither rest nor undivided; without estimate if dT is not ``clear``. ``confidence``: the one
    that the intervals should have.
    """

    first: Attribution
    second: Attribution
    blocks: tuple[int, ...]
    total: Interval
    parts: Mapping[str, Interval]
    explained: Interval
    confidence: float = 0.95

    def clear(self, interval: Interval) -> int:
        """Returns the sign of a difference whose interval has the confidence and excludes 0; else 0."""
        return interval.side(0.0) if has_confidence(interval, self.confidence) else 0


def lane_difference(first: Attribution, second: Attribution, confidence: float = 0.95) -> LaneDifference:
    """Returns the difference of two lanes, paired by block.

    Definition: ``models.difference`` within each block, then medians over blocks with order-statistics intervals.
    Assumptions and source: as in ``stats.paired``.
    """
    runs = {block.block: block.run for block in second.blocks}
    pairs: dict[int, Difference] = {
        block.block: difference(block.run, runs[block.block]) for block in first.blocks if block.block in runs
    }
    total = median_interval([one.total for one in pairs.values()], confidence)
    is_clear = has_confidence(total, confidence) and total.side(0.0) != 0
    explained = [one.explained for one in pairs.values() if one.explained is not None] if is_clear else []
    return LaneDifference(
        first=first,
        second=second,
        blocks=tuple(pairs),
        total=total,
        parts={
            name: median_interval([getattr(one.parts, name) for one in pairs.values()], confidence) for name in PARTS
        },
        explained=median_interval(explained, confidence),
        confidence=confidence,
    )


def on_both_lanes(
    found: Attributions, lane: str, other: str, application: str
) -> list[tuple[Attribution, Attribution]]:
    """Returns the attributions of an application on both lanes, by case, ranks, nodes and profiler.

    Raises BadInput with the nearest names if the application or a lane has none, or if both have nothing in common.
    """
    every = [one.key for one in found.items] + [one.key for one in found.refused]
    benchmarks = {key.benchmark for key in every}
    if application not in benchmarks:
        raise BadInput(f"no profile of '{application}'", expected=nearest(application, benchmarks))
    if lane == other:
        raise BadInput(f"both lanes are '{lane}'", expected="two different lanes")
    for name in (lane, other):
        _check_lane(found, name, application)
    sides = [_of_lane(found.items, name, application) for name in (lane, other)]
    common = [(one, sides[1][key]) for key, one in sides[0].items() if key in sides[1]]
    if not common:
        raise BadInput(
            f"{application} has other ranks, nodes or cases on {lane} than on {other}",
            expected="launches of the same input on the same ranks",
        )
    return common


def _check_lane(found: Attributions, lane: str, application: str) -> None:
    lanes = {one.key.lane.name for one in found.items if one.key.benchmark == application}
    if lane in lanes:
        return
    reasons = [one.reason for one in found.refused if one.key.lane.name == lane and one.key.benchmark == application]
    if reasons:
        raise BadInput(f"the profile of {application} on {lane} is not attributed: {reasons[0]}")
    raise BadInput(f"no profile of {application} on '{lane}'", expected=nearest(lane, lanes) if lanes else "")


def _of_lane(items: Iterable[Attribution], lane: str, application: str) -> dict[tuple[object, ...], Attribution]:
    return {
        (one.key.system, one.key.tool, *one.key[6:]): one
        for one in items
        if one.key.benchmark == application and one.key.lane.name == lane
    }
