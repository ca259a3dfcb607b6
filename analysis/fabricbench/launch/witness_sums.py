# SPDX-License-Identifier: Apache-2.0
"""Adds up the witness reports of a node's processes, as ``fabricbench-node`` does for launches of many ranks."""

from collections import defaultdict
from collections.abc import Iterable

from fabricbench.launch.node_witness import Carried, NodeReport, RanksOnCpus, SummedInterval
from fabricbench.launch.witness import Report, Sent, address_of, joined_sockets


def summed(reports: Iterable[Report]) -> dict[str, NodeReport]:
    """Returns the sums that ``fabricbench-node`` would have written for these reports, by node."""
    by_host: dict[str, list[Report]] = defaultdict(list)
    for report in reports:
        by_host[report.host].append(report)
    return {host: _sum(of_host) for host, of_host in by_host.items()}


def _sum(reports: list[Report]) -> NodeReport:
    main = [report for report in reports if report.rank is not None and not report.forked]
    intervals: dict[str, SummedInterval] = {}
    for one in (interval for report in main for interval in report.intervals):
        earlier = intervals.get(one.label)
        intervals[one.label] = SummedInterval.model_construct(
            label=one.label,
            same_node=one.same_node + (earlier.same_node if earlier else Sent()),
            other_node=one.other_node + (earlier.other_node if earlier else Sent()),
            ranks=1 + (earlier.ranks if earlier else 0),
        )
    return NodeReport.model_construct(
        reports=len(reports),
        main_processes=len(main),
        ranks=_ranks(main),
        cpu_microseconds=int(1e6 * sum(report.cpu_seconds or 0 for report in reports)),
        sockets=_carried(reports),
        intervals=tuple(intervals.values()),
        lines=tuple(line for report in main if report.rank == 0 for line in report.lines),
        dropped_sockets=sum(report.dropped.sockets for report in reports),
        dropped_marks=sum(report.dropped_marks for report in main),
        udp_sockets=sum(report.udp_sockets for report in reports),
        unix_sockets=sum(report.unix_sockets for report in reports),
        devices=tuple(sorted({name for report in reports for name in report.devices})),
        libraries=tuple(sorted({name for report in reports for name in report.libraries})),
        shared_maps=sum(report.shared_maps.count for report in reports),
    )


def _ranks(main: Iterable[Report]) -> tuple[RanksOnCpus, ...]:
    """Returns the ranks by their processors; of several processes of a rank the one with the most CPU time counts."""
    busiest: dict[int, Report] = {}
    for report in main:
        assert report.rank is not None
        earlier = busiest.setdefault(report.rank, report)
        if (report.cpu_seconds or 0) > (earlier.cpu_seconds or 0):
            busiest[report.rank] = report
    groups: dict[str, list[int]] = defaultdict(list)
    for rank, report in sorted(busiest.items()):
        groups[report.cpus_at_end or report.cpus or ""].append(rank)
    return tuple(
        RanksOnCpus.model_construct(cpus=cpus or None, ranks=list_text(numbers), count=len(numbers))
        for cpus, numbers in sorted(groups.items())
    )


def _carried(reports: Iterable[Report]) -> tuple[Carried, ...]:
    sums: dict[tuple[str, str, int], Carried] = {}
    for (_, low, high), ends in joined_sockets(reports).items():
        first, *rest = ends
        other = rest[0] if rest else None
        peer = high if low == first.local else low
        one = Carried(
            local=address_of(first.local),
            peer=address_of(peer),
            ends=2 if other else 1,
            connections=1,
            tx_bytes=max(first.tx_bytes, other.rx_bytes if other else 0),
            rx_bytes=max(first.rx_bytes, other.tx_bytes if other else 0),
            tx_segs=max(first.tx_segs, other.rx_segs if other else 0),
            rx_segs=max(first.rx_segs, other.tx_segs if other else 0),
        )
        key = one.local, one.peer, one.ends
        sums[key] = one.plus(sums.get(key))
    return tuple(sums[key] for key in sorted(sums))


def list_text(numbers: Iterable[int]) -> str:
    """Returns increasing numbers in the kernel's notation for lists, ``0-3,8``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
