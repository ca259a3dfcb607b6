# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes over the blocks of a campaign: what of a pair's slowness is one node's, and what its own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye_array, hstack

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLOW_NODE, FAST_NODE = 0.8, 1.2
"""What a node's effect costs against a pair's of the same size, so that with few nodes the likelier of two
explanations is taken: two slow pairs that share a node are that node's, and one slow pair of three nodes is not the
third node's speed."""

RESOLUTION = 1e-6
"""Least error of a logarithm: values are printed with so many digits."""

KNOWN_BLOCKS = 3
"""A pair measured in fewer blocks has no effect of its own that could be told from one block's scatter."""

_MAD_TO_SIGMA = 1.4826
_MEDIAN_TO_MEAN = 1.2533
"""Standard error of a median over that of a mean, of normal values."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """What was measured, an entry per pair and block: ``slowness`` is the logarithm of a time, shape (m).

    ``first``, ``second``: the pair's nodes by number, 0 to ``nodes`` - 1; ``block``: any numbers. ``directed``: the
    first sends and the second receives, and a node may be slow at either; else a pair stands once, its nodes in any
    order, in the same order in all blocks.
    """

    nodes: int
    first: Ints
    second: Ints
    block: Ints
    slowness: Floats
    directed: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """Logarithmic slowdowns, each with its standard error and in how many blocks it was measured and seen.

    Shapes: (nodes) or, of directed pairs, (2 nodes): as senders, then as receivers; of pairs (pairs).
    """

    effect: Floats
    error: Floats
    blocks: Ints
    seen: Ints

    @property
    def z(self) -> Floats:
        """Effects over their errors."""
        return self.effect / np.maximum(self.error, RESOLUTION)


@dataclass(frozen=True, slots=True)
class Split:
    """The effects of nodes, and of pairs beyond those of their nodes; ``first``, ``second``: the pairs, shape (pairs).

    ``typical``: the pairs' slowness (pairs), median over blocks after each block's own level is taken off;
    ``ordinary``: that of a pair without any effect.
    """

    nodes: Effects
    pairs: Effects
    first: Ints
    second: Ints
    typical: Floats
    ordinary: float


def split(measured: Pairs, margin: float) -> Split:
    """Nodes' effects and pairs' own; a block has *seen* an effect that is ``margin`` or more in it.

    Definition: y_ijb = c_b + a_i + a_j + e_ij, of directed pairs s_i + r_j in place of a_i + a_j. The pairs' medians
    over blocks are split into the cheapest explanation, least sum of |e| + ``SLOW_NODE`` a where a > 0, + ``FAST_NODE``
    |a| where a < 0: least absolute deviations with an L1 penalty, a linear program, exact. Errors: the scatter of an
    effect between blocks (pooled over all, 1.2533 sigma / sqrt(blocks)), for nodes with that of their pairs' own
    effects; in either case at least the spread of all nodes, or of all pairs, around their median (1.4826 MAD).
    Assumptions: slow nodes and pairs are few; blocks are independent, those of a pair alike but for their level c_b.
    Two nodes: see ``direction``; their effects could not be told from the pair's.
    Source: Tukey (1977), Exploratory Data Analysis, chapter 11 (median polish, whose coordinate steps can stop short
    with few nodes); Bloomfield & Steiger (1983), Least Absolute Deviations; Tibshirani (1996), JRSS B 58 (L1).
    """
    pairs, place = np.unique(np.stack([measured.first, measured.second]), axis=1, return_inverse=True)
    place = place.reshape(-1)
    first, second = pairs
    members = np.stack([first, second + measured.nodes * measured.directed])
    size = measured.nodes * (1 + measured.directed)

    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)
    level = _medians(measured.slowness, blocks)
    typical = _medians(measured.slowness - level[blocks], place)
    ordinary, nodes, own = _cheapest(typical, members, size)

    explained = nodes[members[0]] + nodes[members[1]]
    level = _medians(measured.slowness - (explained + own)[place], blocks)
    rest = measured.slowness - level[blocks] - explained[place]
    of_pairs = _pair_effects(own, rest, place, margin)
    rest = rest - np.where(of_pairs.blocks >= KNOWN_BLOCKS, own, 0.0)[place]
    of_nodes = _node_effects(nodes, own, rest, members[:, place], blocks, margin)
    return Split(of_nodes, of_pairs, first, second, typical, ordinary)


def direction(forth: Floats, back: Floats, margin: float) -> Effects:
    """Between two nodes: how much slower the one way is than the other, one effect; positive: ``forth`` is slower.

    Definition: the median over blocks of forth - back with 1.2533 sigma / sqrt(n), sigma by the MAD.
    ``forth``, ``back``: logarithms of times, shape (blocks).
    """
    difference = forth - back
    effect = np.atleast_1d(np.median(difference))
    error = _MEDIAN_TO_MEAN * _sigma(difference - effect, len(difference)) / np.sqrt(len(difference))
    seen = np.sum(difference * np.sign(effect) >= margin)
    return Effects(effect, np.atleast_1d(error), np.array([len(difference)]), np.atleast_1d(seen))


def _cheapest(typical: Floats, members: Ints, size: int) -> tuple[float, Floats, Floats]:
    """The ordinary level, nodes' effects (size) and the pairs' own (pairs), zero of most."""
    count = len(typical)
    rows = np.tile(np.arange(count), 2)
    design = csr_matrix((np.ones(2 * count), (rows, members.reshape(-1))), shape=(count, size))
    constant, own = csr_matrix(np.ones((count, 1))), eye_array(count, format="csr")
    price = np.concatenate([[0.0], np.full(size, SLOW_NODE), np.full(size, FAST_NODE), np.ones(2 * count)])
    found = linprog(
        price,
        A_eq=hstack([constant, design, -design, own, -own], format="csr"),
        b_eq=typical,
        bounds=[(None, None)] + [(0, None)] * (2 * size + 2 * count),
        method="highs",
    ).x
    ordinary, found = float(found[0]), found[1:]
    nodes = found[:size] - found[size : 2 * size]
    rest = found[2 * size :]
    return ordinary, nodes, rest[:count] - rest[count:]


def _node_effects(nodes: Floats, own: Floats, rest: Floats, members: Ints, blocks: Ints, margin: float) -> Effects:
    """``rest`` (m): what the split leaves of each entry, whose nodes are ``members`` (2, m)."""
    count = int(blocks.max()) + 1
    owner = np.concatenate([members[0], members[1]])
    cell, place = np.unique(owner * count + np.tile(blocks, 2), return_inverse=True)
    deviation = _medians(np.tile(rest, 2), place.reshape(-1))
    owner = cell // count
    measured = np.bincount(owner, minlength=len(nodes))
    partners = np.bincount(np.unique(members, axis=1).reshape(-1), minlength=len(nodes))
    between_blocks = _sigma(deviation, measured.max()) / np.sqrt(np.maximum(measured, 1))
    between_pairs = _sigma(own, len(own)) / np.sqrt(np.maximum(partners, 1))
    error = np.maximum(_MEDIAN_TO_MEAN * np.hypot(between_blocks, between_pairs), _sigma(nodes - np.median(nodes), 0))
    seen = np.bincount(owner, weights=nodes[owner] + deviation >= margin, minlength=len(nodes))
    return Effects(nodes, error, measured, seen.astype(np.int64))


def _pair_effects(own: Floats, rest: Floats, place: Ints, margin: float) -> Effects:
    """``rest`` (m): what the nodes leave of each entry, whose pair is ``place`` (m)."""
    measured = np.bincount(place, minlength=len(own))
    scatter = _sigma(rest - own[place], measured.max())
    error = np.maximum(_MEDIAN_TO_MEAN * scatter / np.sqrt(measured), _sigma(own - np.median(own), 0))
    seen = np.bincount(place, weights=rest >= margin, minlength=len(own))
    return Effects(own, error, measured, seen.astype(np.int64))


def _medians(values: Floats, group: Ints) -> Floats:
    """The median of each group, numbered from 0 without holes."""
    order = np.argsort(group, kind="stable")
    return np.array([np.median(part) for part in np.split(values[order], np.cumsum(np.bincount(group))[:-1])])


def _sigma(deviations: Floats, n: int) -> float:
    """Robust standard deviation around zero; of deviations from a median of ``n`` values each, freed of their bias."""
    return float(_MAD_TO_SIGMA * np.median(np.abs(deviations))) * (n / (n - 0.8) if n > 1 else 1.0)
