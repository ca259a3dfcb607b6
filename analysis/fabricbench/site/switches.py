# SPDX-License-Identifier: Apache-2.0
"""Chooses nodes near to each other, on one switch, or far from each other, on different switches."""

from collections.abc import Mapping, Sequence

from fabricbench.errors import BadInput
from fabricbench.site.hostlist import expand
from fabricbench.site.node_choice import chosen_nodes
from fabricbench.site.transports import Distance

RULES: Mapping[Distance, str] = {"near": "near-1", "far": "far-1"}
"""The names of the rules in the facts of a launch. Another rule gets another name."""

Switches = Mapping[str, Sequence[str]]
"""The nodes of each switch, by its name."""


def switches_of(text: str, where: str) -> dict[str, tuple[str, ...]]:
    """Returns the nodes of each switch in a text such as ``leaf1=n[1-4] leaf2=n[5-8]``.

    Raises BadInput, with ``where``, for another text.
    """
    switches = {}
    for word in text.split():
        name, separator, nodes = word.partition("=")
        if not (name and separator and (names := expand(nodes))):
            expected = "switches with their nodes, as in leaf1=n[1-4] leaf2=n[5-8]"
            raise BadInput(f"'{word[:40]}' is not a switch", where=where, expected=expected)
        switches[name] = names
    return switches


def within(switches: Switches, pool: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the switches with their nodes in ``pool``, in its order; those without any are left out."""
    members = {name: tuple(node for node in pool if node in set(nodes)) for name, nodes in switches.items()}
    return {name: nodes for name, nodes in members.items() if nodes}


def objection(switches: Switches, count: int, distance: Distance) -> str:
    """Returns why ``count`` nodes cannot be near or far; empty if they can."""
    most = max(map(len, switches.values()), default=0)
    if distance == "near" and most < count:
        return f"no switch has {count} nodes of the fabric, the largest has {most}"
    if distance == "far" and len(switches) < count:
        return f"{count} nodes need {count} switches, those of the fabric are on {len(switches)}"
    return ""


def nodes_at(switches: Switches, count: int, distance: Distance, block: int, seed: int) -> tuple[str, ...]:
    """Returns the nodes that a block's launches on ``count`` nodes use, at this distance.

    ``near``: the blocks take turns among the switches with enough nodes, and within a switch among its nodes, each by
    ``chosen_nodes``. ``far``: the blocks take turns among groups of ``count`` switches, and each switch gives its nodes
    in turn. Only the arguments determine the choice. ``objection`` is empty for these arguments.
    """
    if distance == "near":
        names = [name for name, nodes in switches.items() if len(nodes) >= count]
        (name,) = chosen_nodes(names, 1, block, seed)
        return chosen_nodes(switches[name], count, _turn(names, 1, name, block, seed), seed)
    names = list(switches)
    chosen = chosen_nodes(names, count, block, seed)
    return tuple(chosen_nodes(switches[name], 1, _turn(names, count, name, block, seed), seed)[0] for name in chosen)


def _turn(names: Sequence[str], count: int, name: str, block: int, seed: int) -> int:
    """Returns the number of earlier blocks that chose a switch."""
    return sum(name in chosen_nodes(names, count, earlier, seed) for earlier in range(block))
