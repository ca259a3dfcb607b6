# SPDX-License-Identifier: Apache-2.0
"""Tests the nodes and node pairs of one matrix for slowness and stalls: size of the effect, affected blocks,
p-value.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from fabricbench.stats.contrasts import Contrasts, node_contrasts, pair_contrasts, stall_counts
from fabricbench.stats.exact import count_p, majority_p, rank_sum_p, ranks
from fabricbench.stats.node_pairs import Bools, Floats, Ints, NodePairs, numbered
from fabricbench.verdict.nodes import LEAST_BLOCKS, Matrix

ALPHA = 0.05
"""The largest probability that a campaign on a healthy machine yields any slow unit."""

MARGIN = 1.1
"""The least slowdown, as a factor, that makes a node or pair a suspect."""

TOLERANCE = 1.05
"""Healthy nodes may differ by this factor at all times. The tests show whether a node is slower by more than that."""

LEAST_AFFECTED = 0.75
"""The least share of its blocks in which a suspect is slower by ``TOLERANCE``. Slowness in fewer blocks is load and not
a property of the node.
"""

MORE_STALLS = 0.1
"""The least difference between a suspect's share of stalled values and that of the others."""

MOST_NODE_PAIRS, MOST_SHARE = 3, 0.1
"""If more pairs are slow than this number and this share of all pairs, the slowness is a property of the network and
not of single links.
"""

LEVEL_OF_MANY = 0.005
"""The p-value, not adjusted, up to which a node pair counts for ``MOST_NODE_PAIRS``; one of 200 healthy pairs does."""

