# SPDX-License-Identifier: Apache-2.0
"""Tests attestation of each size on modelled counts: by the sum of a launch, by marks and by output lines."""

from collections.abc import Sequence
from typing import Any

import pytest

from attestation.synthetic_intervals import (
    BETWEEN_SIZES,
    NOTHING,
    PRINTED,
    SIZES,
    interval,
    launch,
    line,
    part,
    printed_lines,
    sent,
    total,
    traffic,
)
from fabricbench.attestation.marks import CALIBRATION, calibrated_border
from fabricbench.attestation.rules import attest
from fabricbench.attestation.sizes import part_evidence
from fabricbench.launch.record import Attestation, PayloadPart
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval, Sent

BARRIER = Sent(bytes=88, segments=4)

Intervals = dict[str, IntervalTraffic]


PARTS = tuple(part(size) for size in SIZES)


def marked(hidden: Sequence[int] = (), parts: Sequence[PayloadPart] = PARTS) -> Intervals:
    """The intervals of a launch in which the messages of ``hidden`` sizes bypass the sockets."""
    result = {f"calibration.{number}": interval(BARRIER) for number in range(6)}
    for one in parts:
        carried = NOTHING if one.msg_size_bytes in hidden else sent(one)
        result[one.label] = interval(carried + BARRIER)
    return result


def by_sum(intervals: Intervals) -> Attestation:
    """Returns the attestation of the launch without marks."""
    return attest(launch(), traffic(intervals), total(PARTS), parts=PARTS)


def by_marks(intervals: Intervals, **values: Any) -> Attestation:
    return attest(launch(**values), traffic(intervals), total(PARTS), parts=PARTS, intervals=intervals)


def test_an_honest_launch_is_attested_size_by_size() -> None:
    result = by_marks(marked())
    assert (result.state, result.basis, len(result.parts)) == ("attested", "marks", len(SIZES))
    assert {one.state for one in result.parts} == {"attested"}
    assert result.could_bypass == ()
    smallest = min(one.share for one in result.parts if one.share is not None)
    assert 1.0 <= smallest < 1.01
    assert result.reason.startswith(f"each of {len(SIZES)} sizes by itself, at least 100.0%")


@pytest.mark.parametrize("hidden", [*((size,) for size in SIZES), tuple(size for size in SIZES if size <= 1024)])
def test_sizes_that_bypass_the_transport_are_refuted(hidden: tuple[int, ...]) -> None:
    result = by_marks(marked(hidden))
    assert result.state == "refuted"
    refuted = [one.part.msg_size_bytes for one in result.parts if one.state == "refuted"]
    assert refuted == list(hidden)
    assert result.reason.startswith(f"{len(hidden)} of {len(SIZES)} sizes refuted: pingpong at {hidden[0]} B")


def test_marks_refute_sizes_that_the_sum_attests() -> None:
    """Every ping-pong of up to 64 B bypasses the transport; the larger sizes' segments and headers make up for it."""
    bypass = tuple(size for size in SIZES if size <= 64)
    assert by_sum(marked(bypass)).state == "attested"
    assert by_marks(marked(bypass)).state == "refuted"


def test_the_sum_of_a_launch_shows_more_than_a_tenth_of_its_bytes() -> None:
    """Up to 1 KiB is 6 % of the bytes, which a threshold of 0.9 would let pass."""
    assert by_sum(marked(tuple(size for size in SIZES if size <= 1024))).state == "refuted"


def test_a_launch_without_marks_lists_the_sizes_that_could_bypass_the_transport() -> None:
    result = by_sum(marked())
    assert (result.state, result.basis) == ("attested", "launch")
    assert [one.msg_size_bytes for one in result.could_bypass] == [0, *(2**k for k in range(9))]


def test_the_required_share_is_lower_by_the_scatter_at_the_borders() -> None:
    """Of 1202 messages four may share a segment with the synchronisation; of bytes none may be missing."""
    one = (part(8),)
    payload = one[0].payload

    def state(carried: Sent, calibrations: Sequence[Sent]) -> str:
        result = {f"calibration.{number}": interval(each) for number, each in enumerate(calibrations)}
        _, (evidence,) = part_evidence(launch(), one, result | {"8": interval(carried)}, ())
        return evidence.state

    exact = [BARRIER] * 6
    least = Sent(bytes=payload.bytes + 88, segments=payload.messages + 4 - 4)
    assert state(least, exact) == "attested"
    assert state(Sent(bytes=least.bytes - 1, segments=least.segments), exact) == "refuted"
    assert state(Sent(bytes=least.bytes, segments=least.segments - 1), exact) == "refuted"
    # A scatter of 100 bytes and 2 segments between calibrations lowers the required counts by as much.
    scattered = [BARRIER, Sent(bytes=188, segments=6)]
    assert state(Sent(bytes=payload.bytes + 88, segments=payload.messages), scattered) == "attested"
    assert state(Sent(bytes=payload.bytes + 87, segments=payload.messages), scattered) == "refuted"
    assert state(Sent(bytes=payload.bytes + 88, segments=payload.messages - 1), scattered) == "refuted"


@pytest.mark.parametrize(("iterations", "expected"), [(19, "unknown"), (20, "attested")])
def test_too_few_messages_for_the_scatter_are_unknown(iterations: int, expected: str) -> None:
    """Four uncertain segments are a tenth of 40 messages; empty messages have no bytes that could decide."""
    parts = (part(0, iterations),)
    intervals = marked(parts=parts)
    result = attest(launch(), traffic(intervals), total(parts), parts=parts, intervals=intervals)
    assert result.state == expected
    if expected == "unknown":
        assert "more iterations would decide" in result.reason


