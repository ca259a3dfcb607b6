# SPDX-License-Identifier: Apache-2.0
"""Reads the witness files of a launch, and computes the traffic between its ranks."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES, read_regular
from fabricbench.launch.record import Traffic

Count = Annotated[int, Field(ge=0, lt=2**64)]
_RANGE = r"\d{1,4}(-\d{1,4})?"
CpuList = Annotated[str, Field(pattern=rf"^({_RANGE}(,{_RANGE})*)?$", max_length=8192)]
"""Processors in the kernel's notation: ``0-3,8``."""


class Socket(BaseModel):
    """One end of a TCP connection with its counters from TCP_INFO; addresses as ``ip:port``."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    inode: int
    local: str
    peer: str
    tx_bytes: Count
    rx_bytes: Count
    tx_segs: Count
    rx_segs: Count


class Dropped(BaseModel):
    """Sockets that did not fit into the witness's table."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    sockets: Count = 0


class SharedMaps(BaseModel):
    """Shared-memory mappings at the end of the process."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    count: int = 0
    bytes: int = 0


class Sent(BaseModel):
    """The traffic that one process sent in an interval."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    bytes: Count = 0
    segments: Count = 0

    def __add__(self, other: "Sent") -> "Sent":
        # A sum may exceed what a single report can hold.
        return Sent.model_construct(bytes=self.bytes + other.bytes, segments=self.segments + other.segments)


class MarkedInterval(BaseModel):
    """The traffic of one process between two marks of its program, or between two flushes of its stdout.

    ``same_node``: with addresses of its own node; ``other_node``: with all other addresses.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    label: Annotated[str, Field(max_length=127)]
    same_node: Sent
    other_node: Sent


class Report(BaseModel):
    """The report that one process writes at its end.

    ``cpus``: the processors on which it could run at its start; ``cpus_at_end``: those at its end, if they differ;
    ``cpu_seconds``: its CPU time.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    host: str
    rank: int | None
    pid: int
    forked: bool
    exe: str
    cpus: CpuList | None = None
    cpus_at_end: CpuList | None = None
    cpu_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    sockets: tuple[Socket, ...]
    dropped: Dropped = Dropped()
    devices: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    udp_sockets: Count = 0
    unix_sockets: Count = 0
    shared_maps: SharedMaps = SharedMaps()
    intervals: Annotated[tuple[MarkedInterval, ...], Field(max_length=4096)] = ()
    dropped_marks: Count = 0
    lines: Annotated[tuple[MarkedInterval, ...], Field(max_length=4096)] = ()


@dataclass(frozen=True, slots=True)
class IntervalTraffic:
    """The traffic that all ranks together sent in the intervals with one label. ``ranks``: how many ranks marked it."""

    ranks: int
    same_node: Sent
    other_node: Sent


@dataclass(slots=True)
class _Connection:
    """The two ends of a connection, each with the largest counts that any process reported for it."""

    ends: dict[str, Socket] = field(default_factory=dict)

    def add(self, end: Socket) -> None:
        earlier = self.ends.get(end.local)
        self.ends[end.local] = end if earlier is None else _larger(earlier, end)

    def total(self) -> tuple[int, int]:
        """Returns bytes and segments of both directions: in each the larger count of sender and receiver."""
        first, *rest = self.ends.values()
        other = rest[0] if rest else None
        bytes_ = max(first.tx_bytes, other.rx_bytes if other else 0)
        bytes_ += max(first.rx_bytes, other.tx_bytes if other else 0)
        segments = max(first.tx_segs, other.rx_segs if other else 0)
        segments += max(first.rx_segs, other.tx_segs if other else 0)
        return bytes_, segments


_Ends = tuple[str, str, str]
"""The host of a loopback connection, else an empty string, and the addresses of both ends."""


@dataclass(slots=True)
class _Total:
    """The traffic of all connections of a launch; ``by_peer``: bytes by pair of addresses."""

    bytes: int = 0
    segments: int = 0
    between_nodes: int = 0
    elsewhere: int = 0
    by_peer: dict[str, int] = field(default_factory=dict)


def report_files(directory: Path) -> list[Path]:
    """Returns the witness files of a launch by name: ``….json`` of one process, ``….jsonl`` of all ranks of a node.

    Campaigns of earlier versions have the latter. Now ``host.<name>`` has the sum of a node's reports
    (``launch.node_witness``).
    """
    return sorted([*directory.glob("witness.*.json"), *directory.glob("witness.*.jsonl")])


def read_reports(directory: Path) -> tuple[Report, ...]:
    """Returns all reports of a launch, in order of file; a ValueError names the first file that cannot be read."""
    return tuple(report for path in report_files(directory) for report in _read(path))


def _read(path: Path) -> Iterator[Report]:
    where = path.name
    try:
        data = read_regular(path, LARGEST_OUTPUT_BYTES)
        if path.suffix == ".json":
            yield Report.model_validate_json(data)
            return
        for number, line in enumerate(data.splitlines(), 1):
            where = f"{path.name}, line {number}"
            yield Report.model_validate_json(line)
    except (OSError, ValidationError) as error:
        raise ValueError(f"{where}: not a witness report: {_first_line(error)}") from None


