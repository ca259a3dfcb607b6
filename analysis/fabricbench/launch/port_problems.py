# SPDX-License-Identifier: Apache-2.0
"""Finds ports of a launch's nodes that are down, or whose MTU differs between nodes: possible causes of a failure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from fabricbench.launch.host import Host, Nic

DOWN = ("down", "lowerlayerdown", "DOWN")
"""States of an interface and of an adapter's port without a link."""

MOST_NAMES = 3
"""A longer list of nodes has its first name and their number only."""


def port_problems(ports: Collection[str], hosts: Sequence[Host]) -> str:
    """Returns which of the fabric's ports are down or differ in MTU, at the end of the launch; empty if none.

    An adapter's port and its interface are examined together, whichever of them the fabric declares.
    """
    every = [(host.host, nic) for host in hosts for nic in host.nics]
    names = {*ports, *(nic.interface for _, nic in every if nic.name in ports)}
    nics = [(host, nic) for host, nic in every if {nic.name, nic.interface} & names - {None}]
    down = (f"{nic.name} of {host} is down" for host, nic in nics if nic.state in DOWN)
    return "; ".join([*down, *_different_mtus(nics)])


def _different_mtus(nics: Sequence[tuple[str, Nic]]) -> Iterator[str]:
    mtus: dict[str, dict[float, list[str]]] = defaultdict(lambda: defaultdict(list))
    for host, nic in nics:
        if nic.mtu is not None:
            mtus[nic.name][nic.mtu].append(host)
    for name, by_mtu in mtus.items():
        if len(by_mtu) > 1:
            nodes = ", ".join(f"{mtu:g} on {_some(hosts)}" for mtu, hosts in sorted(by_mtu.items()))
            yield f"the MTU of {name} differs: {nodes}"


def _some(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= MOST_NAMES else f"{hosts[0]} and {len(hosts) - 1} other nodes"
