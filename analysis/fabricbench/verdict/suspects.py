# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a node or a pair in one matrix: its size, in how many blocks it shows, and its p-value."""

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
"""Largest probability that a campaign on a healthy machine names anything."""

MARGIN = 1.1
"""A slowdown that is worth a look."""

TOLERANCE = 1.05
"""By how much healthy nodes may differ all the time. What is tested is whether a node is slower by more than that."""

LEAST_SEEN = 0.75
"""Share of its blocks in which a node or pair is slower by ``TOLERANCE``: what comes and goes is load, not a node."""

MORE_STALLS = 0.1
"""By how much the share of stalled values is larger, of a node that is worth a look."""

MOST_PAIRS, MOST_SHARE = 3, 0.1
"""With more slow pairs than either, they are a property of the network and not single links."""

LEVEL_OF_MANY = 0.005
"""P-value, not adjusted, up to which a pair counts among those many: of healthy pairs one of 200 does."""

Kind = Literal["node", "pair", "direction", "stalls"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node (``other`` is empty) or a pair with an effect of a size that matters.

    ``role``: what it is slow at. ``slowdown``: a factor; None for stalls. ``p``: p-value of this test alone.
    ``affected_blocks``: the number of its ``blocks`` that show the effect. ``stall_share``, ``others_stall_share``:
    shares of stalled values, 0 to 1, of the suspect and of all others.
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
    """The tests of one matrix; none where it has too few blocks."""

    matrix: Matrix

    @property
    def tested(self) -> bool:
        """Whether there are blocks enough."""
        return self.matrix.blocks >= LEAST_BLOCKS

    @property
    def of_nodes(self) -> int:
        """How many tests of nodes (between two nodes, of directions) there are, whatever they find."""
        if len(self.matrix.names) == 2:
            return 2 * self.tested * self.matrix.pairs.directed
        return len(self.matrix.names) * len(self.matrix.roles) * self.tested

    @property
    def of_pairs(self) -> int:
        """How many pairs were measured often enough to be tested."""
        if len(self.matrix.names) == 2:
            return 0
        return int((np.bincount(self._numbered[2]) >= LEAST_BLOCKS).sum())

    @property
    def of_stalls(self) -> int:
        """How many nodes may stall more often than the others."""
        return len(self.matrix.names) * self.tested * (len(self.matrix.names) > 2)

    @cached_property
    def nodes(self) -> tuple[Suspect, ...]:
        """Nodes that are slow; between two nodes, directions."""
        if not self.tested:
            return ()
        return tuple(self._directions() if len(self.matrix.names) == 2 else self._slow_nodes())

    @cached_property
    def pairs(self) -> tuple[Suspect, ...]:
        """Pairs that are slower than their nodes explain; none where they are so many as to be the network's layout."""
        return () if self.network else tuple(self._slow_pairs())

    @cached_property
    def network(self) -> int:
        """How many pairs are slow, where they are so many that the network is what they have in common; else 0."""
        least = max(MOST_PAIRS, MOST_SHARE * len(self._numbered[0]))
        if sum(one.p <= LEVEL_OF_MANY for one in self._ranked_pairs) <= least:
            return 0
        slow = [one for one in self._ranked_pairs if self.matrix.effects.pairs[one.unit] >= np.log(MARGIN)]
        return len(slow) if sum(one.p <= LEVEL_OF_MANY for one in slow) > least else 0

    @cached_property
    def stalls(self) -> tuple[Suspect, ...]:
        """Nodes of which more values stall than of the others."""
        return tuple(self._stalling()) if self.of_stalls and self.matrix.modes.two else ()

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
                yield Suspect("node", names[node], "", role, slowdown, one.p, one.seen, one.blocks, *shares)

    def _slow_pairs(self) -> Iterator[Suspect]:
        first, second, place = self._numbered
        role = "one way" if self.matrix.pairs.directed else "either way"
        for one in self._ranked_pairs:
            if one.p * self.of_pairs <= ALPHA and (effect := self.matrix.effects.pairs[one.unit]) >= np.log(MARGIN):
                names = self.matrix.names[first[one.unit]], self.matrix.names[second[one.unit]]
                shares = self._shares(place == one.unit)
                yield Suspect("pair", *names, role, float(np.exp(effect)), one.p, one.seen, one.blocks, *shares)

    def _directions(self) -> Iterator[Suspect]:
        """Between two nodes only the one way can be compared with the other."""
        pairs, stalled = self.matrix.pairs, self.matrix.modes.stalled
        if not pairs.directed:
            return
        ordinary, everything = (_forth_less_back(pairs, kept) for kept in (~stalled, np.ones_like(stalled)))
        for one, sign in ((0, 1.0), (1, -1.0)):
            slower, blocks = sign * ordinary, len(ordinary)
            seen = int((slower >= np.log(TOLERANCE)).sum())
            if blocks < LEAST_BLOCKS or seen < LEAST_SEEN * blocks or np.median(slower) < np.log(MARGIN):
                continue
            p = max(
                majority_p(int((sign * all_ > np.log(TOLERANCE)).sum()), len(all_)) for all_ in (ordinary, everything)
            )
            names = self.matrix.names[one], self.matrix.names[1 - one]
            slowdown, shares = float(np.exp(np.median(slower))), self._shares(pairs.first == one)
            yield Suspect("direction", *names, "one way", slowdown, p, seen, blocks, *shares)

    def _stalling(self) -> Iterator[Suspect]:
        pairs, stalled = self.matrix.pairs, self.matrix.modes.stalled
        found = stall_counts(pairs, stalled)
        for node, name in enumerate(self.matrix.names):
            own = (pairs.first == node) | (pairs.second == node)
            share, others = self._shares(own)
            there = np.flatnonzero(found[node] >= 0)
            if _share_of_most_pairs(pairs.first + pairs.second, own, stalled) < others + MORE_STALLS:
                continue
            if len(there) < LEAST_BLOCKS:
                continue
            p = count_p(found[node, there], [found[found[:, block] >= 0, block] for block in there])
            blocks = np.unique(pairs.block)[there]
            seen = sum(
                stalled[own & at].mean() > (stalled[~own & at].mean() if (~own & at).any() else others)
                for at in (pairs.block == block for block in blocks)
            )
            yield Suspect("stalls", name, "", "either way", None, p, int(seen), len(there), share, others)

    def _shares(self, own: Bools) -> tuple[float, float]:
        stalled = self.matrix.modes.stalled
        return float(stalled[own].mean()), float(stalled[~own].mean()) if (~own).any() else 0.0


class _Ranked(NamedTuple):
    """A unit that is slower by ``TOLERANCE`` in enough of its blocks."""

    unit: int
    p: float
    seen: int
    blocks: int


def _ranked(matrix: Matrix, contrasts: Callable[[Bools], Contrasts]) -> tuple[_Ranked, ...]:
    """Units that are often slow, with their p-values.

    ``contrasts``: those of the entries that are not to be left out. Where values stall, p is the larger of two: that of
    all values, because a pair which stalls in every block would not be known for it; and that of those that did not
    stall, because a node that stalls more often than others is not slow.
    """
    stalled, tolerance = matrix.modes.stalled, float(np.log(TOLERANCE))
    ordinary = contrasts(stalled)
    blocks = np.bincount(ordinary.unit)
    seen = np.bincount(ordinary.unit, weights=ordinary.least >= tolerance).astype(np.int64)
    often = np.flatnonzero((blocks >= LEAST_BLOCKS) & (seen >= LEAST_SEEN * blocks))
    if not len(often):
        return ()
    tested = [ordinary, *([contrasts(np.zeros_like(stalled))] if matrix.modes.two else [])]
    p = np.max([_p_values(of, often, tolerance) for of in tested], axis=0)
    return tuple(_Ranked(int(unit), float(p[at]), int(seen[unit]), int(blocks[unit])) for at, unit in enumerate(often))


def _p_values(contrasts: Contrasts, units: Ints, tolerance: float) -> list[float]:
    found, sizes = ranks(contrasts.value, contrasts.group, tolerance)
    own = (contrasts.unit == unit for unit in units)
    return [rank_sum_p(found[entries], sizes[entries]) for entries in own]


def _forth_less_back(pairs: NodePairs, kept: Bools) -> Floats:
    """By how much the way from the first of two nodes is slower, in each block that has both ways."""
    forth, back = (
        dict(zip(pairs.block[at].tolist(), pairs.slowness[at].tolist(), strict=True))
        for at in (kept & (pairs.first == first) for first in (0, 1))
    )
    return np.array([forth[block] - back[block] for block in sorted(forth.keys() & back.keys())], dtype=np.float64)


def _share_of_most_pairs(pair: Ints, own: Bools, stalled: Bools) -> float:
    """The median over a node's partners of how often the pair stalls, the lower of two: one bad pair does not count.

    ``pair``: a number of the pair, different for each partner of the node.
    """
    place = np.unique(pair[own], return_inverse=True)[1].reshape(-1)
    shares = np.sort(np.bincount(place, weights=stalled[own]) / np.bincount(place))
    return float(shares[(len(shares) - 1) // 2])
