# SPDX-License-Identifier: Apache-2.0
"""Does the transport that the lane names carry the bytes? The rules, and nothing but the rules.

Totals lie (small messages can hide behind large ones), so small and large messages are launches of their own,
and a launch must show both the bytes and the segments that its benchmark cannot do without.
"""

from fabricbench.core.launch import Launch, WireUp
from fabricbench.core.ports import DEVICES, declared_ports, port_evidence, port_share, ports_finding, sockets_finding
from fabricbench.core.record import Attestation, AttestationState, Payload, Ports, Record, Traffic

DECLARED_SHARE = 0.9
"""Least share of the payload that the declared transport must have carried."""

WIREUP_FACTOR = 1.5
"""A forbidden transport may carry this many times what Init and Finalize alone carry, per pair of ranks …"""

FORBIDDEN_SHARE = 0.01
"""… and this share of the payload: connection upkeep that grows with run time."""

PHYSICS_FACTOR = 0.5
"""A collective in which every rank depends on every other cannot be faster than one message one way. Launches are
noisy, so only what is faster than this fraction of the lane's own one-way latency is refuted. On shm nothing could be
bypassed: a stack may run its collectives on flags in memory, three times as fast as its own messages (MPICH 5.0)."""

DEPENDENT_COLLECTIVES = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier"),
    *("reduce_scatter", "reduce_scatter_block"),
)

Finding = tuple[AttestationState, str]


def attest(launch: Launch, traffic: Traffic | None, payload: Payload | None, moved: Ports | None = None) -> Attestation:
    """The attestation of one launch from what the witness saw and what its benchmark must have moved.

    ``moved`` is what the nodes' ports carried (``core.counters.port_counters``).
    """
    ports = declared_ports(launch, moved or {})
    counted = launch.transport in DEVICES
    share = port_share(launch, payload, ports) if counted else _share(launch, traffic, payload)
    state, reason = _finding(launch, traffic, payload, share, ports)
    return Attestation(
        state=state,
        reason=reason,
        traffic=traffic,
        payload=payload,
        wireup_bytes=_of_all_runs(launch, launch.wireup.bytes) if launch.wireup else None,
        wireup_segments=_of_all_runs(launch, launch.wireup.segments) if launch.wireup else None,
        share=share,
        ports=ports,
    )


def _finding(
    launch: Launch, traffic: Traffic | None, payload: Payload | None, share: float | None, ports: Ports
) -> Finding:
    if traffic is None:
        return "unknown", "no rank left a witness report"
    if launch.transport not in ("tcp", "shm", *DEVICES):
        return "unknown", f"no rule attests the transport '{launch.transport}' yet"
    if traffic.dropped:
        return "unknown", f"the witness lost {traffic.dropped} sockets: more than its table holds"
    if launch.mode == "wireup":
        return "attested", "wire-up: what Init and Finalize alone carry"
    if launch.wireup is None:
        return "unknown", "no wire-up was measured on this lane"
    if payload is None:
        return "unknown", "the benchmark defines no payload"
    if launch.ranks == 1 and not payload.bytes and not payload.messages:
        return "attested", "a single rank: nothing has to be carried"
    if launch.transport == "tcp":
        return _tcp(launch, traffic, payload, share, ports)
    if loud := _beyond_wireup(launch, launch.wireup, traffic, payload):
        return loud
    if launch.transport in DEVICES:
        return ports_finding(launch, traffic, payload, ports)
    return _shm(traffic)


def _share(launch: Launch, traffic: Traffic | None, payload: Payload | None) -> float | None:
    """Share of the payload on TCP, wire-up taken off: the smaller of its shares of bytes and of messages."""
    if traffic is None or payload is None or launch.wireup is None:
        return None
    shares = []
    if payload.bytes:
        shares.append(max(0, traffic.bytes - _of_all_runs(launch, launch.wireup.bytes)) / payload.bytes)
    if payload.messages:
        shares.append(max(0, traffic.segments - _of_all_runs(launch, launch.wireup.segments)) / payload.messages)
    return min(shares, default=None)


def _tcp(launch: Launch, traffic: Traffic, payload: Payload, share: float | None, ports: Ports) -> Finding:
    evidence = (
        f"{_on_sockets(traffic)}, the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
    )
    if share is None:
        return "unknown", "the benchmark moved nothing that could be attested"
    if share < DECLARED_SHARE:
        return "refuted", f"only {share:.1%} of the payload was on TCP: {evidence}"
    if against := sockets_finding(launch, traffic, payload, ports):
        return against
    return "attested", evidence + port_evidence(launch, traffic, ports)


