# SPDX-License-Identifier: Apache-2.0
"""Exact tests over blocks of whether a unit's rank, or its count, is higher than that of its peers."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fabricbench.stats.binomial import at_most
from fabricbench.stats.node_pairs import Floats, Ints

GRID = 240
"""Steps between the scores of the lowest and the highest rank. With 240 steps the ranks of up to 6, of 8 and of 10
units need no rounding. The test is exact for any number of steps; more steps distinguish more ranks.
"""


def ranks(values: Floats, group: Ints, margin: float) -> tuple[Ints, Ints]:
    """Returns the rank of each value within its group, and the size of the group, both shape (m).

    Definition: 1 + the number of values of the group that are smaller by more than ``margin`` > 0. A tie, and a
    difference within the margin, count against the higher rank.

    ``values``, ``group``: shape (m); ``margin`` is in the unit of the values.
    """
    result, sizes = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    for part in np.split(order, starts[1:]):
        ordered = np.sort(values[part])
        result[part] = 1 + np.searchsorted(ordered, values[part] - margin, side="left")
        sizes[part] = len(part)
    return result, sizes


def rank_sum_p(observed: Ints, sizes: Ints) -> float:
    """Returns the one-sided p-value of one unit's ranks over blocks: whether they are higher than those of its peers.

    Definition: rank r of n scores ``(2 r - 1) GRID / (2 n)``, rounded down. p is the probability that the sum of the
    scores is at least the observed one if each rank is uniform on 1 to n, independently between blocks. It is computed
    by convolution, without approximation.
    Assumptions: in each block, if the unit is not slower than its peers by more than the margin of ``ranks``, no unit
    is more likely than another to have a high rank; blocks are independent. There is no assumption about the
    distribution of values, nor about independence of units within a block.
    Source: Friedman (1937), JASA 32 (ranks within blocks); Fisher (1935), The Design of Experiments (permutation within
    blocks); van Elteren (1960), Bulletin of the ISI 37 (blocks of different size).

    ``observed``, ``sizes``: ranks and numbers of units, shape (blocks of the unit).
    """
    score = int(((2 * observed - 1) * GRID // (2 * sizes)).sum())
    upper = _rank_tail(tuple(sorted(sizes.tolist())))
    return float(upper[score]) if score < len(upper) else 0.0


def count_p(observed: Ints, peers: Sequence[Ints]) -> float:
    """Returns the one-sided p-value of one unit's counts over blocks: whether they are higher than those of its peers.

    Definition: the probability that the sum of counts is at least the observed one if the unit's count in each block is
    the count of one of ``peers``, drawn at random and independently between blocks. It is computed by convolution.
    Assumptions and source: as in ``rank_sum_p``; exact in the presence of ties.

    ``observed``: shape (blocks of the unit). ``peers``: for each of these blocks the counts of all units, its own
    included.
    """
    score = int(observed.sum())
    upper = _tail([np.bincount(counts) / len(counts) for counts in peers])
    return float(upper[score]) if score < len(upper) else 0.0


def majority_p(positive: int, blocks: int) -> float:
    """Returns the one-sided p-value of a sign test with ``positive`` of ``blocks`` differences above the bound.

    Definition: P(Binomial(blocks, 1/2) >= positive).
    Assumptions: independent blocks, and a median of at most the bound.
    Source: Dixon & Mood (1946), The statistical sign test, JASA 41.
    """
    return at_most(blocks - positive, blocks)


@lru_cache(maxsize=4096)
def _rank_tail(sizes: tuple[int, ...]) -> Floats:
    scores = [(2 * np.arange(1, size + 1) - 1) * GRID // (2 * size) for size in sizes]
    return _tail([np.bincount(of_block) / len(of_block) for of_block in scores])


def _tail(chances: Sequence[Floats]) -> Floats:
    """Returns P(sum >= k) for k from 0, for independent integers with these probabilities of 0, 1, ….

    All terms are positive, so small probabilities are as accurate as large ones.
    """
    total = np.ones(1)
    for chance in chances:
        total = np.convolve(total, chance)
    return np.minimum(np.cumsum(total[::-1])[::-1], 1.0)
