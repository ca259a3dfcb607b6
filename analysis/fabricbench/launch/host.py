# SPDX-License-Identifier: Apache-2.0
"""The file ``host.<name>``: the facts of a node, and its load from other programs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.launch.node_witness import NodeReport
from fabricbench.launch.witness import CpuList, Report

Reading = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
NotNegative = Annotated[float, Field(strict=True, ge=0)]
Many = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Readings = tuple[Reading | None, Reading | None]
"""The values of a counter before and after the launch; None for a value that could not be read."""


class Topology(BaseModel):
    """The processors of each core, socket and NUMA node; empty if the system does not report them."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    cores: tuple[CpuList, ...] = ()
    sockets: tuple[CpuList, ...] = ()
    numa: tuple[CpuList, ...] = ()


class Numa(BaseModel):
    """The NUMA nodes of a node. ``distances``: from each to each, as in the firmware's table, where 10 is local."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    nodes: Many | None = None
    distances: tuple[tuple[Many, ...], ...] = ()


class Nic(BaseModel):
    """A network interface, a port of an RDMA adapter (``mlx5_0:1``), or ``cxi0``.

    ``model``: PCI vendor and device. ``interface``: of a port of RoCE or iWARP, the network interface that it uses.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    name: str
    kind: str
    driver: str | None = None
    firmware: str | None = None
    model: str | None = None
    speed_mbit: NotNegative | None = None
    mtu: NotNegative | None = None
    pcie_speed: str | None = None
    pcie_width: NotNegative | None = None
    numa_node: float | None = None
    link_layer: str | None = None
    state: str | None = None
    interface: str | None = None


class Host(BaseModel):
    """The facts of a node; None for a fact that the system does not report.

    ``instructions``: the instruction sets of the processor, as flags of ``/proc/cpuinfo`` (``site.targets``).
    ``busy_cpu_seconds``: CPU time of the whole machine within ``seconds``. ``topology_address``: Slurm's, the switches
    from the top down to this node, ``core.leaf3.n17``. ``counters``: by port (``Nic.name``) and counter. ``witness``:
    the sum of the witness reports of the node's ranks, of a launch of many ranks.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    host: str
    boot_id: str | None = None
    kernel: str | None = None
    kernel_command_line: str | None = None
    cpu_model: str | None = None
    cores: Many | None = None
    instructions: tuple[str, ...] | None = None
    topology: Topology = Topology()
    sockets: Many | None = None
    numa: Numa = Numa()
    governor: str | None = None
    frequency_driver: str | None = None
    boost: bool | None = None
    smt: str | None = None
    mitigations: dict[str, str] = {}
    memory_bytes: Many | None = None
    transparent_hugepages: str | None = None
    hugepages: NotNegative | None = None
    topology_address: str | None = None
    nics: tuple[Nic, ...] = ()
    counters: dict[str, dict[str, Readings | None] | None] | None = None
    seconds: NotNegative | None = None
    busy_cpu_seconds: float | None = None
    foreign_cpu_share: NotNegative | None = None
    witness: NodeReport | None = None


def adapter_interfaces(hosts: Iterable[Host]) -> dict[str, dict[str, str]]:
    """Returns by node and port of an RDMA adapter the interface that the port uses; empty if it is unknown."""
    return {host.host: {nic.name: nic.interface or "" for nic in host.nics if ":" in nic.name} for host in hosts}


def switches_between(one: str, other: str) -> int | None:
    """Returns the number of switches between two nodes with these topology addresses; None if they share none.

    The path goes up to their lowest common switch and down again.
    """
    above, beyond = one.split(".")[:-1], other.split(".")[:-1]
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(above, beyond, strict=False)))
    return len(above) + len(beyond) - 2 * common + 1 if common else None


def foreign_cpu_share(hosts: Sequence[Host], reports: Sequence[Report], ranks: int) -> float | None:
    """Returns the largest share of a machine's processors that other programs used during the launch; None if unknown.

    Definition: (busy CPU seconds of the machine - CPU seconds of its ranks) / (cores times seconds), where nodes with
    the same ``boot_id`` are one machine. It needs the reports of all ``ranks``. A value that a node recorded itself has
    priority.
    """
    shares = [host.foreign_cpu_share for host in hosts if host.foreign_cpu_share is not None]
    own: dict[str, float] = defaultdict(float)
    for report in reports:
        own[report.host] += report.cpu_seconds or 0
    reported = len({(report.host, report.rank) for report in reports if report.rank is not None and not report.forked})
    for host in hosts:
        if host.witness is not None:
            own[host.host] += 1e-6 * host.witness.cpu_microseconds
            reported += host.witness.rank_count
    if reported >= ranks and all(report.cpu_seconds is not None for report in reports):
        of_machine: dict[str | None, float] = defaultdict(float)
        for host in hosts:
            of_machine[host.boot_id] += own[host.host]
        shares += [share for host in hosts if (share := _beyond_ranks(host, of_machine[host.boot_id])) is not None]
    return max(shares, default=None)


def _beyond_ranks(host: Host, own: float) -> float | None:
    """Returns the share of a host's processors that others used; ``own``: CPU seconds of the ranks of its machine."""
    if host.foreign_cpu_share is not None or host.boot_id is None:
        return None
    if host.busy_cpu_seconds is None or not host.cores or not host.seconds:
        return None
    return max(0.0, host.busy_cpu_seconds - own) / (host.cores * host.seconds)