def _beyond_wireup(launch: Launch, wireup: WireUp, traffic: Traffic, payload: Payload) -> Finding | None:
    """What speaks against a lane whose payload passes no socket; None where the sockets carried wire-up alone."""
    factor = WIREUP_FACTOR * max(1.0, _pairs(launch.ranks) / _pairs(wireup.ranks))
    wireup_bytes, wireup_segments = (_of_all_runs(launch, n) for n in (wireup.bytes, wireup.segments))
    most_bytes = factor * wireup_bytes + FORBIDDEN_SHARE * payload.bytes
    most_segments = factor * wireup_segments + FORBIDDEN_SHARE * payload.messages
    if traffic.bytes > most_bytes or traffic.segments > most_segments:
        explained = f"more than wire-up explains ({wireup_bytes} bytes in {wireup_segments} segments)"
        return "refuted", f"{_on_sockets(traffic)}, {explained}"
    if traffic.reports < launch.ranks:
        return "unknown", f"only {traffic.reports} of {launch.ranks} ranks left a witness report"
    if other := _uncounted(launch, wireup, traffic):
        return "unknown", other
    return None


def _shm(traffic: Traffic) -> Finding:
    if traffic.devices:
        return "unknown", f"network devices were open: {', '.join(traffic.devices)}"
    return "attested", f"by exclusion: {_on_sockets(traffic)}, no more than wire-up, and no network device was open"


def _on_sockets(traffic: Traffic) -> str:
    return f"sockets carried {traffic.bytes} bytes in {traffic.segments} segments"


def _of_all_runs(launch: Launch, count: int) -> int:
    """What wire-up counted, as often as this launch starts its programs: for MPI once."""
    assert launch.wireup is not None
    return count * launch.runs // launch.wireup.runs


def _uncounted(launch: Launch, wireup: WireUp, traffic: Traffic) -> str:
    """Sockets beyond those of wire-up, rank for rank, whose bytes nobody counts; empty where there are none."""
    ranks = launch.ranks
    for kind, seen, counted in (
        ("UDP", traffic.udp_sockets, wireup.udp_sockets),
        ("Unix", traffic.unix_sockets, wireup.unix_sockets),
    ):
        known = None if counted is None else _of_all_runs(launch, counted)
        if known is not None and seen * wireup.ranks > known * max(ranks, wireup.ranks):
            return (
                f"{seen} {kind} sockets were open on {ranks} ranks, wire-up opens {known} on {wireup.ranks}, "
                "and what they carry is not counted"
            )
    return ""


def _pairs(ranks: int) -> int:
    """Connections between so many ranks: what wire-up grows with, at most."""
    return max(1, ranks * (ranks - 1) // 2)


def refute_beyond_physics(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records, those launches refuted in which a collective beats the lane's own one-way latency.

    The latency is the smallest of the lane's attested ping-pong medians at its smallest size in the campaign.
    """
    latency: dict[tuple[str, str], float] = {}
    for record in records:
        if record.state == "ok" and record.launch is not None:
            key = (record.launch.system, record.launch.lane)
            for row in record.rows:
                if row.benchmark == "pingpong" and row.metric == "latency":
                    latency[key] = min(latency.get(key, row.value), row.value)
    return tuple(_physics(record, latency) for record in records)


def _physics(record: Record, latency: dict[tuple[str, str], float]) -> Record:
    launch = record.launch
    if record.state != "ok" or launch is None or launch.ranks < 2 or launch.transport == "shm":
        return record
    floor = latency.get((launch.system, launch.lane))
    if floor is None:
        return record
    for row in record.rows:
        if (
            row.benchmark in DEPENDENT_COLLECTIVES
            and row.metric == "time_max"
            and row.msg_size_bytes != 0
            and row.value < PHYSICS_FACTOR * floor
        ):
            size = "" if row.msg_size_bytes is None else f" of {row.msg_size_bytes} B"
            reason = (
                f"{row.benchmark}{size} took {row.value} us, less than {PHYSICS_FACTOR} of "
                f"the lane's own one-way latency of {floor} us: its messages did not take this transport"
            )
            attestation = record.attestation
            if attestation is not None:
                attestation = attestation.model_copy(update={"state": "refuted", "reason": reason})
            update = {"state": "refuted", "reason": reason, "attestation": attestation}
            return record.model_copy(update=update)
    return record
