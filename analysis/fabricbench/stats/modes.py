# SPDX-License-Identifier: Apache-2.0
"""Values with two modes: most at an ordinary time, some far slower because a rank was not running (a stall)."""

from dataclasses import dataclass

import numpy as np

from fabricbench.stats.node_pairs import Bools, Floats, Ints, NodePairs

STALL = 3.0
"""Least factor between an ordinary time and a stalled one."""

LEAST_STALLED, LEAST_SHARE = 5, 0.01
"""Fewer stalled values than either are outliers, not a mode."""

VALLEY = 0.25
"""Between two modes there are at most so many values for each one of the slow mode."""

_OWN_BLOCKS = 4
"""A pair measured in fewer blocks is compared with its nodes' other pairs only."""


@dataclass(frozen=True, slots=True)
class Modes:
    """``stalled``: which entries are of the slow mode, shape (m). ``fast``, ``slow``: the median slowness of each mode;
    NaN for ``slow`` where there is one mode only."""

    stalled: Bools
    fast: float
    slow: float

    @property
    def two(self) -> bool:
        """Whether there are two modes."""
        return bool(self.stalled.any())

    @property
    def share(self) -> float:
        """The slow mode's share of all values."""
        return float(self.stalled.mean())


def modes(measured: NodePairs) -> Modes:
    """Separates stalled values from ordinary ones, where the values have two modes.

    Definition: an entry's excess is its slowness less the largest of its pair's and its two nodes' lower eighths over
    all blocks. So a node or a pair that is slow always has no excess. Excesses beyond ``STALL`` are the first guess of
    the slow mode; the middle between the two modes' medians divides them. There are two modes if the slow one has
    ``LEAST_STALLED`` values and a share of ``LEAST_SHARE``, and the middle third between the medians has at most
    ``VALLEY`` values for each of its own. Else nothing is stalled.
    Assumptions: every pair and node has an ordinary value in an eighth of its blocks at least.
    Source: Hartigan (1975), Clustering Algorithms, chapter 4 (division in two groups); the valley as a condition of
    bimodality is that of Ashman, Bird, Zepf (1994), Astronomical Journal 108, without normal components.
    """
    excess = measured.slowness - _ordinary(measured)
    slow = excess > np.log(STALL)
    for _ in range(2):
        if not _enough(slow):
            return _one(measured)
        low, high = float(np.median(excess[~slow])), float(np.median(excess[slow]))
        slow = excess > (low + high) / 2
    third = (high - low) / 3
    between = int(((excess > low + third) & (excess < high - third)).sum())
    if not _enough(slow) or between > VALLEY * slow.sum():
        return _one(measured)
    return Modes(slow, float(np.median(measured.slowness[~slow])), float(np.median(measured.slowness[slow])))


def _one(measured: NodePairs) -> Modes:
    nothing = np.zeros(len(measured.slowness), dtype=bool)
    return Modes(nothing, float(np.median(measured.slowness)), float("nan"))


def _enough(slow: Bools) -> bool:
    return bool(max(LEAST_STALLED, LEAST_SHARE * len(slow)) <= slow.sum() < len(slow))


def _ordinary(measured: NodePairs) -> Floats:
    """Each entry's ordinary slowness, shape (m)."""
    pair = measured.first * measured.nodes + measured.second
    receiver = measured.second + measured.nodes * measured.directed
    if measured.directed:
        of_nodes = [_lower_eighth(measured.slowness, group, 1) for group in (measured.first, receiver)]
    else:
        both = np.concatenate([measured.first, receiver])
        of_nodes = list(_lower_eighth(np.tile(measured.slowness, 2), both, 1).reshape(2, -1))
    own = _lower_eighth(measured.slowness, pair, _OWN_BLOCKS)
    return np.maximum(own, np.maximum(*of_nodes))


def _lower_eighth(values: Floats, group: Ints, least: int) -> Floats:
    """For each value the lower eighth of its group, an order statistic; -inf in groups of fewer than ``least``."""
    place = np.unique(group, return_inverse=True)[1].reshape(-1)
    ordered = values[np.lexsort((values, place))]
    count = np.bincount(place)
    start = np.cumsum(count) - count
    return np.where(count >= least, ordered[start + (count - 1) // 8], -np.inf)[place]
