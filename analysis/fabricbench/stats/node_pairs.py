# SPDX-License-Identifier: Apache-2.0
"""Divides the slowness of all node pairs over the blocks of a campaign into effects of nodes and effects of pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SLOW_NODE, FAST_NODE = 0.8, 1.2
"""The costs of a node's effect relative to a pair's effect of the same size, for slow and for fast nodes. They select
the more likely explanation with few nodes: two slow pairs with a common node are an effect of that node, and one slow
pair of three nodes does not make the third node fast.
"""

_POLISH = 5
"""Iterations in which the blocks' levels and the pairs' medians are subtracted from each other if entries are
excluded.
"""


@dataclass(frozen=True, slots=True)
class NodePairs:
    """Measured values, one entry for each node pair and block.

    ``slowness``: the logarithm of a time, shape (m). ``first``, ``second``: the numbers of the pair's nodes, 0 to
    ``nodes`` - 1, shape (m). ``block``: numbers of blocks, shape (m). ``directed``: the first node sends and the second
    receives, and a node may be slow in either role. Otherwise each pair occurs once, with its nodes in the same order
    in all blocks.
    """

    nodes: int
    first: Ints
    second: Ints
    block: Ints
    slowness: Floats
    directed: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """Logarithmic slowdowns of nodes, and of pairs in addition to those of their nodes.

    ``nodes``: shape (nodes); for directed pairs shape (2 nodes), as senders and then as receivers. ``pairs``: shape
    (pairs). ``first``, ``second``: nodes of the pairs, shape (pairs), in the order of ``numbered``. ``typical``:
    slowness of the pairs, shape (pairs), as median over blocks after subtraction of each block's level. ``ordinary``:
    slowness of a pair without effects.
    """

    nodes: Floats
    pairs: Floats
    first: Ints
    second: Ints
    typical: Floats
    ordinary: float


def estimate_effects(measured: NodePairs, stalled: Bools | None = None) -> Effects:
    """Estimates the effects of nodes and of pairs.

    Definition: y_ijb = c_b + a_i + a_j + e_ij; for directed pairs s_i + r_j replaces a_i + a_j. The pairs' medians over
    blocks are divided into the explanation of least cost, sum of |e| + ``SLOW_NODE`` a for a > 0 + ``FAST_NODE`` |a|
    for a < 0: least absolute deviations with an L1 penalty, a linear program with an exact solution.
    Assumptions: slow nodes and pairs are few. The estimate has no standard error; ``contrasts`` and ``exact`` test
    whether an effect may be chance. With two nodes, effects of nodes and of their pair cannot be distinguished.
    Source: Tukey (1977), Exploratory Data Analysis, chapter 11 (median polish, whose coordinate steps can stop too
    early with few nodes); Bloomfield & Steiger (1983), Least Absolute Deviations; Tibshirani (1996), JRSS B 58 (L1).

    ``stalled``: entries to exclude, shape (m); entries of a pair that has no others are kept.
    """
    first, second, place = numbered(measured)
    members = np.stack([first, second + measured.nodes * measured.directed])
    size = measured.nodes * (1 + measured.directed)

    selection = np.ones(len(place), dtype=bool) if stalled is None else _ordinary(stalled, place, len(first))
    blocks = np.unique(measured.block[selection], return_inverse=True)[1].reshape(-1)
    slowness = measured.slowness[selection]
    level = group_medians(slowness, blocks)
    typical = group_medians(slowness - level[blocks], place[selection])
    for _ in range(0 if selection.all() else _POLISH):  # blocks keep different pairs, which changes their medians
        level = group_medians(slowness - typical[place[selection]], blocks)
        typical = group_medians(slowness - level[blocks], place[selection])
    ordinary, nodes, own = _cheapest(typical, members, size)
    return Effects(nodes, own, first, second, typical, ordinary)


def numbered(measured: NodePairs) -> tuple[Ints, Ints, Ints]:
    """Returns the first and the second node of each pair, both shape (pairs), and the pair of each entry, shape (m)."""
    pairs, place = np.unique(measured.first * measured.nodes + measured.second, return_inverse=True)
    return pairs // measured.nodes, pairs % measured.nodes, place.reshape(-1)


def group_medians(values: Floats, group: Ints) -> Floats:
    """Returns the median of each group, shape (groups); groups are numbered from 0 without gaps."""
    ordered = values[np.lexsort((values, group))]
    count = np.bincount(group)
    start = np.cumsum(count) - count
    medians: Floats = (ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2
    return medians


def _ordinary(stalled: Bools, place: Ints, pairs: int) -> Bools:
    """Returns the entries that did not stall, and those of pairs that have no others, shape (m)."""
    others: Bools = np.bincount(place, weights=~stalled, minlength=pairs) > 0
    ordinary: Bools = ~stalled | ~others[place]
    return ordinary


def _cheapest(typical: Floats, members: Ints, size: int) -> tuple[float, Floats, Floats]:
    """Returns the ordinary level, the effects of nodes, shape (size), and of pairs, shape (pairs); most are zero."""
    from scipy.optimize import linprog  # only campaigns with node pairs need SciPy
    from scipy.sparse import csr_matrix, eye_array, hstack

    count = len(typical)
    rows = np.tile(np.arange(count), 2)
    design = csr_matrix((np.ones(2 * count), (rows, members.reshape(-1))), shape=(count, size))
    constant, own = csr_matrix(np.ones((count, 1))), eye_array(count, format="csr")
    price = np.concatenate([[0.0], np.full(size, SLOW_NODE), np.full(size, FAST_NODE), np.ones(2 * count)])
    solution = linprog(
        price,
        A_eq=hstack([constant, design, -design, own, -own], format="csr"),
        b_eq=typical,
        bounds=[(None, None)] + [(0, None)] * (2 * size + 2 * count),
        method="highs",
    ).x
    ordinary, effects = float(solution[0]), solution[1:]
    nodes = effects[:size] - effects[size : 2 * size]
    rest = effects[2 * size :]
    return ordinary, nodes, rest[:count] - rest[count:]
