# SPDX-License-Identifier: Apache-2.0
"""Computes how much slower a node, or a node pair, is than its peers in the same block: one value per block."""

from dataclasses import dataclass

import numpy as np

from fabricbench.stats.node_pairs import Bools, Floats, Ints, NodePairs, group_medians


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Logarithmic slowdowns of units in blocks, one entry for each unit and block with a comparison.

    A unit is a node in one role, or a node pair. ``unit``, ``value``: shape (m). ``group``: number of the set of
    entries that are compared with each other, those of one block and role; shape (m). ``least``: the slowdown relative
    to the slower of the unit's sets of peers; shape (m).
    """

    unit: Ints
    group: Ints
    value: Floats
    least: Floats


def node_contrasts(measured: NodePairs, stalled: Bools) -> Contrasts:
    """Returns for each node and block the median of the node's pairs minus the median of the pairs without it.

    Units: nodes; for directed pairs, senders and then receivers, as in ``Effects.nodes``, and senders are compared with
    senders only. ``stalled``: entries to exclude, shape (m). A node that meets fewer partners in a block than others
    do, because their number is odd, has no value there: a median of fewer values has another distribution.
    """
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)
    count = int(blocks.max()) + 1
    members = np.stack([measured.first, measured.second + measured.nodes * measured.directed])
    size = measured.nodes * (1 + measured.directed)
    cells = (members * count + blocks).reshape(-1)
    full = _full(cells, measured.nodes * count, size * count, count)

    ordinary = np.tile(~stalled, 2) & full[cells]
    occupied, place = np.unique(cells[ordinary], return_inverse=True)
    own = group_medians(np.tile(measured.slowness, 2)[ordinary], place.reshape(-1))
    unit, block = occupied // count, occupied % count
    without = np.stack([_without_each(measured, ~stalled & (blocks == at)) for at in range(count)], axis=1)
    value = own - without[unit % measured.nodes, block]
    valid = ~np.isnan(value)
    unit, block, value = unit[valid], block[valid], value[valid]
    return Contrasts(unit, block + count * (unit // measured.nodes), value, value)


def pair_contrasts(measured: NodePairs, stalled: Bools, place: Ints) -> Contrasts:
    """Returns for each node pair and block its value minus the medians of the other pairs of its first and second node.

    Units: pairs, by their number in ``place``, shape (m). ``stalled``: entries to exclude, shape (m). ``least``: the
    value minus the larger of the two medians.
    """
    ordinary = ~stalled
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)[ordinary]
    members = np.stack([measured.first, measured.second + measured.nodes * measured.directed])[:, ordinary]
    slowness = measured.slowness[ordinary]
    cells = (members * (int(blocks.max(initial=0)) + 1) + blocks).reshape(-1)
    one, other = _medians_of_others(np.tile(slowness, 2), cells).reshape(2, -1)
    value = slowness - one - other
    valid = ~np.isnan(value)
    return Contrasts(place[ordinary][valid], blocks[valid], value[valid], (slowness - np.fmax(one, other))[valid])


def stall_counts(measured: NodePairs, stalled: Bools) -> Ints:
    """Returns the number of stalled values of each node in each block, shape (nodes, blocks).

    -1 if the node meets fewer partners in the block than others do.
    """
    blocks = np.unique(measured.block, return_inverse=True)[1].reshape(-1)
    count = int(blocks.max()) + 1
    cells = np.concatenate([measured.first, measured.second]) * count + np.tile(blocks, 2)
    size = measured.nodes * count
    sums = np.bincount(cells, weights=np.tile(stalled, 2), minlength=size).astype(np.int64)
    return np.where(_full(cells, size, size, count), sums, -1).reshape(measured.nodes, count)


def _full(places: Ints, role: int, size: int, blocks: int) -> Bools:
    """Returns which (node, block) pairs have as many entries as any other pair of the same block and role."""
    degree = np.bincount(places, minlength=size).reshape(-1, role // blocks, blocks)
    full: Bools = (degree == degree.max(axis=1, keepdims=True)) & (degree > 0)
    return full.reshape(-1)


def _without_each(measured: NodePairs, ordinary: Bools) -> Floats:
    """Returns for each node the median of the kept entries of other nodes, shape (nodes); NaN if there are none."""
    at = np.flatnonzero(ordinary)
    at = at[np.argsort(measured.slowness[at], kind="stable")]
    if not len(at):
        return np.full(measured.nodes, np.nan)
    slowness = measured.slowness[at]
    node = np.arange(measured.nodes)[:, None]
    remaining = np.cumsum((measured.first[at] != node) & (measured.second[at] != node), axis=1, dtype=np.int32)
    total = remaining[:, -1:]
    low, high = (np.argmax(remaining > k, axis=1) for k in ((total - 1) // 2, total // 2))
    return np.where(total[:, 0] > 0, (slowness[low] + slowness[high]) / 2, np.nan)


def _medians_of_others(values: Floats, group: Ints) -> Floats:
    """Returns for each value the median of the others of its group, shape (m); NaN if it is alone."""
    order = np.lexsort((values, group))
    ordered = values[order]
    first = np.diff(group[order], prepend=-1) != 0
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    size = np.bincount(np.cumsum(first) - 1)[np.cumsum(first) - 1]
    own = np.arange(len(values)) - start
    low, high = (k + (k >= own) for k in ((size - 2) // 2, (size - 1) // 2))
    alone = size == 1
    last = len(values) - 1
    medians = (ordered[np.minimum(start + low, last)] + ordered[np.minimum(start + high, last)]) / 2
    result = np.empty(len(values))
    result[order] = np.where(alone, np.nan, medians)
    return result
