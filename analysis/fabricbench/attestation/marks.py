# SPDX-License-Identifier: Apache-2.0
"""Attests the parts of a launch whose program marks the begin and the end of each part for the witness.

The project's own programs set the marks after a barrier, outside the timed region (``apps/timing/mark.hpp``). Before
its first measurement a program marks *calibration* intervals, which contain the same synchronisation and no message.
Their traffic is subtracted from every interval, and their scatter is its uncertainty. Further intervals of barriers
give the traffic of the barriers around iterations, which is subtracted likewise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fabricbench.attestation.between import crossing, scaled
from fabricbench.attestation.intervals import (
    BORDER_SEGMENTS,
    Border,
    forbid_payload,
    rank_pair_factor,
    relevant_traffic,
    require_payload,
)
from fabricbench.attestation.local_shm import between_nodes, inside_node
from fabricbench.attestation.ports import PORT_SHARE, least_share
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import AttestationState, PartEvidence, PayloadPart
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval, Sent

CALIBRATION = "calibration."
"""Prefix of the labels of calibration intervals, which contain only the synchronisation of an interval."""

BARRIERS = "barriers."
"""Prefix of the labels of intervals that contain ``BARRIERS_EACH`` barriers and nothing else."""

BARRIERS_EACH = 100
"""``barriers_per_calibration`` in ``apps/timing/mark.hpp``."""

LATE_WIREUP = 0.5
"""Share of wire-up that a forbidden transport may carry in any interval, for connections that are opened late."""

Count = Callable[[Launch, "IntervalTraffic | MarkedInterval"], Sent]
"""Selects the traffic of an interval that counts."""


def evidence_by_marks(
    launch: Launch, wireup: WireUp, parts: Sequence[PayloadPart], intervals: Mapping[str, IntervalTraffic]
) -> Iterator[PartEvidence]:
    """Yields the evidence of every part; nothing unless all ranks marked all parts and the calibrations they need."""
    if any(not part.label or part.label not in intervals for part in parts):
        return
    if any(intervals[part.label].ranks != launch.ranks for part in parts):
        return
    borders = _part_borders(launch, parts, intervals, relevant_traffic)
    if borders is None:
        return
    if between_nodes(launch):
        yield from _of_local_shm(launch, wireup, parts, intervals)
        return
    shared = launch.transport == "tcp" and 1 < launch.nodes < launch.ranks
    between = _part_borders(launch, parts, intervals, _to_other_nodes) if shared else None
    late_wireup = LATE_WIREUP * rank_pair_factor(launch, wireup)
    for at, (part, border) in enumerate(zip(parts, borders, strict=True)):
        sent = relevant_traffic(launch, intervals[part.label])
        if launch.transport != "tcp" or inside_node(launch):
            yield forbid_payload(part, part.payload, sent, border, wireup, late_wireup)
            continue
        evidence = require_payload(part, part.payload, sent, border)
        if between is not None and evidence.state == "attested":
            evidence = _require_between_nodes(launch, evidence, intervals[part.label].other_node, between[at])
        yield evidence


def calibrated_border(
    launch: Launch, intervals: Mapping[str, IntervalTraffic], prefix: str, count: Count
) -> Border | None:
    """Returns the traffic of the calibration intervals whose labels begin with ``prefix``: largest count and scatter.

    None if fewer than two such intervals were marked by all ranks.
    """
    samples = [
        count(launch, traffic)
        for label, traffic in intervals.items()
        if label.startswith(prefix) and traffic.ranks == launch.ranks
    ]
    if len(samples) < 2:
        return None
    bytes_, segments = [sample.bytes for sample in samples], [sample.segments for sample in samples]
    return Border(
        bytes=max(bytes_),
        segments=max(segments),
        bytes_scatter=max(bytes_) - min(bytes_),
        segments_scatter=max(segments) - min(segments) + BORDER_SEGMENTS * launch.ranks,
    )


def _part_borders(
    launch: Launch, parts: Sequence[PayloadPart], intervals: Mapping[str, IntervalTraffic], count: Count
) -> list[Border] | None:
    """Returns for each part the traffic in its interval that is not its payload; None if a calibration is missing."""
    border = calibrated_border(launch, intervals, CALIBRATION, count)
    of_barriers = calibrated_border(launch, intervals, BARRIERS, count)
    if border is None or (of_barriers is None and any(part.barriers for part in parts)):
        return None
    return [_with_barriers(border, of_barriers or Border(), part.barriers, launch.ranks) for part in parts]


def _with_barriers(border: Border, of_barriers: Border, barriers: int, ranks: int) -> Border:
    """Returns the border of an interval that also contains ``barriers`` barriers.

    ``of_barriers`` is the border of ``BARRIERS_EACH`` barriers. A message of a barrier may share its segment with a
    message of the part, so each barrier adds one uncertain segment for each rank.
    """

    def scaled(count: int) -> int:
        return -(-count * barriers // BARRIERS_EACH)

    return Border(
        bytes=border.bytes + scaled(of_barriers.bytes),
        segments=border.segments + scaled(of_barriers.segments),
        bytes_scatter=border.bytes_scatter + scaled(of_barriers.bytes_scatter),
        segments_scatter=border.segments_scatter + scaled(of_barriers.segments_scatter) + barriers * ranks,
    )


def _require_between_nodes(launch: Launch, evidence: PartEvidence, sent: Sent, border: Border) -> PartEvidence:
    """Returns the evidence of a part whose ranks share nodes, after a check of its traffic between the nodes.

    Every algorithm sends at least ``least_share`` of the payload between the nodes.
    """
    payload = evidence.part.payload
    if payload.bytes:
        carried, least = max(0, sent.bytes - border.bytes), payload.bytes
    else:
        carried, least = max(0, sent.segments - border.segments), payload.messages
    if carried >= PORT_SHARE * least_share(launch) * least:
        return evidence
    state: AttestationState = "unknown" if carried else "refuted"
    reason = "too little passed between the nodes, unless all communicating rank pairs are within the nodes"
    return evidence.model_copy(update={"state": state, "reason": reason})


def _of_local_shm(
    launch: Launch, wireup: WireUp, parts: Sequence[PayloadPart], intervals: Mapping[str, IntervalTraffic]
) -> Iterator[PartEvidence]:
    """Yields the evidence of the parts of a launch that uses shared memory inside its nodes.

    Sockets must carry what passes between the nodes, if their transport is TCP, and nothing between ranks of one node.
    """
    between = _part_borders(launch, parts, intervals, _to_other_nodes) or []
    within = _part_borders(launch, parts, intervals, _to_same_node) or []
    late_wireup = LATE_WIREUP * rank_pair_factor(launch, wireup)
    for part, border, border_within in zip(parts, between, within, strict=True):
        traffic, least = intervals[part.label], scaled(part.payload, crossing(launch, part.benchmark))
        inside = forbid_payload(part, part.payload, traffic.same_node, border_within, wireup, late_wireup)
        if inside.state == "refuted":
            reason = "these bytes passed between ranks of one node"
            yield inside.model_copy(update={"reason": reason})
        elif launch.transport != "tcp":
            yield forbid_payload(part, part.payload, traffic.other_node, border, wireup, late_wireup)
        elif least.bytes or least.messages:
            evidence = require_payload(part, least, traffic.other_node, border)
            certain = crossing(launch, part.benchmark).certain or evidence.state != "refuted"
            yield evidence if certain else evidence.model_copy(update={"state": "unknown"})
        else:
            yield inside


def _to_same_node(launch: Launch, traffic: IntervalTraffic | MarkedInterval) -> Sent:
    return traffic.same_node


def _to_other_nodes(launch: Launch, traffic: IntervalTraffic | MarkedInterval) -> Sent:
    return traffic.other_node
