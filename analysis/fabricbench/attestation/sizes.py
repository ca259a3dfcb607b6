# SPDX-License-Identifier: Apache-2.0
"""Attests each part of a launch, one size of one case, by what the ranks' sockets carried while it ran.

*Marks.* The project's own programs mark begin and end of each part after a barrier, outside the timed region
(``apps/timing/mark.hpp``); the witness adds up what each rank sent in between. Before its first measurement a program
marks *calibration* intervals, which hold the same synchronisation and no message. They give what is taken off every
interval, and its scatter. Parts with a barrier around each iteration have these taken off likewise.

*Lines.* A benchmark without marks prints and flushes a line for each size. The witness of rank 0 adds up what rank 0
sent and received between two flushes of stdout. These intervals also hold what the tool sends between its sizes: the
smallest excess over the payload of any part is taken for it, and ``BETWEEN_LINES`` for the most that it can be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.attestation.ports import PORT_SHARE, least_share
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import AttestationBasis, AttestationState, PartEvidence, Payload, PayloadPart
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval, Sent

CALIBRATION = "calibration."
"""How the labels of calibration intervals begin: the synchronisation of any interval and no message."""

BARRIERS = "barriers."
"""How the labels of those intervals begin that hold ``BARRIERS_EACH`` barriers and nothing else."""

BARRIERS_EACH = 100
"""``barriers_per_calibration`` in ``apps/timing/mark.hpp``."""

BORDER_SEGMENTS = 2
"""Segments of each rank that may share one with a message of the synchronisation, at the two borders together."""

LARGEST_UNCERTAINTY = 0.1
"""An interval decides by bytes, or by segments, where the uncertainty at its borders is at most this share of the
payload."""

FORBIDDEN_PART_SHARE = 0.01
"""A forbidden transport may carry this share of a part's payload: upkeep of connections."""

LATE_WIREUP = 0.5
"""Share of wire-up that a forbidden transport may carry in any marked interval, for connections that are made late."""

LATE_WIREUP_BETWEEN_LINES = 1.5
"""The same between two lines: the first one may hold all of wire-up."""

BETWEEN_LINES = Payload(bytes=32768, messages=200)
"""The most that a tool is taken to move between two sizes, sent and received by rank 0; IMB moves 60 to 90 messages. A
size that has less than twice this is not decided by its line."""

MORE_ITERATIONS = "more iterations would decide"


@dataclass(frozen=True, slots=True)
class Border:
    """What an interval holds beside its part: at most ``bytes`` in ``segments``, uncertain by the scatters."""

    bytes: int = 0
    segments: int = 0
    bytes_scatter: int = 0
    segments_scatter: int = 0


def part_evidence(
    launch: Launch,
    parts: Sequence[PayloadPart],
    intervals: Mapping[str, IntervalTraffic],
    lines: Sequence[MarkedInterval],
) -> tuple[AttestationBasis, tuple[PartEvidence, ...]]:
    """What the evidence rests on, and the evidence of every part that it reaches.

    The result is ``launch`` and no evidence if the program set no marks and did not print a line for each part.

    By marks every part has evidence, undecided ones included. By lines only the decided parts have. Parts that move
    nothing need no evidence and are left out.
    """
    needed = moving(parts)
    if launch.wireup is None or not needed:
        return "launch", ()
    if found := tuple(_by_marks(launch, launch.wireup, needed, intervals)):
        return "marks", found
    if found := tuple(_by_lines(launch, launch.wireup, parts, lines)):
        return "lines", found
    return "launch", ()


def moving(parts: Sequence[PayloadPart]) -> list[PayloadPart]:
    """The parts that have something to carry."""
    return [part for part in parts if part.moves]


# ---- marks


def _by_marks(
    launch: Launch, wireup: WireUp, parts: Sequence[PayloadPart], intervals: Mapping[str, IntervalTraffic]
) -> Iterator[PartEvidence]:
    if any(not part.label or part.label not in intervals for part in parts):
        return
    if any(intervals[part.label].ranks != launch.ranks for part in parts):
        return
    borders = _part_borders(launch, parts, intervals, _counted)
    if borders is None:
        return
    shared = launch.transport == "tcp" and 1 < launch.nodes < launch.ranks
    between = _part_borders(launch, parts, intervals, _between) if shared else None
    for at, (part, border) in enumerate(zip(parts, borders, strict=True)):
        sent = _counted(launch, intervals[part.label])
        if launch.transport != "tcp":
            yield _quiet(part, part.payload, sent, border, wireup, LATE_WIREUP * pairs_factor(launch, wireup))
            continue
        evidence = _carried(part, part.payload, sent, border)
        if between is not None and evidence.state == "attested":
            evidence = _passed_between(launch, evidence, intervals[part.label].other_node, between[at])
        yield evidence