Kind = Literal["node", "pair", "direction", "stalls"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node (``other`` is empty) or a node pair with an effect of relevant size.

    ``role``: the direction of communication in which it is slow. ``slowdown``: a factor; None for stalls. ``p``:
    p-value of this test alone. ``affected_blocks``: the number of its ``blocks`` with the effect. ``stall_share``,
    ``others_stall_share``: shares of stalled values of the suspect and of all others, 0 to 1.
    """

    kind: Kind
    node: str
    other: str
    role: str
    slowdown: float | None
    p: float
    affected_blocks: int
    blocks: int
    stall_share: float
    others_stall_share: float


@dataclass(frozen=True)
class MatrixTests:
    """The tests of one matrix; there are none if it has too few blocks."""

    matrix: Matrix

    @property
    def has_enough_blocks(self) -> bool:
        """Whether the matrix has enough blocks."""
        return self.matrix.blocks >= LEAST_BLOCKS

    @property
    def of_nodes(self) -> int:
        """The number of tests of nodes, or of directions between two nodes, whatever their results."""
        if len(self.matrix.names) == 2:
            return 2 * self.has_enough_blocks * self.matrix.pairs.directed
        return len(self.matrix.names) * len(self.matrix.roles) * self.has_enough_blocks

    @property
    def of_pairs(self) -> int:
        """The number of pairs with enough blocks for a test."""
        if len(self.matrix.names) == 2:
            return 0
        return int((np.bincount(self._numbered[2]) >= LEAST_BLOCKS).sum())

    @property
    def of_stalls(self) -> int:
        """The number of tests of nodes for stalls."""
        return len(self.matrix.names) * self.has_enough_blocks * (len(self.matrix.names) > 2)

    @cached_property
    def nodes(self) -> tuple[Suspect, ...]:
        """The slow nodes; between two nodes, the slow directions."""
        if not self.has_enough_blocks:
            return ()
        return tuple(self._directions() if len(self.matrix.names) == 2 else self._slow_nodes())

    @cached_property
    def pairs(self) -> tuple[Suspect, ...]:
        """The pairs that are slower than their nodes explain.

        None if so many are slow that the network is the cause.
        """
        return () if self.network else tuple(self._slow_pairs())

    @cached_property
    def network(self) -> int:
        """The number of slow pairs if they are so many that the network is the cause; otherwise 0."""
        least = max(MOST_NODE_PAIRS, MOST_SHARE * len(self._numbered[0]))
        if sum(one.p <= LEVEL_OF_MANY for one in self._ranked_pairs) <= least:
            return 0
        slow = [one for one in self._ranked_pairs if self.matrix.effects.pairs[one.unit] >= np.log(MARGIN)]
        return len(slow) if sum(one.p <= LEVEL_OF_MANY for one in slow) > least else 0

    @cached_property
    def stalls(self) -> tuple[Suspect, ...]:
        """The nodes with more stalled values than the others."""
        return tuple(self._stalling()) if self.of_stalls and self.matrix.modes.bimodal else ()

    @cached_property
    def _numbered(self) -> tuple[Ints, Ints, Ints]:
        return numbered(self.matrix.pairs)

    @cached_property
    def _ranked_pairs(self) -> tuple["_Ranked", ...]:
        if not self.of_pairs:
            return ()
        pairs, place = self.matrix.pairs, self._numbered[2]
        return _ranked(self.matrix, lambda stalled: pair_contrasts(pairs, stalled, place))

    def _slow_nodes(self) -> Iterator[Suspect]:
        names, pairs = self.matrix.names, self.matrix.pairs
        for one in _ranked(self.matrix, lambda stalled: node_contrasts(pairs, stalled)):
            if one.p * self.of_nodes <= ALPHA and (effect := self.matrix.effects.nodes[one.unit]) >= np.log(MARGIN):
                node, role = one.unit % len(names), self.matrix.roles[one.unit // len(names)]
                shares = self._shares((pairs.first == node) | (pairs.second == node))
                slowdown = float(np.exp(effect))
                yield Suspect("node", names[node], "", role, slowdown, one.p, one.affected, one.blocks, *shares)

    def _slow_pairs(self) -> Iterator[Suspect]:
        first, second, place = self._numbered
        role = "one way" if self.matrix.pairs.directed else "either way"
        for one in self._ranked_pairs:
            if one.p * self.of_pairs <= ALPHA and (effect := self.matrix.effects.pairs[one.unit]) >= np.log(MARGIN):
                names = self.matrix.names[first[one.unit]], self.matrix.names[second[one.unit]]
                shares = self._shares(place == one.unit)
                yield Suspect("pair", *names, role, float(np.exp(effect)), one.p, one.affected, one.blocks, *shares)

    def _directions(self) -> Iterator[Suspect]:
        """Yields the slower direction between two nodes, where only the two directions can be compared."""
        pairs, stalled = self.matrix.pairs, self.matrix.modes.stalled
        if not pairs.directed:
            return
        ordinary, everything = (_direction_differences(pairs, mask) for mask in (~stalled, np.ones_like(stalled)))
        for one, sign in ((0, 1.0), (1, -1.0)):
            slower, blocks = sign * ordinary, len(ordinary)
            affected = int((slower >= np.log(TOLERANCE)).sum())
            if blocks < LEAST_BLOCKS or affected < LEAST_AFFECTED * blocks or np.median(slower) < np.log(MARGIN):
                continue
            p = max(
                majority_p(int((sign * all_ > np.log(TOLERANCE)).sum()), len(all_)) for all_ in (ordinary, everything)
            )
            names = self.matrix.names[one], self.matrix.names[1 - one]
            slowdown, shares = float(np.exp(np.median(slower))), self._shares(pairs.first == one)
            yield Suspect("direction", *names, "one way", slowdown, p, affected, blocks, *shares)

    def _stalling(self) -> Iterator[Suspect]:
        pairs, stalled = self.matrix.pairs, self.matrix.modes.stalled
        counts = stall_counts(pairs, stalled)
        for node, name in enumerate(self.matrix.names):
            own = (pairs.first == node) | (pairs.second == node)
            share, others = self._shares(own)
            valid = np.flatnonzero(counts[node] >= 0)
            if _share_of_most_pairs(pairs.first + pairs.second, own, stalled) < others + MORE_STALLS:
                continue
            if len(valid) < LEAST_BLOCKS:
                continue
            p = count_p(counts[node, valid], [counts[counts[:, block] >= 0, block] for block in valid])
            blocks = np.unique(pairs.block)[valid]
            affected = sum(
                stalled[own & at].mean() > (stalled[~own & at].mean() if (~own & at).any() else others)
                for at in (pairs.block == block for block in blocks)
            )
            yield Suspect("stalls", name, "", "either way", None, p, int(affected), len(valid), share, others)

    def _shares(self, own: Bools) -> tuple[float, float]:
        stalled = self.matrix.modes.stalled
        return float(stalled[own].mean()), float(stalled[~own].mean()) if (~own).any() else 0.0


class _Ranked(NamedTuple):
    """A unit that is slower by ``TOLERANCE`` in enough of its blocks, with its p-value."""

    unit: int
    p: float
    affected: int
    blocks: int


def _ranked(matrix: Matrix, contrasts: Callable[[Bools], Contrasts]) -> tuple[_Ranked, ...]:
    """Returns the units that are slow in enough blocks, with their p-values.

    ``contrasts`` computes the slowdowns of the entries that are not excluded. If values stall, p is the larger of two
    p-values: that of all values, because excluding the stalled ones would overlook a pair that stalls in every block;
    and that of the ordinary values, because a node that only stalls more often is not slow.
    """
    stalled, tolerance = matrix.modes.stalled, float(np.log(TOLERANCE))
    ordinary = contrasts(stalled)
    blocks = np.bincount(ordinary.unit)
    affected = np.bincount(ordinary.unit, weights=ordinary.least >= tolerance).astype(np.int64)
    frequent = np.flatnonzero((blocks >= LEAST_BLOCKS) & (affected >= LEAST_AFFECTED * blocks))
    if not len(frequent):
        return ()
    tests = [ordinary, *([contrasts(np.zeros_like(stalled))] if matrix.modes.bimodal else [])]
    p = np.max([_p_values(of, frequent, tolerance) for of in tests], axis=0)
    return tuple(
        _Ranked(int(unit), float(p[at]), int(affected[unit]), int(blocks[unit])) for at, unit in enumerate(frequent)
    )


def _p_values(contrasts: Contrasts, units: Ints, tolerance: float) -> list[float]:
    """Returns the one-sided rank-sum p-value of each unit."""
    unit_ranks, sizes = ranks(contrasts.value, contrasts.group, tolerance)
    own = (contrasts.unit == unit for unit in units)
    return [rank_sum_p(unit_ranks[entries], sizes[entries]) for entries in own]


def _direction_differences(pairs: NodePairs, mask: Bools) -> Floats:
    """Returns by how much the direction from the first of two nodes is slower, in each block with both directions."""
    forward, backward = (
        dict(zip(pairs.block[at].tolist(), pairs.slowness[at].tolist(), strict=True))
        for at in (mask & (pairs.first == first) for first in (0, 1))
    )
    return np.array(
        [forward[block] - backward[block] for block in sorted(forward.keys() & backward.keys())], dtype=np.float64
    )


def _share_of_most_pairs(pair: Ints, own: Bools, stalled: Bools) -> float:
    """Returns the lower median, over a node's partners, of the share of stalled values: one bad pair has no influence.

    ``pair``: a number of the pair that differs between the partners of the node, shape (m).
    """
    place = np.unique(pair[own], return_inverse=True)[1].reshape(-1)
    shares = np.sort(np.bincount(place, weights=stalled[own]) / np.bincount(place))
    return float(shares[(len(shares) - 1) // 2])
