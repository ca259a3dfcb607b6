# SPDX-License-Identifier: Apache-2.0
"""How much slower a node, or a pair of nodes, is than its peers of the same block: one value per block, for tests."""

from dataclasses import dataclass

import numpy as np

from fabricbench.stats.node_pairs import Bools, Floats, Ints, NodePairs, group_medians


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Logarithmic slowdowns of units in blocks, an entry per unit and block in which it can be compared.

    ``unit``, ``value``: shape (m). ``group``: the entries that are compared with each other, of one block and one
    role; by number, shape (m). ``least``: the slowdown against each set of peers that a person would look at, and the
    smaller where there are two; shape (m).
    """

    unit: Ints
    group: Ints
    value: Floats
    least: Floats


def node_contrasts(measured: NodePairs, stalled: Bools) -> Contrasts:
    """Of each node and block: the median of the node's pairs less that of the pairs without it.

    Units: nodes or, of directed pairs, senders and then receivers, as in ``Effects.nodes``; senders are compared with
    senders. ``stalled``, shape (m): entries to leave out. A node that meets fewer partners in a block than others do,
    because their number is odd, has no value there: a median of fewer values has another distribution.
    """
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)
    count = int(blocks.max()) + 1
    members = np.stack([measured.first, measured.second + measured.nodes * measured.directed])
    size = measured.nodes * (1 + measured.directed)
    cells = (members * count + blocks).reshape(-1)
    full = _full(cells, measured.nodes * count, size * count, count)

    kept = np.tile(~stalled, 2) & full[cells]
    found, place = np.unique(cells[kept], return_inverse=True)
    own = group_medians(np.tile(measured.slowness, 2)[kept], place.reshape(-1))
    unit, block = found // count, found % count
    without = np.stack([_without_each(measured, ~stalled & (blocks == at)) for at in range(count)], axis=1)
    value = own - without[unit % measured.nodes, block]
    there = ~np.isnan(value)
    unit, block, value = unit[there], block[there], value[there]
    return Contrasts(unit, block + count * (unit // measured.nodes), value, value)


def pair_contrasts(measured: NodePairs, stalled: Bools, place: Ints) -> Contrasts:
    """Of each pair and block: its value less the medians of the other pairs of its first and of its second node.

    Units: pairs, by their number in ``place``, shape (m). ``stalled``, shape (m): entries to leave out. ``least``: the
    value less the larger of the two medians.
    """
    kept = ~stalled
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)[kept]
    members = np.stack([measured.first, measured.second + measured.nodes * measured.directed])[:, kept]
    slowness = measured.slowness[kept]
    cells = (members * (int(blocks.max(initial=0)) + 1) + blocks).reshape(-1)
    one, other = _medians_of_others(np.tile(slowness, 2), cells).reshape(2, -1)
    value = slowness - one - other
    there = ~np.isnan(value)
    return Contrasts(place[kept][there], blocks[there], value[there], (slowness - np.fmax(one, other))[there])


def stall_counts(measured: NodePairs, stalled: Bools) -> Ints:
    """How many stalled values each node has in each block, shape (nodes, blocks); -1 where it meets fewer partners
    than others do."""
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)
    count = int(blocks.max()) + 1
    cells = np.concatenate([measured.first, measured.second]) * count + np.tile(blocks, 2)
    size = measured.nodes * count
    found = np.bincount(cells, weights=np.tile(stalled, 2), minlength=size).astype(np.int64)
    return np.where(_full(cells, size, size, count), found, -1).reshape(measured.nodes, count)


def _full(cells: Ints, role: int, size: int, blocks: int) -> Bools:
    """Which cells, of a node in a block, have as many entries as any of the same block and role."""
    degree = np.bincount(cells, minlength=size).reshape(-1, role // blocks, blocks)
    full: Bools = (degree == degree.max(axis=1, keepdims=True)) & (degree > 0)
    return full.reshape(-1)


def _without_each(measured: NodePairs, kept: Bools) -> Floats:
    """For each node the median of the kept entries that are not its own, shape (nodes); NaN where there are none."""
    at = np.flatnonzero(kept)
    at = at[np.argsort(measured.slowness[at], kind="stable")]
    if not len(at):
        return np.full(measured.nodes, np.nan)
    slowness = measured.slowness[at]
    node = np.arange(measured.nodes)[:, None]
    left = np.cumsum((measured.first[at] != node) & (measured.second[at] != node), axis=1, dtype=np.int32)
    total = left[:, -1:]
    low, high = (np.argmax(left > k, axis=1) for k in ((total - 1) // 2, total // 2))
    return np.where(total[:, 0] > 0, (slowness[low] + slowness[high]) / 2, np.nan)


def _medians_of_others(values: Floats, group: Ints) -> Floats:
    """For each value the median of the others of its group, shape (m); NaN where it is alone."""
    order = np.lexsort((values, group))
    ordered = values[order]
    first = np.diff(group[order], prepend=-1) != 0
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    size = np.bincount(np.cumsum(first) - 1)[np.cumsum(first) - 1]
    own = np.arange(len(values)) - start
    low, high = (k + (k >= own) for k in ((size - 2) // 2, (size - 1) // 2))
    alone = size == 1
    last = len(values) - 1
    found = (ordered[np.minimum(start + low, last)] + ordered[np.minimum(start + high, last)]) / 2
    result = np.empty(len(values))
    result[order] = np.where(alone, np.nan, found)
    return result