Counted = Callable[[Launch, "IntervalTraffic | MarkedInterval"], Sent]


def _part_borders(
    launch: Launch, parts: Sequence[PayloadPart], intervals: Mapping[str, IntervalTraffic], counted: Counted
) -> list[Border] | None:
    """The traffic in each part's interval that is not its payload: synchronisation, and barriers around iterations.

    None where a calibration is missing that a part needs. A message of a barrier may share its segment with one of the
    part, so that segments hardly decide beside barriers.
    """
    border = calibrated_border(launch, intervals, CALIBRATION, counted)
    of_barriers = calibrated_border(launch, intervals, BARRIERS, counted)
    if border is None or (of_barriers is None and any(part.barriers for part in parts)):
        return None
    return [_with_barriers(border, of_barriers or Border(), part.barriers, launch.ranks) for part in parts]


def _with_barriers(border: Border, of_barriers: Border, barriers: int, ranks: int) -> Border:
    """The border of an interval that also holds so many barriers; ``of_barriers`` is that of ``BARRIERS_EACH``."""

    def times(count: int) -> int:
        return -(-count * barriers // BARRIERS_EACH)

    return Border(
        bytes=border.bytes + times(of_barriers.bytes),
        segments=border.segments + times(of_barriers.segments),
        bytes_scatter=border.bytes_scatter + times(of_barriers.bytes_scatter),
        segments_scatter=border.segments_scatter + times(of_barriers.segments_scatter) + barriers * ranks,
    )


def calibrated_border(
    launch: Launch, intervals: Mapping[str, IntervalTraffic], prefix: str, counted: Counted
) -> Border | None:
    """What the calibration intervals whose labels begin with ``prefix`` carried; None with fewer than two that all
    ranks marked."""
    found = [
        counted(launch, traffic)
        for label, traffic in intervals.items()
        if label.startswith(prefix) and traffic.ranks == launch.ranks
    ]
    if len(found) < 2:
        return None
    bytes_, segments = [one.bytes for one in found], [one.segments for one in found]
    return Border(
        bytes=max(bytes_),
        segments=max(segments),
        bytes_scatter=max(bytes_) - min(bytes_),
        segments_scatter=max(segments) - min(segments) + BORDER_SEGMENTS * launch.ranks,
    )


def _passed_between(launch: Launch, evidence: PartEvidence, sent: Sent, border: Border) -> PartEvidence:
    """The evidence of a part whose ranks share nodes: any algorithm sends a least share of it between the nodes."""
    payload = evidence.part.payload
    if payload.bytes:
        carried, least = max(0, sent.bytes - border.bytes), payload.bytes
    else:
        carried, least = max(0, sent.segments - border.segments), payload.messages
    if carried >= PORT_SHARE * least_share(launch) * least:
        return evidence
    state: AttestationState = "unknown" if carried else "refuted"
    reason = "too little passed between the nodes, unless the ranks work in pairs within the nodes"
    return evidence.model_copy(update={"state": state, "reason": reason})


def _between(launch: Launch, traffic: IntervalTraffic | MarkedInterval) -> Sent:
    return traffic.other_node


# ---- lines


def _by_lines(
    launch: Launch, wireup: WireUp, parts: Sequence[PayloadPart], lines: Sequence[MarkedInterval]
) -> Iterator[PartEvidence]:
    """The evidence of the parts that the lines of rank 0 decide."""
    found = matched_lines(parts, lines)
    if found is None or launch.runs != 1:
        return
    measured = [(part, _at_rank_0(part, launch), _counted(launch, line)) for part, line in found if part.moves]
    excess = [(sent.bytes - least.bytes, sent.segments - least.messages) for _, least, sent in measured]
    border = Border(
        bytes_scatter=max(0, min(each[0] for each in excess)),
        segments_scatter=max(0, min(each[1] for each in excess)) + BORDER_SEGMENTS * launch.ranks,
    )
    for part, least, sent in measured:
        if launch.transport == "tcp":
            evidence = _carried(part, _beyond_between(least), sent, border)
        else:
            late = LATE_WIREUP_BETWEEN_LINES * pairs_factor(launch, wireup)
            evidence = _quiet(part, least, sent, Border(), wireup, late)
        if evidence.state != "unknown":
            yield evidence


def _beyond_between(least: Payload) -> Payload:
    """What of a payload a line can decide: bytes, or messages, of which there are enough that what a tool moves between
    two sizes cannot pass for them."""
    return Payload(
        bytes=least.bytes if least.bytes >= 2 * BETWEEN_LINES.bytes else 0,
        messages=least.messages if least.messages >= 2 * BETWEEN_LINES.messages else 0,
    )


def matched_lines(
    parts: Sequence[PayloadPart], lines: Sequence[MarkedInterval]
) -> list[tuple[PayloadPart, MarkedInterval]] | None:
    """Each part with the interval that its line ended, in order; None where one is missing."""
    rest = iter(lines)
    found = []
    for part in parts:
        line = next((one for one in rest if part.line and " ".join(one.label.split()) == part.line), None)
        if line is None:
            return None
        found.append((part, line))
    return found


def _at_rank_0(part: PayloadPart, launch: Launch) -> Payload:
    """The least of a payload that rank 0 sends or receives: all between two ranks, else a rank's equal share."""
    ranks = part.ranks or launch.ranks
    if ranks <= 2:
        return part.payload
    return Payload(bytes=part.payload.bytes // ranks, messages=part.payload.messages // ranks)


# ---- both


def _counted(launch: Launch, traffic: IntervalTraffic | MarkedInterval) -> Sent:
    """What counts: with one rank on each of several nodes what left the node, else all."""
    if launch.transport == "tcp" and 1 < launch.nodes == launch.ranks:
        return traffic.other_node
    return traffic.same_node + traffic.other_node


def _carried(part: PayloadPart, least: Payload, sent: Sent, border: Border) -> PartEvidence:
    """The evidence that sockets carried the part."""
    bytes_, segments = max(0, sent.bytes - border.bytes), max(0, sent.segments - border.segments)
    decided = [
        (carried / count, 1 - scatter / count)
        for carried, count, scatter in (
            (bytes_, least.bytes, border.bytes_scatter),
            (segments, least.messages, border.segments_scatter),
        )
        if count and scatter <= LARGEST_UNCERTAINTY * count
    ]
    if not decided:
        reason = f"other traffic in its interval may exceed a tenth of its payload; {MORE_ITERATIONS}"
        return PartEvidence(part=part, bytes=bytes_, segments=segments, state="unknown", reason=reason)
    share, required = min(decided, key=lambda one: one[0] - one[1])
    state: AttestationState = "attested" if share >= required else "refuted"
    return PartEvidence(part=part, bytes=bytes_, segments=segments, share=share, required=required, state=state)


def _quiet(
    part: PayloadPart, least: Payload, sent: Sent, border: Border, wireup: WireUp, late_wireup: float
) -> PartEvidence:
    """The evidence that sockets did not carry the part.

    They may have carried the synchronisation, a late part of wire-up, and ``FORBIDDEN_PART_SHARE`` of the payload.
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


def pairs_factor(launch: Launch, wireup: WireUp) -> float:
    """How many times more pairs of ranks a launch has than its wire-up: wire-up grows with these, at most."""
    return max(1.0, _pairs(launch.ranks) / _pairs(wireup.ranks))


def _pairs(ranks: int) -> int:
    return max(1, ranks * (ranks - 1) // 2)


def could_bypass(parts: Sequence[PayloadPart], spare_bytes: float, spare_segments: float) -> tuple[PayloadPart, ...]:
    """The parts any one of which could have bypassed the transport, because the launch carried that much more than the
    least that attests it. ``spare_bytes`` and ``spare_segments`` are this surplus.
    """
    return tuple(
        part for part in moving(parts) if part.payload.bytes <= spare_bytes and part.payload.messages <= spare_segments
    )