def test_few_large_messages_are_decided_by_their_bytes() -> None:
    parts = (part(4 * 2**20, 1),)
    intervals = marked(parts=parts)
    result = attest(launch(), traffic(intervals), total(parts), parts=parts, intervals=intervals)
    assert result.state == "attested"
    none = marked(hidden=(4 * 2**20,), parts=parts)
    assert part_evidence(launch(), parts, none, ())[1][0].state == "refuted"


def without(intervals: Intervals, *labels: str) -> Intervals:
    return {label: each for label, each in intervals.items() if not label.startswith(labels)}


@pytest.mark.parametrize(
    "incomplete",
    [
        without(marked(), "8192"),
        without(marked(), "calibration."),
        without(marked(), *(f"calibration.{number}" for number in range(5))),
        {**marked(), "8": interval(sent(part(8)), ranks=1)},
        {},
    ],
)
def test_without_all_marks_of_all_ranks_the_launch_counts_as_a_whole(incomplete: Intervals) -> None:
    result = attest(launch(), traffic(marked()), total(PARTS), parts=PARTS, intervals=incomplete)
    assert (result.state, result.basis, result.parts) == ("attested", "launch", ())


def test_between_nodes_only_what_left_the_node_counts() -> None:
    inside = marked()
    between = {label: interval(NOTHING, other=each.same_node) for label, each in inside.items()}
    assert by_marks(between, nodes=2).state == "attested"
    result = by_marks(inside, nodes=2)
    assert (result.state, len([one for one in result.parts if one.state == "refuted"])) == ("refuted", len(SIZES))


def test_shared_memory_has_no_socket_traffic_at_any_size() -> None:
    quiet = marked(hidden=SIZES)
    assert by_marks(quiet, transport="shm").state == "attested"
    # Sixteen bytes in each message of one size pass sockets: 0.1 % of the launch's payload, and all of that size's.
    loud = marked(hidden=tuple(size for size in SIZES if size != 8))
    result = by_marks(loud, transport="shm")
    assert result.state == "refuted"
    assert [one.part.msg_size_bytes for one in result.parts if one.state == "refuted"] == [8]


def test_calibrations_give_the_traffic_at_the_borders_of_a_mark() -> None:
    intervals = {"calibration.0": interval(BARRIER), "calibration.1": interval(BARRIER)}
    result = calibrated_border(launch(), intervals, CALIBRATION, lambda _, one: one.same_node)
    assert result is not None
    assert (result.bytes, result.segments, result.bytes_scatter, result.segments_scatter) == (88, 4, 0, 4)


def test_barriers_around_iterations_do_not_attest_the_collective() -> None:
    """Each of 601 iterations has a barrier of 24 bytes in a segment from each rank; the collective bypasses sockets."""
    of_barriers = {f"barriers.{n}": interval(Sent(bytes=4800, segments=200)) for n in range(4)}
    around = Sent(bytes=601 * 48, segments=601 * 2)
    parts = tuple(part(size, barriers=601, benchmark="bcast") for size in (4, 16, 64))
    honest = marked(parts=parts) | of_barriers
    honest |= {one.label: interval(sent(one) + BARRIER + around) for one in parts}
    bypass = honest | {one.label: interval(BARRIER + around) for one in parts}
    states = [[one.state for one in part_evidence(launch(), parts, each, ())[1]] for each in (honest, bypass)]
    assert states == [["attested"] * 3, ["refuted"] * 3]
    without_calibration = without(honest, "barriers.")
    assert part_evidence(launch(), parts, without_calibration, ())[0] == "launch"


@pytest.mark.parametrize(("between", "expected"), [(0, "refuted"), (1, "unknown"), (40, "attested")])
def test_each_size_must_pass_between_nodes_that_several_ranks_share(between: int, expected: str) -> None:
    """Of four ranks on two nodes a third of each size must pass between the nodes, whatever the algorithm."""
    four = {label: interval(each.same_node, ranks=4) for label, each in marked().items()}
    one = part(1024)
    crossed = Sent(bytes=one.payload.bytes * between // 100, segments=one.payload.messages)
    rest = Sent(bytes=sent(one).bytes - crossed.bytes + 88, segments=4)
    four[one.label] = interval(rest, ranks=4, other=crossed)
    (evidence,) = part_evidence(launch(ranks=4, nodes=2), (one,), four, ())[1]
    assert evidence.state == expected


def test_few_iterations_on_shared_memory_leave_a_size_to_the_sum() -> None:
    parts = (part(8, iterations=5), part(65536, iterations=5))
    result = by_marks(marked(hidden=(8, 65536), parts=parts), transport="shm")
    assert result.state == "attested"
    few = attest(launch("shm"), traffic({}), total(parts), parts=parts, intervals=marked((8, 65536), parts))
    assert (few.state, [one.state for one in few.parts]) == ("attested", ["unknown", "attested"])


def test_an_open_adapter_needs_evidence_of_every_size() -> None:
    adapter = "/dev/infiniband/uverbs0"

    def state(lines: tuple[MarkedInterval, ...], parts: Sequence[PayloadPart]) -> str:
        carried = traffic({str(n): interval(each.same_node) for n, each in enumerate(lines)})
        carried = carried.model_copy(update={"devices": (adapter,)})
        return attest(launch(), carried, total(parts), parts=parts, lines=lines).state

    assert state(printed_lines(), PRINTED) == "attested"
    few = part(8, iterations=10, label="", line="8 10 7.5")
    short = line(few.line, BETWEEN_SIZES + sent(few))
    assert state((*printed_lines(), short), (*PRINTED, few)) == "unknown"
