# SPDX-License-Identifier: Apache-2.0
"""The rules of attestation: whether the transport that the lane names carried the bytes.

Sums hide sizes: small messages may bypass the transport beside large ones that do not. A program that marks its
sizes for the witness is attested size by size (``attestation.sizes``). Any other launch must show in total the bytes
and the segments that its benchmark cannot do without, and its record names the sizes that could still hide.
"""

from collections.abc import Mapping, Sequence

from fabricbench.attestation.ports import (
    DEVICES,
    declared_ports,
    network_devices,
    port_evidence,
    port_share,
    ports_finding,
    sockets_finding,
)
from fabricbench.attestation.sizes import could_bypass, moving, pairs_factor, part_evidence
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
"""Least share of the payload that sockets must have carried, however uncertain the wire-up is. Where the wire-up is
small beside the payload, the share required is higher: see ``required_share``."""

WIREUP_FACTOR = 1.5
"""A forbidden transport may carry this many times what Init and Finalize alone carry, per pair of ranks …"""

FORBIDDEN_SHARE = 0.01
"""… and this share of the payload: connection upkeep that grows with run time."""

Finding = tuple[AttestationState, str]


def attest(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    moved: Ports | None = None,
    *,
    parts: Sequence[PayloadPart] = (),
    intervals: Mapping[str, IntervalTraffic] | None = None,
    lines: Sequence[MarkedInterval] = (),
) -> Attestation:
    """The attestation of one launch from what the witness reported and what its benchmark must have moved.

    ``moved`` is what the nodes' ports carried (``launch.counters.port_counters``), ``parts`` the payload by size and
    case, ``intervals`` what the ranks sent between their marks (``launch.witness.interval_traffic``), ``lines`` what
    rank 0 sent and received between its flushes of stdout (``launch.witness.printed_lines``).
    """
    ports = declared_ports(launch, moved or {})
    counted = launch.transport in DEVICES
    share = port_share(launch, payload, ports) if counted else _share(launch, traffic, payload)
    basis, evidence = part_evidence(launch, parts, intervals or {}, lines)
    state, reason = _finding(launch, traffic, payload, share, ports, evidence, len(moving(parts)))
    return Attestation(
        state=state,
        reason=reason,
        traffic=traffic,
        payload=payload,
        wireup_bytes=_of_all_runs(launch, launch.wireup.bytes) if launch.wireup else None,
        wireup_segments=_of_all_runs(launch, launch.wireup.segments) if launch.wireup else None,
        share=share,
        ports=ports,
        basis=basis,
        parts=evidence,
        could_bypass=_could_hide(launch, traffic, payload, parts, evidence),
    )


