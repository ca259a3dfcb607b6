# SPDX-License-Identifier: Apache-2.0
"""Attests each part of a launch, one message size of one case, from the sockets' traffic while the part ran."""

from collections.abc import Mapping, Sequence

from fabricbench.attestation.lines import evidence_by_lines
from fabricbench.attestation.marks import evidence_by_marks
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import AttestationBasis, PartEvidence, PayloadPart
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval


def part_evidence(
    launch: Launch,
    parts: Sequence[PayloadPart],
    intervals: Mapping[str, IntervalTraffic],
    lines: Sequence[MarkedInterval],
) -> tuple[AttestationBasis, tuple[PartEvidence, ...]]:
    """Returns the basis of the evidence, and the evidence of every part for which there is any.

    With marks every part has evidence, undecided parts too. With lines only the decided parts have evidence. Without
    either, the basis is ``launch`` and no part has evidence. Parts that move nothing need no evidence.
    """
    relevant = parts_with_payload(parts)
    if launch.wireup is None or not relevant:
        return "launch", ()
    if evidence := tuple(evidence_by_marks(launch, launch.wireup, relevant, intervals)):
        return "marks", evidence
    if launch.variant:  # rank 0 alone does not show what passes between the nodes
        return "launch", ()
    if evidence := tuple(evidence_by_lines(launch, launch.wireup, parts, lines)):
        return "lines", evidence
    return "launch", ()


def parts_with_payload(parts: Sequence[PayloadPart]) -> list[PayloadPart]:
    """Returns the parts that move bytes or messages."""
    return [part for part in parts if part.moves]


def parts_within_surplus(
    parts: Sequence[PayloadPart], spare_bytes: float, spare_segments: float
) -> tuple[PayloadPart, ...]:
    """Returns the parts whose payload is at most the launch's surplus.

    The surplus is what the launch carried beyond the least that attests it. Any one of these parts could have bypassed
    the transport without an effect on the state of the launch.
    """
    return tuple(
        part
        for part in parts_with_payload(parts)
        if part.payload.bytes <= spare_bytes and part.payload.messages <= spare_segments
    )
