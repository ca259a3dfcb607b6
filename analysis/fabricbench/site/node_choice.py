# SPDX-License-Identifier: Apache-2.0
"""Chooses the nodes of a launch that needs fewer nodes than the fabric has."""

import random
from collections.abc import Sequence

RULE = "rotation-1"
"""The name of the rule in the facts of a launch. Another rule gets another name."""


def chosen_nodes(names: Sequence[str], count: int, block: int, seed: int) -> tuple[str, ...]:
    """Returns the nodes that a block's launches on ``count`` nodes use, in the order of ``names``.

    The nodes are shuffled and divided into groups of ``count``; each block takes the next group. When less than a group
    remains, the remaining nodes come first in the next shuffle. So the first ceil(N / count) blocks of N nodes cover
    every node, each node is used equally often, and its partners change. Launches of one block on equally many nodes
    share their nodes, so that lanes and benchmarks are compared on the same ones. Only the arguments determine the
    choice; the order of ``names`` matters. Raises ValueError if ``names`` has fewer than ``count``.
    """
    if not 1 <= count <= len(names):
        raise ValueError(f"{count} of {len(names)} nodes")
    if count == len(names):
        return tuple(names)
    numbers = random.Random(f"{seed} {count} {len(names)}")
    order = list(range(len(names)))
    numbers.shuffle(order)
    first = 0
    for _ in range(block):
        first += count
        if len(order) - first < count:
            used, remaining = order[:first], order[first:]
            numbers.shuffle(used)
            order, first = remaining + used, 0
    return tuple(names[at] for at in sorted(order[first : first + count]))
