# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes over the blocks of a campaign: how much of a pair's slowness is one node's, how much its own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SLOW_NODE, FAST_NODE = 0.8, 1.2
"""What a node's effect costs against a pair's of the same size, so that with few nodes the likelier of two
explanations is taken: two slow pairs that share a node are that node's, and one slow pair of three nodes is not the
third node's speed."""

_POLISH = 5
"""How often blocks' levels and pairs' medians are taken from each other where entries are left out."""


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
class Split:
    """The effects of nodes, and of pairs beyond those of their nodes: logarithmic slowdowns.

    ``nodes``: shape (nodes) or, of directed pairs, (2 nodes): as senders, then as receivers. ``pairs``: shape (pairs),
    as are ``first`` and ``second``, the pairs' nodes, in the order of ``numbered``.
    ``typical``: the pairs' slowness (pairs), median over blocks after each block's own level is taken off;
    ``ordinary``: that of a pair without any effect.
    """

    nodes: Floats
    pairs: Floats
    first: Ints
    second: Ints
    typical: Floats
    ordinary: float


def split(measured: Pairs, stalled: Bools | None = None) -> Split:
    """Estimates the effects of nodes and the pairs' own effects.

    Definition: y_ijb = c_b + a_i + a_j + e_ij, of directed pairs s_i + r_j in place of a_i + a_j. The pairs' medians
    over blocks are split into the cheapest explanation, least sum of |e| + ``SLOW_NODE`` a where a > 0, + ``FAST_NODE``
    |a| where a < 0: least absolute deviations with an L1 penalty, a linear program, exact.
    ``stalled``, shape (m): entries to leave out, except those of a pair that has no others.
    Assumptions: slow nodes and pairs are few. The estimate has no error; ``contrasts`` and ``exact`` decide whether an
    effect can be told from chance. Effects of two nodes cannot be told from their pair's.
    Source: Tukey (1977), Exploratory Data Analysis, chapter 11 (median polish, whose coordinate steps can stop short
    with few nodes); Bloomfield & Steiger (1983), Least Absolute Deviations; Tibshirani (1996), JRSS B 58 (L1).
    """
    first, second, place = numbered(measured)
    members = np.stack([first, second + measured.nodes * measured.directed])
    size = measured.nodes * (1 + measured.directed)

    kept = np.ones(len(place), dtype=bool) if stalled is None else _kept(stalled, place, len(first))
    blocks = np.unique(measured.block[kept], return_inverse=True)[1].reshape(-1)
    slowness = measured.slowness[kept]
    level = group_medians(slowness, blocks)
    typical = group_medians(slowness - level[blocks], place[kept])
    for _ in range(0 if kept.all() else _POLISH):  # each block has other pairs left, which moves its median
        level = group_medians(slowness - typical[place[kept]], blocks)
        typical = group_medians(slowness - level[blocks], place[kept])
    ordinary, nodes, own = _cheapest(typical, members, size)
    return Split(nodes, own, first, second, typical, ordinary)


def numbered(measured: Pairs) -> tuple[Ints, Ints, Ints]:
    """The first and the second node of each pair, both shape (pairs), and the pair of each entry, shape (m)."""
    found, place = np.unique(measured.first * measured.nodes + measured.second, return_inverse=True)
    return found // measured.nodes, found % measured.nodes, place.reshape(-1)


def group_medians(values: Floats, group: Ints) -> Floats:
    """The median of each group, numbered from 0 without holes."""
    ordered = values[np.lexsort((values, group))]
    count = np.bincount(group)
    start = np.cumsum(count) - count
    medians: Floats = (ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2
    return medians


def _kept(stalled: Bools, place: Ints, pairs: int) -> Bools:
    """All entries that did not stall, and those of pairs that have no others."""
    others: Bools = np.bincount(place, weights=~stalled, minlength=pairs) > 0
    kept: Bools = ~stalled | ~others[place]
    return kept


def _cheapest(typical: Floats, members: Ints, size: int) -> tuple[float, Floats, Floats]:
    """The ordinary level, nodes' effects (size) and the pairs' own (pairs), zero of most."""
    from scipy.optimize import linprog  # only campaigns with pairs of nodes need them
    from scipy.sparse import csr_matrix, eye_array, hstack

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
