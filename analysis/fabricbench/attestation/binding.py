# SPDX-License-Identifier: Apache-2.0
"""Checks CPU binding and port selection of a launch: the requested ones against the observed ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import attrgetter, itemgetter
from types import MappingProxyType

from fabricbench.attestation.requested_port import port_problem, port_shares
from fabricbench.launch.facts import Launch
from fabricbench.launch.host import Host
from fabricbench.launch.node_witness import Nodes
from fabricbench.launch.record import Attestation, BindingCheck, NodeBinding, RankBinding
from fabricbench.launch.witness import Report
from fabricbench.launch.witness_sums import list_text
from fabricbench.site.transports import Binding


@dataclass(frozen=True, slots=True)
class _Group:
    """Ranks of a node that could run on the same processors; ``ranks`` and ``text``, the processors, as ``0-3,8``."""

    host: str
    ranks: str
    count: int
    text: str

    @property
    def cpus(self) -> frozenset[int]:
        """The processors."""
        return processors(self.text)

    @property
    def first(self) -> tuple[str, int]:
        """The node and its first rank in this group."""
        return self.host, int(self.ranks.partition(",")[0].partition("-")[0])

    @property
    def numbers(self) -> Iterator[int]:
        """The ranks in order."""
        return _numbers(self.ranks)


def processors(text: str) -> frozenset[int]:
    """Returns the processor numbers of a kernel list such as ``0-3,8``."""
    return frozenset(_numbers(text))


def _numbers(text: str) -> Iterator[int]:
    """Yields the numbers of a kernel list in its order."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def check_binding(
    launch: Launch,
    reports: Sequence[Report],
    hosts: Sequence[Host],
    attestation: Attestation,
    nodes: Nodes = MappingProxyType({}),
) -> BindingCheck:
    """Returns the processors of each rank, the shares of the ports, and how both differ from the request.

    If a rank had several processes, the one with the most CPU time counts. Its processors at its end count, because an
    MPI library may bind its ranks itself. ``nodes``: the sums of the reports by node, if there are any.
    """
    groups = _groups_of_nodes(nodes) if nodes else _groups(reports)
    ranks = "" if launch.binding == "none" else _problem(launch, groups, hosts)
    port = port_problem(launch, attestation.traffic, attestation.payload, attestation.ports)
    each = [] if nodes else sorted((one.host, rank, one.text) for one in groups for rank in one.numbers)
    return BindingCheck(
        requested=launch.binding,
        port=launch.port,
        problem="; ".join(problem for problem in (ranks, port) if problem),
        ranks=tuple(RankBinding(host=host, rank=rank, cpus=text) for host, rank, text in each),
        nodes=tuple(NodeBinding(host=one.host, ranks=one.ranks, cpus=one.text) for one in groups if nodes),
        port_shares=port_shares(launch, attestation.ports),
    )


def _groups(reports: Iterable[Report]) -> list[_Group]:
    busiest: dict[tuple[str, int], Report] = {}
    for report in reports:
        if report.rank is None or report.cpus is None:
            continue
        earlier = busiest.setdefault((report.host, report.rank), report)
        if (report.cpu_seconds or 0) > (earlier.cpu_seconds or 0):
            busiest[report.host, report.rank] = report
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (host, rank), report in sorted(busiest.items(), key=itemgetter(0)):
        ranks[host, report.cpus_at_end or report.cpus or ""].append(rank)
    return [_Group(host, list_text(numbers), len(numbers), text) for (host, text), numbers in ranks.items()]


def _groups_of_nodes(nodes: Nodes) -> list[_Group]:
    return [
        _Group(host, group.ranks, group.count, group.cpus)
        for host in sorted(nodes)
        for group in nodes[host].ranks
        if group.cpus is not None
    ]


def _problem(launch: Launch, groups: Sequence[_Group], hosts: Sequence[Host]) -> str:
    """Returns how the ranks' processors differ from the requested binding; empty if they do not.

    Every rank must stay within one core, NUMA node or socket, and no core may serve two ranks.
    """
    request = f"a {_NAMES[launch.binding]} was requested for each rank"
    if (reported := sum(group.count for group in groups)) < launch.ranks:
        return f"{request}, but {launch.ranks - reported} of {launch.ranks} ranks did not report where they ran"
    domains = {host.host: _domains(host, launch.binding) for host in hosts}
    if silent_hosts := sorted({group.host for group in groups if not domains.get(group.host)}):
        return f"{request}, but {silent_hosts[0]} did not report its processor topology"
    by_domain: dict[tuple[str, frozenset[int]], list[_Group]] = defaultdict(list)
    unbound: list[_Group] = []
    for group in groups:
        cpus = group.cpus
        domain = next((one for one in domains[group.host] if cpus and cpus <= one), None)
        if domain is None:
            unbound.append(group)
        else:
            by_domain[group.host, domain].append(group)
    if unbound:
        first, others = min(unbound, key=attrgetter("first")), sum(group.count for group in unbound) - 1
        text = f"rank {first.first[1]} on {first.host} could run on {len(first.cpus)} processors"
        return f"{request}, but {text}" + (f"; so could {others} more" if others else "")
    cores = {host.host: _domains(host, "core") for host in hosts}
    return next((f"{request}, but {text}" for text in _shared_cores(by_domain, cores)), "")


def _shared_cores(
    by_domain: Mapping[tuple[str, frozenset[int]], Sequence[_Group]], cores: Mapping[str, Sequence[frozenset[int]]]
) -> Iterable[str]:
    """Yields a text for each group of ranks that could run on fewer cores than it has ranks."""
    for (host, domain), groups in sorted(by_domain.items(), key=lambda item: min(group.first for group in item[1])):
        allowed = frozenset[int]().union(*(group.cpus for group in groups))
        usable = sum(1 for core in cores[host] if core & allowed & domain)
        if sum(group.count for group in groups) > usable:
            ranks = list(islice(merge(*(group.numbers for group in groups)), 5))
            text = ", ".join(map(str, ranks[:4])) + (", …" if len(ranks) > 4 else "")
            yield f"ranks {text} on {host} shared {usable} core{'s' if usable > 1 else ''}"


_NAMES: Mapping[Binding, str] = {"core": "core", "numa": "NUMA node", "socket": "socket"}


def _domains(host: Host, binding: Binding) -> tuple[frozenset[int], ...]:
    topology = host.topology
    lists = {"core": topology.cores, "numa": topology.numa, "socket": topology.sockets}[binding]
    return tuple(processors(text) for text in lists)
