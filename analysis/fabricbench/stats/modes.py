# SPDX-License-Identifier: Apache-2.0
"""Separates stalled values from ordinary ones. A value stalls if a rank was not running for some time."""

from dataclasses import dataclass

import numpy as np

from fabricbench.stats.node_pairs import Bools, Floats, Ints, NodePairs

STALL = 3.0
"""The least factor between an ordinary time and a stalled one."""

LEAST_STALLED, LEAST_SHARE = 5, 0.01
"""If the stalled values are fewer than this number, or than this share of all values, they are outliers and no mode."""

VALLEY = 0.25
"""Two modes have at most this many values between them for each value of the slow mode."""

_OWN_BLOCKS = 4
"""A pair measured in fewer blocks is compared only with the other pairs of its nodes."""


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes of a set of values.

    ``stalled``: whether each entry belongs to the slow mode, shape (m). ``fast``, ``slow``: median logarithmic slowness
    of each mode; ``slow`` is NaN if there is one mode.
    """

    stalled: Bools
    fast: float
    slow: float

    @property
    def bimodal(self) -> bool:
        """Whether there are two modes."""
        return bool(self.stalled.any())

    @property
    def share(self) -> float:
        """The slow mode's share of all values, 0 to 1."""
        return float(self.stalled.mean())


def modes(measured: NodePairs) -> Modes:
    """Returns which values stall, if the values have two modes.

    Definition: the ordinary slowness of an entry is the largest of three lower eighths over all blocks: those of its
    pair and of its two nodes. The excess of an entry is its slowness minus this value, so a node or pair that is always
    slow has no excess. Excesses above log ``STALL`` are the first estimate of the slow mode; the midpoint between the
    medians of the two modes then divides them, twice. There are two modes if the slow one has at least
    ``LEAST_STALLED`` values and a share of at least ``LEAST_SHARE``, and if the middle third between the medians has at
    most ``VALLEY`` values for each value of the slow mode. Otherwise no value stalls.
    Assumptions: every pair and every node has an ordinary value in at least an eighth of its blocks.
    Source: Hartigan (1975), Clustering Algorithms, chapter 4 (division into two groups); the valley as a condition of
    bimodality follows Ashman, Bird, Zepf (1994), Astronomical Journal 108, without normal components.
    """
    excess = measured.slowness - _ordinary_slowness(measured)
    slow = excess > np.log(STALL)
    for _ in range(2):
        if not _enough(slow):
            return _single_mode(measured)
        low, high = float(np.median(excess[~slow])), float(np.median(excess[slow]))
        slow = excess > (low + high) / 2
    third = (high - low) / 3
    between = int(((excess > low + third) & (excess < high - third)).sum())
    if not _enough(slow) or between > VALLEY * slow.sum():
        return _single_mode(measured)
    return Modes(slow, float(np.median(measured.slowness[~slow])), float(np.median(measured.slowness[slow])))


def _single_mode(measured: NodePairs) -> Modes:
    """Returns the result for values with one mode: nothing stalls."""
    nothing = np.zeros(len(measured.slowness), dtype=bool)
    return Modes(nothing, float(np.median(measured.slowness)), float("nan"))


def _enough(slow: Bools) -> bool:
    """Returns whether the stalled values are enough for a mode, and not all values."""
    return bool(max(LEAST_STALLED, LEAST_SHARE * len(slow)) <= slow.sum() < len(slow))


def _ordinary_slowness(measured: NodePairs) -> Floats:
    """Returns the ordinary logarithmic slowness of each entry, shape (m)."""
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
    """Returns for each value the lower eighth of its group, which is an order statistic.

    -inf in groups of fewer than ``least`` values.
    """
    place = np.unique(group, return_inverse=True)[1].reshape(-1)
    ordered = values[np.lexsort((values, place))]
    count = np.bincount(place)
    start = np.cumsum(count) - count
    return np.where(count >= least, ordered[start + (count - 1) // 8], -np.inf)[place]
