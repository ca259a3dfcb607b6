# SPDX-License-Identifier: Apache-2.0
"""Checks where the ranks of a launch ran: on as many nodes as its scale has, and in the recorded order over them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fabricbench.launch.facts import Launch
from fabricbench.launch.node_witness import Nodes
from fabricbench.launch.witness import Report


@dataclass(frozen=True, slots=True)
class RanksOfNode:
    """The ranks of a node: the first, the last, and their number."""

    host: str
    first: int
    last: int
    count: int


def ranks_of_nodes(reports: Iterable[Report], nodes: Nodes) -> list[RanksOfNode]:
    """Returns the ranks of each node, from the sums of the nodes' reports if there are any, else from the reports."""
    if nodes:
        groups = {host: node.ranks for host, node in nodes.items() if node.rank_count}
        return [
            RanksOfNode(
                host=host,
                first=min(int(one.ranks.partition(",")[0].partition("-")[0]) for one in groups[host]),
                last=max(int(one.ranks.rpartition(",")[2].rpartition("-")[2]) for one in groups[host]),
                count=sum(one.count for one in groups[host]),
            )
            for host in sorted(groups)
        ]
    ranks: dict[str, set[int]] = defaultdict(set)
    for report in reports:
        if report.rank is not None and not report.forked:
            ranks[report.host].add(report.rank)
    return [RanksOfNode(host, min(ranks[host]), max(ranks[host]), len(ranks[host])) for host in sorted(ranks)]


def placement_problem(launch: Launch, nodes: Iterable[RanksOfNode]) -> str:
    """Returns how the nodes of the ranks differ from the launch's scale and placement.

    Empty if they do not, or if not all ranks reported: a killed rank leaves no report. Empty too if all ranks were on
    one node: sockets and ports then show that nothing left it.
    """
    nodes = list(nodes)
    if sum(node.count for node in nodes) < launch.ranks or len(nodes) < 2 or launch.mode == "wireup":
        return ""
    if len(nodes) != launch.nodes:
        return f"all {launch.ranks} ranks ran on {len(nodes)} nodes, and the launch has {launch.nodes}"
    step = launch.nodes if launch.placement == "cyclic" else 1
    for node in nodes if launch.placement else ():
        if node.last - node.first != (node.count - 1) * step:
            ranks = f"the {node.count} ranks {node.first} to {node.last}"
            return f"{ranks} were on {node.host}, which is not the placement {launch.placement}"
    return ""