def traffic(reports: Iterable[Report], launched: int | None = None) -> Traffic | None:
    """Returns the traffic on the ranks' sockets; None if no rank wrote a report.

    A connection that both ends report counts once, with the larger count in each direction: a process that was killed
    writes no report, but its peer has the counts. If all ``launched`` ranks reported, connections to addresses outside
    their nodes are not traffic between ranks.
    """
    reports = list(reports)
    ranks = {(report.host, report.rank) for report in reports if report.rank is not None and not report.forked}
    if not ranks:
        return None
    connections = _connections(reports)
    hosts: dict[str, set[str]] = defaultdict(set)
    for report in reports:
        for end in report.sockets:
            hosts[address_of(end.local)].add(report.host)
    complete = launched is not None and len(ranks) >= launched
    total = _total(connections, hosts, hosts.keys() | {"?"} if complete else None)
    return Traffic(
        reports=len(ranks),
        connections=len(connections),
        bytes=total.bytes,
        segments=total.segments,
        bytes_between=total.between_nodes,
        bytes_elsewhere=total.elsewhere,
        by_peer=total.by_peer,
        devices=tuple(sorted({device for report in reports for device in report.devices})),
        libraries=tuple(sorted({library for report in reports for library in report.libraries})),
        shared_maps=sum(report.shared_maps.count for report in reports),
        dropped=sum(report.dropped.sockets for report in reports),
        udp_sockets=sum(report.udp_sockets for report in reports),
        unix_sockets=sum(report.unix_sockets for report in reports),
    )


def _connections(reports: Iterable[Report]) -> dict[_Ends, _Connection]:
    """Returns the connections of all reports by their ends."""
    reports = list(reports)
    local_of_peer = {
        (_where(report, end), end.peer): end.local for report in reports for end in report.sockets if end.peer
    }
    connections: dict[_Ends, _Connection] = {}
    for report in reports:
        for end in report.sockets:
            # A connection that was reset may lack its peer's address; the other end still has it.
            where = _where(report, end)
            peer = end.peer or local_of_peer.get((where, end.local), "?:0")
            first, second = sorted((end.local, peer))
            connections.setdefault((where, first, second), _Connection()).add(end)
    return connections


def joined_sockets(reports: Iterable[Report]) -> dict[_Ends, list[Socket]]:
    """Returns the reported ends of each connection: one, or both."""
    return {ends: list(connection.ends.values()) for ends, connection in _connections(reports).items()}


def _total(
    connections: Mapping[_Ends, _Connection], hosts: Mapping[str, set[str]], addresses: set[str] | None
) -> _Total:
    """Returns the traffic of all connections.

    ``hosts``: by address, the hosts of the ends that a rank reported. ``addresses``: those of the nodes, if all ranks
    reported; connections to other addresses are then elsewhere.
    """
    total = _Total()
    for (where, first, second), connection in sorted(connections.items()):
        bytes_, segments = connection.total()
        ends = {address_of(first), address_of(second)}
        if addresses is not None and not ends <= addresses:
            total.elsewhere += bytes_
            continue
        total.bytes += bytes_
        total.segments += segments
        if not where and not inside_one_node(ends, hosts):
            total.between_nodes += bytes_
        between = f"{where} (loopback)" if where else " - ".join(sorted(ends))
        total.by_peer[between] = total.by_peer.get(between, 0) + bytes_
    return total


def interval_traffic(reports: Iterable[Report]) -> dict[str, IntervalTraffic]:
    """Returns the traffic that the ranks sent in each marked interval, by label.

    Empty if a report lost marks or repeats a label. Only the sender's counts are added, because a receiver may count
    the bytes of one interval in the next.
    """
    reports = [report for report in reports if report.rank is not None and not report.forked]
    if any(report.dropped_marks for report in reports):
        return {}
    by_label: dict[str, dict[tuple[str, int | None], MarkedInterval]] = {}
    for report in reports:
        for interval in report.intervals:
            by_rank = by_label.setdefault(interval.label, {})
            if by_rank.setdefault((report.host, report.rank), interval) is not interval:
                return {}  # two processes of one rank, or a label twice in one report
    return {
        label: IntervalTraffic(
            ranks=len(by_rank),
            same_node=sum((one.same_node for one in by_rank.values()), Sent()),
            other_node=sum((one.other_node for one in by_rank.values()), Sent()),
        )
        for label, by_rank in by_label.items()
    }


def printed_lines(reports: Iterable[Report]) -> tuple[MarkedInterval, ...]:
    """Returns the traffic of rank 0, sent and received, before each line that it flushed.

    Empty if several processes report as rank 0.
    """
    of_rank_0 = [report for report in reports if report.rank == 0 and not report.forked]
    return of_rank_0[0].lines if len(of_rank_0) == 1 else ()


def inside_one_node(addresses: Iterable[str], hosts: Mapping[str, set[str]]) -> bool:
    """Returns whether a single node has all of these addresses. ``hosts``: the nodes of each address."""
    return bool(set[str].intersection(*(hosts.get(address, set()) for address in addresses)))


def _larger(a: Socket, b: Socket) -> Socket:
    return Socket(
        inode=a.inode,
        local=a.local,
        peer=a.peer,
        tx_bytes=max(a.tx_bytes, b.tx_bytes),
        rx_bytes=max(a.rx_bytes, b.rx_bytes),
        tx_segs=max(a.tx_segs, b.tx_segs),
        rx_segs=max(a.rx_segs, b.rx_segs),
    )


def address_of(end: str) -> str:
    """Returns the address in ``ip:port``."""
    return end.rsplit(":", 1)[0]


def is_loopback(end: str) -> bool:
    """Returns whether an address, with or without a port, is the same on every host."""
    return end.startswith(("127.", "[::1]"))


def _where(report: Report, end: Socket) -> str:
    """Returns the host of a loopback connection; empty for any other."""
    return report.host if is_loopback(end.local) else ""


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
