# SPDX-License-Identifier: Apache-2.0
"""The witness reports of a node's ranks as one sum, which ``host.<name>`` holds for launches of many ranks.

``fabricbench-node`` adds up the reports (apps/launch/sums.h), so that the size of a launch grows with its nodes and not
with its ranks. ``launch.witness_sums`` computes the same sum from separate reports.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.launch.record import Traffic
from fabricbench.launch.witness import (
    Count,
    CpuList,
    IntervalTraffic,
    MarkedInterval,
    Sent,
    inside_one_node,
    is_loopback,
)

MOST_PEERS = 1000
"""The most pairs of addresses that ``Traffic.by_peer`` lists; the others have one sum."""
OTHER_PEERS = "other pairs of addresses"
RankList = Annotated[str, Field(pattern=r"^\d{1,10}(-\d{1,10})?(,\d{1,10}(-\d{1,10})?)*$", max_length=65536)]
"""Numbers of ranks in the kernel's notation for lists: ``0-3,8``."""


class Carried(NamedTuple):
    """The traffic of all connections between two addresses, of which this node reported one end or both.

    ``tx_bytes``: from ``local`` to ``peer``; ``rx_bytes``: back; segments likewise. ``peer`` is ``?`` if it is unknown.
    """

    local: str
    peer: str
    ends: Literal[1, 2]
    connections: Count
    tx_bytes: Count
    rx_bytes: Count
    tx_segs: Count
    rx_segs: Count

    def plus(self, other: "Carried | None") -> "Carried":
        """Returns the sum with the traffic of further connections between the same addresses."""
        if other is None:
            return self
        return self._replace(
            connections=self.connections + other.connections,
            tx_bytes=self.tx_bytes + other.tx_bytes,
            rx_bytes=self.rx_bytes + other.rx_bytes,
            tx_segs=self.tx_segs + other.tx_segs,
            rx_segs=self.rx_segs + other.rx_segs,
        )


class RanksOnCpus(BaseModel):
    """The ranks of a node that could run on the same processors. ``cpus`` is None if unknown; ``count``: of ranks."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    cpus: CpuList | None
    ranks: RankList
    count: Count


class SummedInterval(MarkedInterval):
    """The traffic of all processes of a node in the intervals with one label. ``ranks``: number of these processes."""

    ranks: Count


class NodeReport(BaseModel):
    """The sum of the reports of a node's processes.

    ``reports``: number of reports, those of forked children too. ``main_processes``: without these, of known rank.
    ``lines``: the lines of rank 0.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    reports: Count
    main_processes: Count
    ranks: tuple[RanksOnCpus, ...]
    cpu_microseconds: Count
    sockets: tuple[Carried, ...] = ()
    intervals: Annotated[tuple[SummedInterval, ...], Field(max_length=4096)] = ()
    lines: Annotated[tuple[MarkedInterval, ...], Field(max_length=4096)] = ()
    dropped_sockets: Count = 0
    dropped_marks: Count = 0
    udp_sockets: Count = 0
    unix_sockets: Count = 0
    devices: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    shared_maps: Count = 0

    @property
    def rank_count(self) -> int:
        """Number of ranks that reported."""
        return sum(group.count for group in self.ranks)


Nodes = Mapping[str, NodeReport]
"""The sums by node."""


@dataclass(slots=True)
class _Both:
    """The traffic between two addresses: what both ends reported, and by address what one end reported."""

    whole: Carried | None = None
    sides: dict[str, Carried] = field(default_factory=dict)

    def total(self) -> tuple[int, int, int]:
        """Returns connections, bytes and segments of both directions: in each the larger count of the two sides."""
        whole = self.whole
        connections, bytes_, segments = (
            (whole.connections, whole.tx_bytes + whole.rx_bytes, whole.tx_segs + whole.rx_segs) if whole else (0, 0, 0)
        )
        if self.sides:
            first, *rest = self.sides.values()
            other = rest[0] if rest else first._replace(connections=0, tx_bytes=0, rx_bytes=0, tx_segs=0, rx_segs=0)
            connections += max(first.connections, other.connections)
            bytes_ += max(first.tx_bytes, other.rx_bytes) + max(first.rx_bytes, other.tx_bytes)
            segments += max(first.tx_segs, other.rx_segs) + max(first.rx_segs, other.tx_segs)
        return connections, bytes_, segments


