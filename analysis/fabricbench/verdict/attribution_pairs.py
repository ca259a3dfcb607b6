# SPDX-License-Identifier: Apache-2.0
"""Chooses the pairs of lanes whose difference a reader asks for first."""

from collections import defaultdict
from collections.abc import Sequence

from fabricbench.verdict.attribution import Attribution


def first_pairs(attributions: Sequence[Attribution], most: int = 3) -> list[tuple[Attribution, Attribution]]:
    """Returns pairs of lanes of one application, the slower one first; the pair with the largest ratio of T first.

    The same stack on two fabrics; if no stack has two, each lane and the fastest. ``most``: the number of pairs.
    """
    timed = sorted((one for one in attributions if one.seconds.estimate), key=_seconds)
    by_stack: dict[tuple[str, str, str], list[Attribution]] = defaultdict(list)
    for one in timed:
        by_stack[one.key.stack, one.key.variant, one.key.profiler].append(one)
    pairs = [(other, group[0]) for group in by_stack.values() for other in group[1:]]
    pairs = pairs or [(other, timed[0]) for other in timed[1:] if other.key.profiler == timed[0].key.profiler]
    return sorted(pairs, key=lambda pair: (-_seconds(pair[0]) / _seconds(pair[1]), pair[0].key.lane))[:most]


def _seconds(one: Attribution) -> float:
    return one.seconds.estimate or 0.0
