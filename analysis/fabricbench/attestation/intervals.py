# SPDX-License-Identifier: Apache-2.0
"""Decides from the traffic in one interval of a launch whether sockets carried the part that ran in it.

A part is one message size of one case. ``attestation.marks`` and ``attestation.lines`` assign intervals to parts.
"""

from dataclasses import dataclass

from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import AttestationState, PartEvidence, Payload, PayloadPart
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval, Sent

BORDER_SEGMENTS = 2
"""Segments for each rank that may carry both a message of the part and one of the synchronisation around it."""

LARGEST_UNCERTAINTY = 0.1
"""Bytes, or segments, decide a part only if their uncertainty is at most this share of the payload."""

FORBIDDEN_PART_SHARE = 0.01
"""A forbidden transport may carry this share of a part's payload, for the upkeep of connections."""

MORE_ITERATIONS = "more iterations would decide"


@dataclass(frozen=True, slots=True)
class Border:
    """The traffic in an interval that does not belong to its part: counts to subtract, and their uncertainty."""

    bytes: int = 0
    segments: int = 0
    bytes_scatter: int = 0
    segments_scatter: int = 0


def relevant_traffic(launch: Launch, traffic: IntervalTraffic | MarkedInterval) -> Sent:
    """Returns the traffic that counts for a part: to other nodes if each node has one rank, otherwise all of it."""
    if launch.transport == "tcp" and 1 < launch.nodes == launch.ranks:
        return traffic.other_node
    return traffic.same_node + traffic.other_node


def require_payload(part: PayloadPart, least: Payload, sent: Sent, border: Border) -> PartEvidence:
    """Returns the evidence of a part whose payload sockets must carry.

    ``least`` is the payload that the interval must show. The smaller margin of bytes and of messages decides; a count
    whose uncertainty exceeds ``LARGEST_UNCERTAINTY`` does not decide.
    """
    bytes_, segments = max(0, sent.bytes - border.bytes), max(0, sent.segments - border.segments)
    usable = [
        (carried / count, 1 - scatter / count)
        for carried, count, scatter in (
            (bytes_, least.bytes, border.bytes_scatter),
            (segments, least.messages, border.segments_scatter),
        )
        if count and scatter <= LARGEST_UNCERTAINTY * count
    ]
    if not usable:
        reason = f"other traffic in its interval may exceed a tenth of its payload; {MORE_ITERATIONS}"
        return PartEvidence(part=part, bytes=bytes_, segments=segments, state="unknown", reason=reason)
    share, required = min(usable, key=lambda shares: shares[0] - shares[1])
    state: AttestationState = "attested" if share >= required else "refuted"
    return PartEvidence(part=part, bytes=bytes_, segments=segments, share=share, required=required, state=state)


def forbid_payload(
    part: PayloadPart, least: Payload, sent: Sent, border: Border, wireup: WireUp, late_wireup: float
) -> PartEvidence:
    """Returns the evidence of a part whose payload sockets must not carry.

    Sockets may carry the synchronisation, ``late_wireup`` times the wire-up, and ``FORBIDDEN_PART_SHARE`` of the
    payload.
    """
    most_bytes = border.bytes + border.bytes_scatter + late_wireup * wireup.bytes
    most_segments = border.segments + border.segments_scatter + late_wireup * wireup.segments
    most_bytes += FORBIDDEN_PART_SHARE * least.bytes
    most_segments += FORBIDDEN_PART_SHARE * least.messages
    state: AttestationState = "attested"
    reason = ""
    if sent.bytes > most_bytes or sent.segments > most_segments:
        state = "refuted"
    elif least.bytes <= most_bytes and least.messages <= most_segments:
        state, reason = "unknown", f"its payload is no larger than what wire-up alone may carry; {MORE_ITERATIONS}"
    return PartEvidence(part=part, bytes=sent.bytes, segments=sent.segments, state=state, reason=reason)


def rank_pair_factor(launch: Launch, wireup: WireUp) -> float:
    """Returns the ratio of rank pairs in a launch to those in its wire-up, at least 1: wire-up grows at most so."""
    return max(1.0, _rank_pairs(launch.ranks) / _rank_pairs(wireup.ranks))


def _rank_pairs(ranks: int) -> int:
    return max(1, ranks * (ranks - 1) // 2)
