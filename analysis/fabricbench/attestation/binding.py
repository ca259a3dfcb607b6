# SPDX-License-Identifier: Apache-2.0
"""Checks CPU binding and port selection of a launch: the requested ones against the observed ones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fabricbench.attestation.requested_port import port_problem, port_shares
from fabricbench.launch.facts import Launch
from fabricbench.launch.host import Host
from fabricbench.launch.record import Attestation, BindingCheck, RankBinding
from fabricbench.launch.witness import Report
from fabricbench.site.transports import Binding

Placement = tuple[str, int, frozenset[int]]
"""A rank: its node, its number, and the processors on which it could run."""


def processors(text: str) -> frozenset[int]:
    """Returns the processor numbers of a kernel list such as ``0-3,8``."""
    ends = [[int(number) for number in part.split("-")] for part in text.split(",") if part]
    return frozenset(cpu for first, *last in ends for cpu in range(first, (last or [first])[0] + 1))


def check_binding(
    launch: Launch, reports: Sequence[Report], hosts: Sequence[Host], attestation: Attestation
) -> BindingCheck:
    """Returns the processors of each rank, the shares of the ports, and how both differ from the request.

    If a rank had several processes, the one with the most CPU time counts. Its processors at its end count, because an
    MPI library may bind its ranks itself.
    """
    placements = _placements(reports)
    ranks = "" if launch.binding == "none" else _problem(launch, [rank[:3] for rank in placements], hosts)
    port = port_problem(launch, attestation.traffic, attestation.payload, attestation.ports)
    return BindingCheck(
        requested=launch.binding,
        port=launch.port,
        problem="; ".join(problem for problem in (ranks, port) if problem),
        ranks=tuple(RankBinding(host=host, rank=rank, cpus=text) for host, rank, _cpus, text in placements),
        port_shares=port_shares(launch, attestation.ports),
    )


def _placements(reports: Iterable[Report]) -> list[tuple[str, int, frozenset[int], str]]:
    busiest: dict[tuple[str, int], Report] = {}
    for report in reports:
        if report.rank is None or report.cpus is None:
            continue
        earlier = busiest.setdefault((report.host, report.rank), report)
        if (report.cpu_seconds or 0) > (earlier.cpu_seconds or 0):
            busiest[report.host, report.rank] = report
    texts = {place: report.cpus_at_end or report.cpus or "" for place, report in busiest.items()}
    return sorted((host, rank, processors(text), text) for (host, rank), text in texts.items())


def _problem(launch: Launch, placements: Sequence[Placement], hosts: Sequence[Host]) -> str:
    """Returns how the ranks' processors differ from the requested binding; empty if they do not.

    Every rank must stay within one core, NUMA node or socket, and no core may serve two ranks.
    """
    request = f"a {_NAMES[launch.binding]} was requested for each rank"
    if len(placements) < launch.ranks:
        return f"{request}, but {launch.ranks - len(placements)} of {launch.ranks} ranks did not report where they ran"
    domains = {host.host: _domains(host, launch.binding) for host in hosts}
    if silent_hosts := sorted({host for host, _, _ in placements if not domains.get(host)}):
        return f"{request}, but {silent_hosts[0]} did not report its processor topology"
    by_domain: dict[tuple[str, frozenset[int]], list[int]] = defaultdict(list)
    unbound = []
    for host, rank, cpus in placements:
        domain = next((one for one in domains[host] if cpus and cpus <= one), None)
        if domain is None:
            unbound.append(f"rank {rank} on {host} could run on {len(cpus)} processors")
        else:
            by_domain[host, domain].append(rank)
    if unbound:
        return f"{request}, but {unbound[0]}" + (f"; so could {len(unbound) - 1} more" if len(unbound) > 1 else "")
    cores = {host.host: _domains(host, "core") for host in hosts}
    return next((f"{request}, but {text}" for text in _shared_cores(placements, by_domain, cores)), "")


def _shared_cores(
    placements: Sequence[Placement],
    by_domain: Mapping[tuple[str, frozenset[int]], Sequence[int]],
    cores: Mapping[str, Sequence[frozenset[int]]],
) -> Iterable[str]:
    """Yields a text for each group of ranks that could run on fewer cores than it has ranks."""
    for (host, domain), ranks in sorted(by_domain.items(), key=lambda item: (item[0][0], item[1])):
        allowed = frozenset[int]().union(*(cpus for where, rank, cpus in placements if where == host and rank in ranks))
        usable = sum(1 for core in cores[host] if core & allowed & domain)
        if len(ranks) > usable:
            text = ", ".join(map(str, ranks[:4])) + (", …" if len(ranks) > 4 else "")
            yield f"ranks {text} on {host} shared {usable} core{'s' if usable > 1 else ''}"


_NAMES: Mapping[Binding, str] = {"core": "core", "numa": "NUMA node", "socket": "socket"}


def _domains(host: Host, binding: Binding) -> tuple[frozenset[int], ...]:
    topology = host.topology
    lists = {"core": topology.cores, "numa": topology.numa, "socket": topology.sockets}[binding]
    return tuple(processors(text) for text in lists)
