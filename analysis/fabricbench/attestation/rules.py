# SPDX-License-Identifier: Apache-2.0
"""The rules of attestation, which decide whether the transport of the lane carried the bytes of a launch.

A sum over all sizes can hide small messages that bypass the transport while large ones use it. A program that marks its
sizes, or prints a line for each, is therefore attested size by size (``attestation.sizes``). For any other launch the
total bytes and segments must reach the least that the benchmark needs, and the record lists the sizes that could still
have bypassed the transport.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fabricbench.attestation.adapters import Adapters
from fabricbench.attestation.intervals import rank_pair_factor
from fabricbench.attestation.local_shm import between_nodes, inside_node, local_shm_outcome, share_between
from fabricbench.attestation.ports import (
    DEVICES,
    Counters,
    declared_ports,
    network_devices,
    open_devices_outcome,
    payload_share_on_ports,
    port_counts_text,
    ports_outcome,
    sockets_objection,
)
from fabricbench.attestation.sizes import part_evidence, parts_with_payload, parts_within_surplus
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import (
    Attestation,
    AttestationState,
    PartEvidence,
    Payload,
    PayloadPart,
    Ports,
    Traffic,
)
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval

DECLARED_SHARE = 0.9
"""Sockets must carry at least this share of the payload, even if the wire-up is uncertain. The required share is higher
if the wire-up is small compared with the payload: see ``required_share``.
"""

WIREUP_FACTOR = 1.5
"""A forbidden transport may carry the wire-up, scaled to the number of rank pairs, times this factor, plus
``FORBIDDEN_SHARE`` of the payload.
"""

FORBIDDEN_SHARE = 0.01
"""Share of the payload that a forbidden transport may carry in addition to the wire-up: keep-alive traffic of
connections grows with the run time.
"""

RANK_BYTES_ON_ONE_NODE = 8192
"""Bytes of each rank beyond the wire-up on one node of several: the wire-up of the lane has one rank on each node, and
ranks of one node exchange more with the process manager. Open MPI 4.1 under srun: 4.2 kB in two segments of each rank.
The number of segments is limited as on all lanes.
"""

Outcome = tuple[AttestationState, str]
"""State and reason."""


def attest(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    port_counts: Ports | None = None,
    *,
    parts: Sequence[PayloadPart] = (),
    intervals: Mapping[str, IntervalTraffic] | None = None,
    lines: Sequence[MarkedInterval] = (),
    adapters: Adapters = MappingProxyType({}),
) -> Attestation:
    """Returns the attestation of one launch from the witness reports and the payload of its benchmark.

    ``port_counts`` is the traffic on the nodes' ports (``launch.counters.port_counters``), ``parts`` the payload by
    size and case, ``intervals`` the traffic that the ranks sent between their marks
    (``launch.witness.interval_traffic``), ``lines`` the traffic of rank 0 between its flushes of stdout
    (``launch.witness.printed_lines``), ``adapters`` the interfaces of the nodes' RDMA adapters
    (``launch.host.adapter_interfaces``).
    """
    ports = declared_ports(launch, port_counts or {})
    has_port_counters = launch.transport in DEVICES
    share = payload_share_on_ports(launch, payload, ports) if has_port_counters else _share(launch, traffic, payload)
    if between_nodes(launch) and traffic and payload and launch.wireup and not has_port_counters:
        share = share_between(launch, launch.wireup, traffic, payload, parts)
    basis, evidence = part_evidence(launch, parts, intervals or {}, lines)
    counters = Counters(ports, port_counts or {}, adapters)
    state, reason = _outcome(launch, traffic, payload, share, counters, evidence, parts)
    return Attestation(
        state=state,
        reason=reason,
        traffic=traffic,
        payload=payload,
        wireup_bytes=_wireup_of_all_runs(launch, launch.wireup.bytes) if launch.wireup else None,
        wireup_segments=_wireup_of_all_runs(launch, launch.wireup.segments) if launch.wireup else None,
        share=share,
        ports=ports,
        basis=basis,
        parts=evidence,
        could_bypass=_possible_bypasses(launch, traffic, payload, parts, evidence),
    )


def _outcome(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    share: float | None,
    counters: Counters,
    evidence: tuple[PartEvidence, ...],
    parts: Sequence[PayloadPart],
) -> Outcome:
    if traffic is None:
        return "unknown", "no rank wrote a witness report"
    if launch.transport not in ("tcp", "shm", *DEVICES):
        return "unknown", f"no rule attests the transport '{launch.transport}' yet"
    if traffic.dropped:
        return "unknown", f"the witness lost {traffic.dropped} sockets: more than its table can hold"
    if launch.mode == "wireup":
        return "attested", "wire-up: the traffic of Init and Finalize alone"
    if launch.wireup is None:
        problem = f": {launch.wireup_problem}" if launch.wireup_problem else ""
        return "unknown", f"no wire-up was measured on this lane{problem}"
    if payload is None:
        return "unknown", "the benchmark defines no payload"
    if launch.ranks == 1 and not payload.bytes and not payload.messages:
        return "attested", "a single rank sends no messages"
    if between_nodes(launch):
        return _local_shm(launch, launch.wireup, traffic, payload, parts, evidence, counters)
    if launch.transport == "tcp" and not inside_node(launch):
        return _tcp(launch, traffic, payload, share, counters.declared, evidence, len(parts_with_payload(parts)))
    if objection := _beyond_wireup(launch, launch.wireup, traffic, payload) or _worst_part(evidence, "refuted"):
        return objection
    if launch.transport in DEVICES and not inside_node(launch):
        return ports_outcome(launch, traffic, payload, counters)
    if devices := network_devices(traffic.devices):
        return open_devices_outcome(devices, payload, counters)
    return "attested", f"by exclusion: {_socket_counts(traffic)}, no more than wire-up, and no network device was open"


def _local_shm(
    launch: Launch,
    wireup: WireUp,
    traffic: Traffic,
    payload: Payload,
    parts: Sequence[PayloadPart],
    evidence: tuple[PartEvidence, ...],
    counters: Counters,
) -> Outcome:
    if worst := _worst_part(evidence, "refuted", "unknown"):
        return worst
    required = required_share(wireup.bytes, max(1, payload.bytes))
    forbidden = WIREUP_FACTOR * rank_pair_factor(launch, wireup) * wireup.bytes + FORBIDDEN_SHARE * payload.bytes
    return local_shm_outcome(launch, wireup, traffic, payload, parts, evidence, counters, required, forbidden)


def required_share(wireup_count: int, least: int) -> float:
    """Returns the share of a payload that sockets must carry, in a launch without marks, 0 to 1.

    ``wireup_count`` and ``least`` are both in bytes or both in segments. The share is 1 less the uncertainty of the
    wire-up, which is half of it as on shm (``WIREUP_FACTOR``), and at least ``DECLARED_SHARE``.
    """
    return max(DECLARED_SHARE, 1 - (WIREUP_FACTOR - 1) * wireup_count / least)


def _worst_part(evidence: tuple[PartEvidence, ...], *states: AttestationState) -> Outcome | None:
    """Returns the outcome of the first of these states that any part has, with its parts; None if no part has one."""
    for state in states:
        matches = [one for one in evidence if one.state == state]
        if not matches:
            continue
        first = matches[0]
        payload = first.part.payload
        others = f" and {len(matches) - 1} more" if len(matches) > 1 else ""
        return state, (
            f"{len(matches)} of {len(evidence)} sizes {state}: {first.part.name}{others}: "
            + (f"{first.reason}; " if first.reason else "")
            + f"sockets carried {first.bytes} bytes in {first.segments} segments, "
            f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
        )
    return None


def _possible_bypasses(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    parts: Sequence[PayloadPart],
    evidence: tuple[PartEvidence, ...],
) -> tuple[PayloadPart, ...]:
    """Returns the parts of a tcp launch that have no evidence of their own and could have bypassed the sockets."""
    if launch.transport != "tcp" or traffic is None or payload is None or launch.wireup is None or len(parts) < 2:
        return ()
    if launch.variant:
        return ()
    wireup_bytes, wireup_segments = (
        _wireup_of_all_runs(launch, n) for n in (launch.wireup.bytes, launch.wireup.segments)
    )
    decisions = {id(one.part) for one in evidence if one.state != "unknown"}
    return parts_within_surplus(
        [part for part in parts if id(part) not in decisions],
        _spare(traffic.bytes, wireup_bytes, payload.bytes),
        _spare(traffic.segments, wireup_segments, payload.messages),
    )


def _spare(carried: int, wireup_count: int, least: int) -> float:
    """Returns the surplus of the traffic over the least that attests the launch."""
    return carried - wireup_count - (required_share(wireup_count, least) * least if least else 0)


def _share(launch: Launch, traffic: Traffic | None, payload: Payload | None) -> float | None:
    """Returns the share of the payload on TCP without wire-up: the smaller of its shares of bytes and of messages."""
    if traffic is None or payload is None or launch.wireup is None:
        return None
    shares = []
    if payload.bytes:
        shares.append(max(0, traffic.bytes - _wireup_of_all_runs(launch, launch.wireup.bytes)) / payload.bytes)
    if payload.messages:
        shares.append(max(0, traffic.segments - _wireup_of_all_runs(launch, launch.wireup.segments)) / payload.messages)
    return min(shares, default=None)


def _tcp(
    launch: Launch,
    traffic: Traffic,
    payload: Payload,
    share: float | None,
    ports: Ports,
    evidence: tuple[PartEvidence, ...],
    parts: int,
) -> Outcome:
    counts = (
        f"{_socket_counts(traffic)}, the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
    )
    if traffic.bytes_elsewhere:
        counts += f"; {traffic.bytes_elsewhere} bytes more went to addresses outside the launch"
    if share is None:
        return "unknown", "the benchmark has no payload that sockets can show"
    if worst := _worst_part(evidence, "refuted", "unknown"):
        return worst
    if _carried_too_little(launch, traffic, payload):
        return "refuted", f"only {share:.1%} of the payload was on TCP: {counts}"
    if objection := sockets_objection(launch, traffic, payload, ports):
        return objection
    if devices := network_devices(traffic.devices):
        names, always = ", ".join(devices), launch.wireup.devices if launch.wireup else None
        of_all_ranks = launch.ranks <= 2 or all(one.part.label for one in evidence)
        complete = len(evidence) == parts > 0 and of_all_ranks
        if not complete and not set(devices) <= set(always or ()):
            return "unknown", f"ranks opened network devices that wire-up does not open: {names}: {counts}"
        counts += f"; network devices were also open: {names}"
    return "attested", _shares_text(evidence, parts) + counts + port_counts_text(launch, traffic, ports)


def _carried_too_little(launch: Launch, traffic: Traffic, payload: Payload) -> bool:
    """Returns whether sockets carried less than the required share of the bytes or of the messages."""
    assert launch.wireup is not None
    for carried, wireup_count, least in (
        (traffic.bytes, launch.wireup.bytes, payload.bytes),
        (traffic.segments, launch.wireup.segments, payload.messages),
    ):
        count = _wireup_of_all_runs(launch, wireup_count)
        if least and max(0, carried - count) < required_share(count, least) * least:
            return True
    return False


def _shares_text(evidence: tuple[PartEvidence, ...], parts: int) -> str:
    """Returns the smallest share of the parts with evidence of their own, as text; empty if there are none."""
    shares = [(one.share, one.part.name) for one in evidence if one.share is not None]
    if not shares:
        return ""
    share, name = min(shares)
    scope = f"each of {parts} sizes" if len(evidence) == parts else f"{len(evidence)} of {parts} sizes each"
    return f"{scope} by itself, at least {share:.1%} ({name}); "


def _beyond_wireup(launch: Launch, wireup: WireUp, traffic: Traffic, payload: Payload) -> Outcome | None:
    """Returns why a lane whose payload must not use sockets is not attested; None if sockets carried only wire-up."""
    factor = WIREUP_FACTOR * rank_pair_factor(launch, wireup)
    wireup_bytes, wireup_segments = (_wireup_of_all_runs(launch, n) for n in (wireup.bytes, wireup.segments))
    on_one_node = launch.ranks if launch.variant and inside_node(launch) else 0
    most_bytes = factor * wireup_bytes + FORBIDDEN_SHARE * payload.bytes + RANK_BYTES_ON_ONE_NODE * on_one_node
    most_segments = factor * wireup_segments + FORBIDDEN_SHARE * payload.messages
    if traffic.bytes > most_bytes or traffic.segments > most_segments:
        explained = f"more than wire-up accounts for ({wireup_bytes} bytes in {wireup_segments} segments)"
        return "refuted", f"{_socket_counts(traffic)}, {explained}"
    if traffic.reports < launch.ranks:
        return "unknown", f"only {traffic.reports} of {launch.ranks} ranks wrote a witness report"
    if other := _uncounted_sockets(launch, wireup, traffic):
        return "unknown", other
    return None


def _socket_counts(traffic: Traffic) -> str:
    return f"sockets carried {traffic.bytes} bytes in {traffic.segments} segments"


def _wireup_of_all_runs(launch: Launch, count: int) -> int:
    """Returns a count of the wire-up times the number of program starts of the launch, which is one for MPI."""
    assert launch.wireup is not None
    return count * launch.runs // launch.wireup.runs


def _uncounted_sockets(launch: Launch, wireup: WireUp, traffic: Traffic) -> str:
    """Returns which sockets without byte counts exceed those of wire-up for each rank; empty if none do."""
    ranks = launch.ranks
    for kind, count, wireup_count in (
        ("UDP", traffic.udp_sockets, wireup.udp_sockets),
        ("Unix", traffic.unix_sockets, wireup.unix_sockets),
    ):
        allowance = None if wireup_count is None else _wireup_of_all_runs(launch, wireup_count)
        if allowance is not None and count * wireup.ranks > allowance * max(ranks, wireup.ranks):
            return (
                f"{count} {kind} sockets were open on {ranks} ranks, wire-up opens {allowance} on {wireup.ranks}, "
                "and their traffic is not counted"
            )
    return ""
