# SPDX-License-Identifier: Apache-2.0
"""Exact tests of one unit against its peers over blocks: is a node's rank, or its count, more than chance gives it?"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fabricbench.stats.binomial import at_most
from fabricbench.stats.pairs import Floats, Ints

GRID = 240
"""Steps between the scores of the lowest and the highest rank: 240 has the ranks of up to 6, of 8 and of 10 units
without rounding. The test is exact for any number of steps; more of them tell more ranks apart."""


def ranks(values: Floats, group: Ints, margin: float) -> tuple[Ints, Ints]:
    """The rank of each value within its group, and the group's size, both shape (m).

    Definition: 1 + the number of values of the group that are smaller by more than ``margin`` > 0. A tie, and a
    difference within the margin, count against the higher rank.
    """
    found, sizes = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    for part in np.split(order, starts[1:]):
        ordered = np.sort(values[part])
        found[part] = 1 + np.searchsorted(ordered, values[part] - margin, side="left")
        sizes[part] = len(part)
    return found, sizes


def rank_sum_p(found: Ints, sizes: Ints) -> float:
    """P-value of one unit's ranks over blocks, one-sided: are they higher than those of its peers?

    Definition: rank r of n scores ``(2 r - 1) GRID / (2 n)``, rounded down. p is the probability that the sum of the
    scores is at least that of ``found`` when each rank is uniform on 1 to n, independently between blocks: by
    convolution, without approximation.
    Assumptions: in each block, if the unit is no slower than its peers by more than the margin of ``ranks``, then no
    unit is likelier to have a high rank than another; blocks are independent. Nothing about the distribution of values,
    nor about independence of units within a block.
    Source: Friedman (1937), JASA 32 (ranks within blocks); Fisher (1935), The Design of Experiments (permutation within
    blocks); van Elteren (1960), Bulletin of the ISI 37 (blocks of different size).

    ``found``, ``sizes``: ranks and numbers of units, shape (blocks of the unit).
    """
    score = int(((2 * found - 1) * GRID // (2 * sizes)).sum())
    upper = _rank_tail(tuple(sorted(sizes.tolist())))
    return float(upper[score]) if score < len(upper) else 0.0


def count_p(found: Ints, peers: Sequence[Ints]) -> float:
    """P-value of one unit's counts over blocks, one-sided: are they higher than those of its peers?

    Definition: the probability that the sum of counts is at least that of ``found`` when the unit's count in each block
    is that of one of ``peers``, drawn at random and independently between blocks: by convolution.
    Assumptions and source: as in ``rank_sum_p``; exact in the presence of ties.

    ``found``: shape (blocks of the unit); ``peers``: for each of these blocks the counts of all units, its own too.
    """
    score = int(found.sum())
    upper = _tail([np.bincount(counts) / len(counts) for counts in peers])
    return float(upper[score]) if score < len(upper) else 0.0


def majority_p(positive: int, blocks: int) -> float:
    """P-value of a one-sided sign test: so many differences above the bound, of so many.

    Definition: P(Binomial(blocks, 1/2) >= positive). Assumptions: independent blocks, and a median at most the bound.
    Source: Dixon & Mood (1946), The statistical sign test, JASA 41.
    """
    return at_most(blocks - positive, blocks)


@lru_cache(maxsize=4096)
def _rank_tail(sizes: tuple[int, ...]) -> Floats:
    scores = [(2 * np.arange(1, size + 1) - 1) * GRID // (2 * size) for size in sizes]
    return _tail([np.bincount(of_block) / len(of_block) for of_block in scores])


def _tail(chances: Sequence[Floats]) -> Floats:
    """P(sum >= k), k from 0, of independent integers with these probabilities of 0, 1, …; all terms are positive, so
    small ones are as accurate as large ones."""
    total = np.ones(1)
    for chance in chances:
        total = np.convolve(total, chance)
    return np.minimum(np.cumsum(total[::-1])[::-1], 1.0)