def node_traffic(nodes: Nodes, launched: int) -> Traffic | None:
    """Returns the traffic on the ranks' sockets, as ``witness.traffic`` does from separate reports; None without ranks.

    The counts of the two ends of a connection between nodes are compared as sums over all connections between two
    addresses, so that the result is exact if both ends reported every connection, and never more than it would be by
    connection.
    """
    reports = sum(node.rank_count for node in nodes.values())
    if not reports:
        return None
    hosts: dict[str, set[str]] = defaultdict(set)
    for host, node in nodes.items():
        for one in node.sockets:
            hosts[one.local].add(host)
            if one.ends == 2:
                hosts[one.peer].add(host)
    between = _by_addresses(nodes)
    total = {"connections": 0, "bytes": 0, "segments": 0, "bytes_between": 0, "bytes_elsewhere": 0}
    by_peer: dict[str, int] = defaultdict(int)
    for (where, first, second), both in sorted(between.items()):
        connections, bytes_, segments = both.total()
        total["connections"] += connections
        if reports >= launched and not all(one in hosts or one == "?" for one in (first, second)):
            total["bytes_elsewhere"] += bytes_
            continue
        total["bytes"] += bytes_
        total["segments"] += segments
        if not where and not inside_one_node((first, second), hosts):
            total["bytes_between"] += bytes_
        by_peer[f"{where} (loopback)" if where else " - ".join(sorted({first, second}))] += bytes_
    return Traffic(
        reports=reports,
        by_peer=_largest(by_peer),
        devices=tuple(sorted({name for node in nodes.values() for name in node.devices})),
        libraries=tuple(sorted({name for node in nodes.values() for name in node.libraries})),
        shared_maps=sum(node.shared_maps for node in nodes.values()),
        dropped=sum(node.dropped_sockets for node in nodes.values()),
        udp_sockets=sum(node.udp_sockets for node in nodes.values()),
        unix_sockets=sum(node.unix_sockets for node in nodes.values()),
        **total,
    )


def _by_addresses(nodes: Nodes) -> dict[tuple[str, str, str], _Both]:
    """Returns the traffic by the host of a loopback connection, else an empty string, and the two addresses."""
    between: dict[tuple[str, str, str], _Both] = defaultdict(_Both)
    for host, node in nodes.items():
        for one in node.sockets:
            first, second = sorted((one.local, one.peer))
            both = between[host if is_loopback(one.local) else "", first, second]
            if one.ends == 2:
                both.whole = one.plus(both.whole)
            else:
                both.sides[one.local] = one.plus(both.sides.get(one.local))
    return between


def _largest(by_peer: Mapping[str, int]) -> dict[str, int]:
    """Returns the pairs with the most bytes, in order of name, and the sum of the others."""
    if len(by_peer) <= MOST_PEERS:
        return dict(by_peer)
    names = sorted(by_peer, key=lambda name: by_peer[name], reverse=True)
    listed = {name: by_peer[name] for name in sorted(names[:MOST_PEERS])}
    return {**listed, OTHER_PEERS: sum(by_peer[name] for name in names[MOST_PEERS:])}


def node_intervals(nodes: Nodes) -> dict[str, IntervalTraffic]:
    """Returns the traffic that the ranks sent in each marked interval, by label.

    Empty if a report lost marks, or if more processes of a node marked a label than the node has ranks.
    """
    ranks: dict[str, int] = defaultdict(int)
    sent: dict[str, tuple[Sent, Sent]] = {}
    for node in nodes.values():
        if node.dropped_marks or any(one.ranks > node.rank_count for one in node.intervals):
            return {}
        for one in node.intervals:
            same, other = sent.get(one.label, (Sent(), Sent()))
            ranks[one.label] += one.ranks
            sent[one.label] = same + one.same_node, other + one.other_node
    return {
        label: IntervalTraffic(ranks=ranks[label], same_node=same, other_node=other)
        for label, (same, other) in sent.items()
    }


def node_lines(nodes: Nodes) -> tuple[MarkedInterval, ...]:
    """Returns the traffic of rank 0 before each line that it flushed.

    Empty if a rank of its node has several processes.
    """
    for node in nodes.values():
        if any(group.ranks[:2] in ("0", "0,", "0-") for group in node.ranks):
            return node.lines if node.main_processes == node.rank_count else ()
    return ()