def _finding(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    share: float | None,
    ports: Ports,
    evidence: tuple[PartEvidence, ...],
    parts: int,
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
        return _tcp(launch, traffic, payload, share, ports, evidence, parts)
    if loud := _beyond_wireup(launch, launch.wireup, traffic, payload) or _worst_part(evidence, "refuted"):
        return loud
    if launch.transport in DEVICES:
        return ports_finding(launch, traffic, payload, ports)
    return _shm(traffic)


def required_share(wireup_count: int, least: int) -> float:
    """The share of a payload of ``least`` that sockets must have carried, bytes or segments, in a launch without marks.

    1 less the uncertainty of the wire-up that is taken off, half of it as on shm (``WIREUP_FACTOR``); at least
    ``DECLARED_SHARE``.
    """
    return max(DECLARED_SHARE, 1 - (WIREUP_FACTOR - 1) * wireup_count / least)


def _worst_part(evidence: tuple[PartEvidence, ...], *states: AttestationState) -> Finding | None:
    """The parts in the first of these states that one is in; None where none is."""
    for state in states:
        found = [one for one in evidence if one.state == state]
        if not found:
            continue
        first = found[0]
        payload = first.part.payload
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return state, (
            f"{len(found)} of {len(evidence)} sizes {state}: {first.part.name}{others}: "
            + (f"{first.reason}; " if first.reason else "")
            + f"sockets carried {first.bytes} bytes in {first.segments} segments, "
            f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
        )
    return None


def _could_hide(
    launch: Launch,
    traffic: Traffic | None,
    payload: Payload | None,
    parts: Sequence[PayloadPart],
    evidence: tuple[PartEvidence, ...],
) -> tuple[PayloadPart, ...]:
    """The parts of a tcp launch, without evidence of their own, that could have bypassed the sockets unnoticed."""
    if launch.transport != "tcp" or traffic is None or payload is None or launch.wireup is None or len(parts) < 2:
        return ()
    wireup_bytes, wireup_segments = (_of_all_runs(launch, n) for n in (launch.wireup.bytes, launch.wireup.segments))
    known = {id(one.part) for one in evidence if one.state != "unknown"}
    return could_bypass(
        [part for part in parts if id(part) not in known],
        _spare(traffic.bytes, wireup_bytes, payload.bytes),
        _spare(traffic.segments, wireup_segments, payload.messages),
    )


def _spare(carried: int, wireup_count: int, least: int) -> float:
    """By how much what was carried exceeds the least that attests the launch."""
    return carried - wireup_count - (required_share(wireup_count, least) * least if least else 0)


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


def _tcp(
    launch: Launch,
    traffic: Traffic,
    payload: Payload,
    share: float | None,
    ports: Ports,
    evidence: tuple[PartEvidence, ...],
    parts: int,
) -> Finding:
    said = f"{_on_sockets(traffic)}, the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
    if traffic.bytes_elsewhere:
        said += f"; {traffic.bytes_elsewhere} bytes more went to addresses that no node of the launch has"
    if share is None:
        return "unknown", "the benchmark moved nothing that could be attested"
    if worst := _worst_part(evidence, "refuted", "unknown"):
        return worst
    if _short(launch, traffic, payload):
        return "refuted", f"only {share:.1%} of the payload was on TCP: {said}"
    if against := sockets_finding(launch, traffic, payload, ports):
        return against
    if devices := network_devices(traffic.devices):
        names, always = ", ".join(devices), launch.wireup.devices if launch.wireup else None
        of_all_ranks = launch.ranks <= 2 or all(one.part.label for one in evidence)
        complete = len(evidence) == parts > 0 and of_all_ranks
        if not complete and not set(devices) <= set(always or ()):
            return "unknown", f"network devices were open that wire-up does not open: {names}: {said}"
        said += f"; network devices were open too: {names}"
    return "attested", _by_parts(evidence, parts) + said + port_evidence(launch, traffic, ports)


def _short(launch: Launch, traffic: Traffic, payload: Payload) -> bool:
    """Whether sockets carried less than the required share, of the bytes or of the messages."""
    assert launch.wireup is not None
    for carried, wireup_count, least in (
        (traffic.bytes, launch.wireup.bytes, payload.bytes),
        (traffic.segments, launch.wireup.segments, payload.messages),
    ):
        count = _of_all_runs(launch, wireup_count)
        if least and max(0, carried - count) < required_share(count, least) * least:
            return True
    return False


def _by_parts(evidence: tuple[PartEvidence, ...], parts: int) -> str:
    """How the parts with evidence of their own attest the launch; empty without any."""
    shares = [(one.share, one.part.name) for one in evidence if one.share is not None]
    if not shares:
        return ""
    share, name = min(shares)
    told = f"each of {parts} sizes" if len(evidence) == parts else f"{len(evidence)} of {parts} sizes each"
    return f"{told} by itself, at least {share:.1%} ({name}); "


def _beyond_wireup(launch: Launch, wireup: WireUp, traffic: Traffic, payload: Payload) -> Finding | None:
    """What speaks against a lane whose payload passes no socket; None where the sockets carried wire-up alone."""
    factor = WIREUP_FACTOR * pairs_factor(launch, wireup)
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
    if devices := network_devices(traffic.devices):
        return "unknown", f"network devices were open: {', '.join(devices)}"
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
