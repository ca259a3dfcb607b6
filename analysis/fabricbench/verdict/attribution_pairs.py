# SPDX-License-Identifier: Apache-2.0
"""Chooses the lanes whose difference a reader sees first, and divides this difference by part."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricbench.models.parts import PARTS
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median
from fabricbench.verdict.attribution import Attribution


@dataclass(frozen=True, slots=True)
class Difference:
    """The time of one lane less that of another: medians over the blocks that both have, of means over ranks.

    ``base``, ``other``: seconds. ``parts``: seconds by name of ``PARTS``, what the other lane takes longer.
    """

    base: float
    other: float
    parts: Mapping[str, Interval]


def difference(base: Attribution, other: Attribution, confidence: float) -> Difference | None:
    """Returns the difference by part, paired by block; None without a common block."""
    first, second = ({block.block: block.run.mean for block in one.blocks} for one in (base, other))
    blocks = sorted(first.keys() & second.keys())
    if not blocks:
        return None
    changes = [second[block] - first[block] for block in blocks]
    return Difference(
        base=median([first[block].total for block in blocks]),
        other=median([second[block].total for block in blocks]),
        parts={
            name: median_interval([getattr(change, name) for change in changes], confidence)
            for name in PARTS
            if any(getattr(change, name) for change in changes)
        },
    )


def first_pairs(attributions: Sequence[Attribution], most: int = 3) -> list[tuple[Attribution, Attribution]]:
    """Returns the pairs of lanes of one application that a reader compares first, the largest ratio of T first.

    The same stack on two fabrics; if no stack has two, the fastest lane and each other lane. The first of a pair is
    the faster one.
    """
    timed = sorted((one for one in attributions if one.seconds.estimate), key=_seconds)
    by_stack: dict[tuple[str, str, str], list[Attribution]] = defaultdict(list)
    for one in timed:
        by_stack[one.key.stack, one.key.variant, one.key.profiler].append(one)
    pairs = [(group[0], other) for group in by_stack.values() for other in group[1:]]
    pairs = pairs or [(timed[0], other) for other in timed[1:]]
    return sorted(pairs, key=lambda pair: (-_seconds(pair[1]) / _seconds(pair[0]), pair[1].key.lane))[:most]


def _seconds(one: Attribution) -> float:
    return one.seconds.estimate or 0.0
