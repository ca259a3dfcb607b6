# SPDX-License-Identifier: Apache-2.0
"""Refutes collectives that are faster than the lane's own messages allow: some bytes bypassed the transport.

The rule needs other launches of the lane, so it is applied where a campaign is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from fabricbench.launch.record import Record, Row

PHYSICS_FACTOR = 0.5
"""A collective in which every rank depends on every other cannot be faster than one message one way. Launches are
noisy, so only what is faster than this fraction of the lane's own limit is refuted. Lanes of shm are not tested: a
stack may run collectives on flags in memory, three times as fast as its own messages (MPICH 5.0)."""

DEPENDENT_COLLECTIVES = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier"),
    *("reduce_scatter", "reduce_scatter_block"),
)


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """What the lane's own ok launches showed: the smallest ping-pong latency in us, the largest bandwidth in MB/s of
    any benchmark, and the largest message size in bytes for which there is a bandwidth."""

    latency_us: float
    bandwidth: float = 0.0
    largest_bytes: int = 0

    def floor_us(self, needed_bytes: float) -> float:
        """The least time in us in which a rank can receive ``needed_bytes``: one message's latency, or the bytes over
        the bandwidth where a size as large was measured."""
        if not self.bandwidth or needed_bytes > self.largest_bytes:
            return self.latency_us
        return max(self.latency_us, needed_bytes / self.bandwidth)


def refute_beyond_physics(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records, those launches refuted in which a collective beats the lane's own latency or bandwidth.

    Each size is held against the least time that it needs. The latency is the smallest of the lane's attested ping-pong
    medians, the bandwidth the largest of its attested values in the campaign, both on as many nodes.
    """
    limits: dict[tuple[str, str, int], LaneLimits] = {}
    for record in records:
        if record.state == "ok" and record.launch is not None:
            key = (record.launch.system, record.launch.lane, record.launch.nodes)
            limits[key] = _with_rows(limits.get(key, LaneLimits(inf)), record.rows)
    return tuple(_physics(record, limits) for record in records)


def _with_rows(known: LaneLimits, rows: Sequence[Row]) -> LaneLimits:
    latency = [row.value for row in rows if row.benchmark == "pingpong" and row.metric == "latency"]
    bandwidth = [(row.value, row.msg_size_bytes or 0) for row in rows if row.metric == "bandwidth"]
    return LaneLimits(
        latency_us=min([known.latency_us, *latency]),
        bandwidth=max([known.bandwidth, *(value for value, _ in bandwidth)]),
        largest_bytes=max([known.largest_bytes, *(size for _, size in bandwidth)]),
    )


def _needed_bytes(row: Row, ranks: int) -> float:
    """The least that every rank must receive in a collective of this size, whatever the algorithm."""
    size = row.msg_size_bytes or 0
    return size / ranks if row.benchmark.startswith("reduce_scatter") else size


def _physics(record: Record, limits: Mapping[tuple[str, str, int], LaneLimits]) -> Record:
    launch = record.launch
    if record.state != "ok" or launch is None or launch.ranks < 2 or launch.transport == "shm":
        return record
    lane = limits.get((launch.system, launch.lane, launch.nodes))
    if lane is None or lane.latency_us == inf:
        return record
    for row in record.rows:
        if row.benchmark not in DEPENDENT_COLLECTIVES or row.metric != "time_max" or row.msg_size_bytes == 0:
            continue
        floor = lane.floor_us(_needed_bytes(row, launch.ranks))
        if row.value >= PHYSICS_FACTOR * floor:
            continue
        size = "" if row.msg_size_bytes is None else f" of {row.msg_size_bytes} B"
        least = (
            f"the lane's own one-way latency of {floor} us"
            if floor == lane.latency_us
            else f"the {floor:.6g} us that its bytes need at the lane's own {lane.bandwidth:.6g} MB/s"
        )
        reason = (
            f"{row.benchmark}{size} took {row.value} us, less than {PHYSICS_FACTOR} of {least}: "
            "its messages did not take this transport"
        )
        attestation = record.attestation
        if attestation is not None:
            attestation = attestation.model_copy(update={"state": "refuted", "reason": reason})
        return record.model_copy(update={"state": "refuted", "reason": reason, "attestation": attestation})
    return record
