# SPDX-License-Identifier: Apache-2.0
"""Attests the parts of a launch whose program sets no marks, but prints and flushes a line for each part.

The witness of rank 0 counts what rank 0 sent and received between two flushes of stdout. These intervals also contain
the traffic of the tool itself between its sizes. The smallest excess over the payload of any part estimates this
traffic, and ``BETWEEN_LINES`` limits it.
"""

from collections.abc import Iterator, Sequence

from fabricbench.attestation.intervals import (
    BORDER_SEGMENTS,
    Border,
    forbid_payload,
    rank_pair_factor,
    relevant_traffic,
    require_payload,
)
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import PartEvidence, Payload, PayloadPart
from fabricbench.launch.witness import MarkedInterval

LATE_WIREUP_BETWEEN_LINES = 1.5
"""Share of wire-up that a forbidden transport may carry before any line; the first interval may contain all of it."""

BETWEEN_LINES = Payload(bytes=32768, messages=200)
"""Upper limit of a tool's own traffic between two sizes, sent and received by rank 0; IMB sends 60 to 90 messages. A
part with a payload below twice this limit is not decided by its line."""


def evidence_by_lines(
    launch: Launch, wireup: WireUp, parts: Sequence[PayloadPart], lines: Sequence[MarkedInterval]
) -> Iterator[PartEvidence]:
    """Yields the evidence of the parts that the lines of rank 0 decide."""
    matches = matched_lines(parts, lines)
    if matches is None or launch.runs != 1:
        return
    measured = [
        (part, _share_of_rank_0(part, launch), relevant_traffic(launch, line)) for part, line in matches if part.moves
    ]
    excess = [(sent.bytes - least.bytes, sent.segments - least.messages) for _, least, sent in measured]
    border = Border(
        bytes_scatter=max(0, min(each[0] for each in excess)),
        segments_scatter=max(0, min(each[1] for each in excess)) + BORDER_SEGMENTS * launch.ranks,
    )
    late_wireup = LATE_WIREUP_BETWEEN_LINES * rank_pair_factor(launch, wireup)
    for part, least, sent in measured:
        if launch.transport == "tcp":
            evidence = require_payload(part, _decidable_payload(least), sent, border)
        else:
            evidence = forbid_payload(part, least, sent, Border(), wireup, late_wireup)
        if evidence.state != "unknown":
            yield evidence


def matched_lines(
    parts: Sequence[PayloadPart], lines: Sequence[MarkedInterval]
) -> list[tuple[PayloadPart, MarkedInterval]] | None:
    """Returns each part with the interval that its line ends, in order; None if a line is missing."""
    remaining = iter(lines)
    matches = []
    for part in parts:
        line = next((one for one in remaining if part.line and " ".join(one.label.split()) == part.line), None)
        if line is None:
            return None
        matches.append((part, line))
    return matches


def _decidable_payload(least: Payload) -> Payload:
    """Returns the counts of a payload that are at least twice ``BETWEEN_LINES``; smaller ones become 0."""
    return Payload(
        bytes=least.bytes if least.bytes >= 2 * BETWEEN_LINES.bytes else 0,
        messages=least.messages if least.messages >= 2 * BETWEEN_LINES.messages else 0,
    )


def _share_of_rank_0(part: PayloadPart, launch: Launch) -> Payload:
    """Returns the payload that rank 0 sends or receives at least: all of it with two ranks, else an equal share."""
    ranks = part.ranks or launch.ranks
    if ranks <= 2:
        return part.payload
    return Payload(bytes=part.payload.bytes // ranks, messages=part.payload.messages // ranks)
