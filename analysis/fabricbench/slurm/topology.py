# SPDX-License-Identifier: Apache-2.0
"""The switches of a cluster as Slurm knows them."""

import re
from collections.abc import Iterable

from fabricbench.slurm import state
from fabricbench.slurm.state import NoAnswer

_LEAF = re.compile(r"^(?:SwitchName|BlockName)=(\S+)(?: .*)? Nodes=(\S+)")
_LEVEL = re.compile(r" Level=(\d+)")


def leaf_switches() -> tuple[str, ...]:
    """Returns each switch that nodes are connected to, with its nodes: ``leaf1=n[1-4]``; none if Slurm knows none."""
    try:
        return parsed(state.topology().splitlines())
    except NoAnswer:
        return ()


def parsed(lines: Iterable[str]) -> tuple[str, ...]:
    """Returns the leaf switches in the output of ``scontrol show topology``.

    Switches above the lowest level list the nodes below them too and are left out. Blocks of ``topology/block`` count
    as switches.
    """
    leaves = []
    for line in lines:
        match, level = _LEAF.match(line.strip()), _LEVEL.search(line)
        if match and (level is None or level[1] == "0") and match[2] != "(null)":
            leaves.append(f"{match[1]}={match[2]}")
    return tuple(leaves)
