# SPDX-License-Identifier: Apache-2.0
"""Where ranks were to run and by which port they were to send: what was asked against what was seen."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fabricbench.attestation.ports import port_problem, port_shares
from fabricbench.launch.facts import Launch
from fabricbench.launch.host import Host
from fabricbench.launch.record import Attestation, BindingCheck, RankBinding
from fabricbench.launch.witness import Report
from fabricbench.site.transports import Binding

Placed = tuple[str, int, frozenset[int]]
"""A rank: its node, its number, the processors that it could run on."""


def processors(text: str) -> frozenset[int]:
    """``0-3,8``, as the kernel writes it."""
    ends = [[int(number) for number in part.split("-")] for part in text.split(",") if part]
    return frozenset(cpu for first, *last in ends for cpu in range(first, (last or [first])[0] + 1))


def check_binding(
    launch: Launch, reports: Sequence[Report], hosts: Sequence[Host], attestation: Attestation
) -> BindingCheck:
    """The ranks' processors as they saw them, the ports that carried the bytes, and what differs from what was asked.

    Of a rank's several processes the one counts that worked most; of its processors those at the end, as a stack may
    bind its ranks itself.
    """
    placed = _placed(reports)
    ranks = "" if launch.binding == "none" else _problem(launch, [rank[:3] for rank in placed], hosts)
    port = port_problem(launch, attestation.traffic, attestation.payload, attestation.ports)
    return BindingCheck(
        requested=launch.binding,
        port=launch.port,
        problem="; ".join(problem for problem in (ranks, port) if problem),
        ranks=tuple(RankBinding(host=host, rank=rank, cpus=text) for host, rank, _cpus, text in placed),
        port_shares=port_shares(launch, attestation.ports),
    )


def _placed(reports: Iterable[Report]) -> list[tuple[str, int, frozenset[int], str]]:
    most: dict[tuple[str, int], Report] = {}
    for report in reports:
        if report.rank is None or report.cpus is None:
            continue
        known = most.setdefault((report.host, report.rank), report)
        if (report.cpu_seconds or 0) > (known.cpu_seconds or 0):
            most[report.host, report.rank] = report
    texts = {place: report.cpus_at_end or report.cpus or "" for place, report in most.items()}
    return sorted((host, rank, processors(text), text) for (host, rank), text in texts.items())


def _problem(launch: Launch, placed: Sequence[Placed], hosts: Sequence[Host]) -> str:
    """Empty where every rank stayed within one core, socket or NUMA node, and no core had to serve two of them."""
    asked = f"asked for a {_NAMES[launch.binding]} for each rank"
    if len(placed) < launch.ranks:
        return f"{asked}, but {launch.ranks - len(placed)} of {launch.ranks} ranks left no word where they ran"
    domains = {host.host: _domains(host, launch.binding) for host in hosts}
    if missing := sorted({host for host, _, _ in placed if not domains.get(host)}):
        return f"{asked}, but {missing[0]} does not say which processors are one"
    homes: dict[tuple[str, frozenset[int]], list[int]] = defaultdict(list)
    loose = []
    for host, rank, cpus in placed:
        home = next((domain for domain in domains[host] if cpus and cpus <= domain), None)
        if home is None:
            loose.append(f"rank {rank} on {host} could run on {len(cpus)} processors")
        else:
            homes[host, home].append(rank)
    if loose:
        return f"{asked}, but {loose[0]}" + (f", and {len(loose) - 1} more likewise" if len(loose) > 1 else "")
    cores = {host.host: _domains(host, "core") for host in hosts}
    return next((f"{asked}, but {text}" for text in _shared_cores(placed, homes, cores)), "")


def _shared_cores(
    placed: Sequence[Placed],
    homes: Mapping[tuple[str, frozenset[int]], Sequence[int]],
    cores: Mapping[str, Sequence[frozenset[int]]],
) -> Iterable[str]:
    """Ranks that could only run on fewer cores than there are of them."""
    for (host, home), ranks in sorted(homes.items(), key=lambda item: (item[0][0], item[1])):
        allowed = frozenset[int]().union(*(cpus for where, rank, cpus in placed if where == host and rank in ranks))
        usable = sum(1 for core in cores[host] if core & allowed & home)
        if len(ranks) > usable:
            named = ", ".join(map(str, ranks[:4])) + (", …" if len(ranks) > 4 else "")
            yield f"ranks {named} on {host} shared {usable} core{'s' if usable > 1 else ''}"


_NAMES: Mapping[Binding, str] = {"core": "core", "numa": "NUMA node", "socket": "socket"}


def _domains(host: Host, binding: Binding) -> tuple[frozenset[int], ...]:
    topology = host.topology
    lists = {"core": topology.cores, "numa": topology.numa, "socket": topology.sockets}[binding]
    return tuple(processors(text) for text in lists)
