# SPDX-License-Identifier: Apache-2.0
"""Refutes launches whose collectives are faster than the lane's own messages allow.

Bytes of such a collective bypassed the transport. The rule compares launches of a lane with each other, so it applies
when a campaign is read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from fabricbench.launch.record import Record, Row

PHYSICS_FACTOR = 0.5
"""A collective is refuted if it takes less than this fraction of the lane's own limit. In these collectives every rank
depends on every other, so none can be faster than one message in one direction; the fraction allows for noise. Lanes of
shm are exempt: a stack may run collectives on flags in memory, three times as fast as its messages (MPICH 5.0).
"""

DEPENDENT_COLLECTIVES = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier"),
    *("reduce_scatter", "reduce_scatter_block"),
)


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """The limits of a lane from its own ok launches.

    ``latency_us``: the smallest ping-pong latency. ``bandwidth``: the largest bandwidth of any benchmark, in MB/s.
    ``largest_bytes``: the largest message size with a measured bandwidth.
    """

    latency_us: float
    bandwidth: float = 0.0
    largest_bytes: int = 0

    def floor_us(self, needed_bytes: float) -> float:
        """Returns the least time in us in which a rank can receive ``needed_bytes``.

        It is the latency of one message, or the bytes divided by the bandwidth if that is longer and a size at least as
        large was measured.
        """
        if not self.bandwidth or needed_bytes > self.largest_bytes:
            return self.latency_us
        return max(self.latency_us, needed_bytes / self.bandwidth)


def refute_beyond_physics(
    records: tuple[Record, ...], half_round_trips: Collection[tuple[str, str]]
) -> tuple[Record, ...]:
    """Returns the records, with launches refuted whose collectives exceed the lane's own latency or bandwidth.

    Each size is compared with the least time that it needs. The limits come from the attested launches of the same lane
    in the campaign on the same number of nodes. ``half_round_trips``: tool and benchmark of every ping-pong.
    """
    limits: dict[tuple[str, str, int], LaneLimits] = {}
    for record in records:
        if record.state == "ok" and record.launch is not None:
            key = (record.launch.system, record.launch.lane, record.launch.nodes)
            known = limits.get(key, LaneLimits(inf))
            limits[key] = _with_rows(known, record.launch.tool, record.rows, half_round_trips)
    return tuple(_checked(record, limits) for record in records)


def _with_rows(
    limits: LaneLimits, tool: str, rows: Sequence[Row], half_round_trips: Collection[tuple[str, str]]
) -> LaneLimits:
    latency = [row.value for row in rows if row.metric == "latency" and (tool, row.benchmark) in half_round_trips]
    bandwidth = [(row.value, row.msg_size_bytes or 0) for row in rows if row.metric == "bandwidth"]
    return LaneLimits(
        latency_us=min([limits.latency_us, *latency]),
        bandwidth=max([limits.bandwidth, *(value for value, _ in bandwidth)]),
        largest_bytes=max([limits.largest_bytes, *(size for _, size in bandwidth)]),
    )


def _needed_bytes(row: Row, ranks: int) -> float:
    """Returns the least number of bytes that every rank must receive, whatever the algorithm."""
    size = row.msg_size_bytes or 0
    return size / ranks if row.benchmark.startswith("reduce_scatter") else size


def _checked(record: Record, limits: Mapping[tuple[str, str, int], LaneLimits]) -> Record:
    launch = record.launch
    if record.state != "ok" or launch is None or launch.ranks < 2 or launch.transport == "shm" or launch.function_only:
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
            "its messages bypassed the transport"
        )
        attestation = record.attestation
        if attestation is not None:
            attestation = attestation.model_copy(update={"state": "refuted", "reason": reason})
        return record.model_copy(update={"state": "refuted", "reason": reason, "attestation": attestation})
    return record
