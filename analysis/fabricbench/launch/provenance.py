# SPDX-License-Identifier: Apache-2.0
"""The facts of nodes and lanes that may influence performance, ordered by their likely influence."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fabricbench.launch.host import Host, Nic
from fabricbench.launch.record import Campaign
from fabricbench.site.targets import level_of

KINDS = (
    *("lane", "port", "link", "firmware", "MTU", "PCIe", "adapter", "NUMA", "processor", "frequency", "SMT", "kernel"),
    *("mitigations", "pages", "switch", "stack", "Spack hash", "binding", "MPI variable", "control variable"),
    *("tool", "other variable"),
)
"""Kinds of facts, in order of decreasing influence on the performance of fabric and stack."""

_FABRIC = ("infiniband", "roce", "iwarp", "opa", "cxi", "ipoib", "loopback")
_MATTERS = re.compile(
    r"(amd_iommu|amd_pstate|clocksource|default_hugepagesz|hugepages|hugepagesz|idle|intel_idle\.max_cstate"
    r"|intel_iommu|intel_pstate|iommu|iommu\.\w+|irqaffinity|isolcpus|l1tf|maxcpus|mds|mem|mitigations|no_?hz|nohz_full"
    r"|nopti|nosmt|nospectre_v\d|nr_cpus|numa|numa_balancing|pci|pcie_aspm|preempt|processor\.max_cstate|pti|rcu_nocbs"
    r"|retbleed|spec_store_bypass_disable|spectre_v2|transparent_hugepage|tsc|tsx)(=.*)?"
)
"""Words of a kernel's command line that affect performance."""


class Fact(NamedTuple):
    """The name of a fact. ``of``: the port or vulnerability that it belongs to, if there are several."""

    kind: str
    name: str
    of: str = ""


FactValues = dict[Fact, str]
"""The value of each known fact, as text."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """A campaign with those facts of its launch directories that records do not contain.

    ``hosts``: the facts of each node in order of time, one entry for each change. ``control_variables``: by lane, the
    MPI library's control variables as printed in the wire-up.
    """

    campaign: Campaign
    hosts: Mapping[str, tuple[Host, ...]] = field(default_factory=dict)
    control_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, FactValues]:
        """The lasting facts of each node; the text of a value that changed within the campaign is ``a, later b``."""
        records = self.campaign.records
        ports = {port for record in records if record.launch is not None for port in record.launch.ports}
        return {name: _over_time([node_facts(host, ports) for host in hosts]) for name, hosts in self.hosts.items()}


def node_facts(host: Host, ports: Collection[str] = ()) -> FactValues:
    """Returns the lasting facts of a node.

    Of its interfaces, only those in ``ports``, those of an adapter and the loopback are included, because names of
    virtual interfaces change.
    """
    facts = {fact: str(value) for fact, value in _node_facts(host) if value not in (None, "")}
    for nic in host.nics:
        if nic.name in ports or nic.model or nic.kind in _FABRIC:
            facts |= {fact: str(value) for fact, value in _nic_facts(nic) if value not in (None, "")}
    return facts


def _node_facts(host: Host) -> Iterator[tuple[Fact, object]]:
    yield Fact("NUMA", "NUMA nodes"), host.numa.nodes
    yield Fact("NUMA", "NUMA distances"), "; ".join(" ".join(map(str, row)) for row in host.numa.distances)
    yield Fact("processor", "processor"), host.cpu_model
    if host.instructions:
        yield Fact("processor", "level of x86-64"), level_of(host.instructions)
    yield Fact("processor", "processors online"), host.cores
    yield Fact("processor", "sockets"), host.sockets
    yield Fact("processor", "memory"), host.memory_bytes and f"{host.memory_bytes / 2**30:.3g} GiB"
    yield Fact("frequency", "governor"), host.governor
    yield Fact("frequency", "frequency driver"), host.frequency_driver
    yield Fact("frequency", "boost"), None if host.boost is None else "on" if host.boost else "off"
    yield Fact("SMT", "SMT"), host.smt
    yield Fact("kernel", "kernel"), host.kernel
    if host.kernel_command_line is not None:
        words = [word for word in host.kernel_command_line.split() if _MATTERS.fullmatch(word)]
        yield Fact("kernel", "kernel command line"), " ".join(words) or "no option that affects performance"
    for name, state in host.mitigations.items():
        yield Fact("mitigations", "mitigation", name), state
    yield Fact("pages", "transparent hugepages"), host.transparent_hugepages
    yield Fact("pages", "hugepages"), _plain(host.hugepages)
    if host.topology_address is not None:
        yield Fact("switch", "switches above"), host.topology_address.rpartition(".")[0]


def _nic_facts(nic: Nic) -> Iterator[tuple[Fact, object]]:
    yield Fact("port", "port", nic.name), nic.kind
    yield Fact("link", "link state", nic.name), nic.state
    yield Fact("link", "link rate", nic.name), nic.speed_mbit and f"{nic.speed_mbit:g} Mbit/s"
    yield Fact("link", "link layer", nic.name), nic.link_layer
    yield Fact("firmware", "firmware", nic.name), nic.firmware
    yield Fact("MTU", "MTU", nic.name), _plain(nic.mtu)
    yield Fact("PCIe", "PCIe width", nic.name), nic.pcie_width and f"x{nic.pcie_width:g}"
    yield Fact("PCIe", "PCIe speed", nic.name), nic.pcie_speed
    yield Fact("adapter", "model", nic.name), nic.model
    yield Fact("adapter", "driver", nic.name), nic.driver
    yield Fact("NUMA", "NUMA node", nic.name), _plain(nic.numa_node)


def _plain(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f}"


def _over_time(history: list[FactValues]) -> FactValues:
    values: dict[Fact, list[str]] = {}
    for facts in history:
        for fact, value in facts.items():
            if value not in values.setdefault(fact, []):
                values[fact].append(value)
    return {fact: ", later ".join(texts) for fact, texts in values.items()}
