# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself (``host.<name>``), and the load of others that it saw."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from fabricbench.core.witness import CpuList, Report


class Topology(BaseModel):
    """The processors of each core, socket and NUMA node; empty where the system does not tell."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    cores: tuple[CpuList, ...] = ()
    sockets: tuple[CpuList, ...] = ()
    numa: tuple[CpuList, ...] = ()


class Host(BaseModel):
    """A node's facts. ``busy_cpu_seconds`` are those of the whole machine, within ``seconds``."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    host: str
    boot_id: str | None = None
    cores: int | None = None
    topology: Topology = Topology()
    seconds: float | None = None
    busy_cpu_seconds: float | None = None
    foreign_cpu_share: float | None = None


def foreign_cpu_share(hosts: Sequence[Host], reports: Sequence[Report], ranks: int) -> float | None:
    """The largest share of a machine's processors that others used during the launch; None where nobody can tell.

    A launch wrapper that started the ranks itself has said it. Else it is what the machine was busy with beyond its
    ranks' own CPU time, over cores times seconds; for that all ``ranks`` must have reported. Nodes with one
    ``boot_id`` are one machine.
    """
    told = [host.foreign_cpu_share for host in hosts if host.foreign_cpu_share is not None]
    reported = {(report.host, report.rank) for report in reports if report.rank is not None and not report.forked}
    if len(reported) >= ranks and all(report.cpu_seconds is not None for report in reports):
        told += [share for host in hosts if (share := _beyond_ranks(host, hosts, reports)) is not None]
    return max(told, default=None)


def _beyond_ranks(host: Host, hosts: Sequence[Host], reports: Sequence[Report]) -> float | None:
    if host.foreign_cpu_share is not None or host.boot_id is None:
        return None
    if host.busy_cpu_seconds is None or not host.cores or not host.seconds:
        return None
    machine = {other.host for other in hosts if other.boot_id == host.boot_id}
    own = sum(report.cpu_seconds or 0 for report in reports if report.host in machine)
    return max(0.0, host.busy_cpu_seconds - own) / (host.cores * host.seconds)
