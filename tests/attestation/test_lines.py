# SPDX-License-Identifier: Apache-2.0
"""A tool that sets no marks is attested by the lines that it prints."""

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
from fabricbench.attestation.rules import attest
from fabricbench.attestation.sizes import part_evidence
from fabricbench.launch.record import Attestation
from fabricbench.launch.witness import MarkedInterval, Sent


def by_lines(lines: tuple[MarkedInterval, ...], **values: Any) -> Attestation:
    carried = traffic({str(number): interval(each.same_node) for number, each in enumerate(lines)})
    return attest(launch(**values), carried, total(PRINTED), parts=PRINTED, lines=lines)


def test_printed_lines_attest_each_size_of_an_honest_tool() -> None:
    result = by_lines(printed_lines())
    assert (result.state, result.basis, len(result.parts)) == ("attested", "lines", len(SIZES))
    assert result.could_bypass == ()


@pytest.mark.parametrize("hidden", [*((size,) for size in SIZES), tuple(size for size in SIZES if size <= 128)])
def test_printed_lines_refute_sizes_that_bypass_the_transport(hidden: tuple[int, ...]) -> None:
    result = by_lines(printed_lines(hidden))
    assert result.state == "refuted"
    assert [one.part.msg_size_bytes for one in result.parts if one.state == "refuted"] == list(hidden)


def test_traffic_between_sizes_does_not_attest_few_messages() -> None:
    """With 27 iterations a hidden size has about as many messages as the tool sends between two sizes."""
    parts = tuple(part(size, 27, label="", line=f"{size} 27 7.5") for size in SIZES)
    lines = tuple(
        line(one.line, BETWEEN_SIZES + (NOTHING if (one.msg_size_bytes or 0) <= 16 else sent(one))) for one in parts
    )
    _, evidence = part_evidence(launch(), parts, {}, lines)
    assert all((one.part.msg_size_bytes or 0) > 16 for one in evidence if one.state == "attested")


def test_a_missing_line_leaves_the_launch_to_its_sum() -> None:
    lines = printed_lines()
    assert by_lines((*lines[:5], *lines[6:])).basis == "launch"
    assert by_lines(tuple(reversed(lines))).basis == "launch"
    assert by_lines(lines, runs=2).basis == "launch"


def test_lines_on_shared_memory_have_no_socket_traffic() -> None:
    """The tool's own traffic exceeds what wire-up accounts for; wire-up itself may precede a line."""
    assert by_lines(printed_lines(hidden=SIZES), transport="shm").state == "refuted"
    silent = [line(each.label, NOTHING) for each in printed_lines()]
    silent[1] = line(silent[1].label, Sent(bytes=1000, segments=40))
    assert by_lines(tuple(silent), transport="shm").state == "attested"
    at = 1 + SIZES.index(8)
    silent[at] = line(silent[at].label, sent(part(8)))
    result = by_lines(tuple(silent), transport="shm")
    assert [one.part.msg_size_bytes for one in result.parts if one.state == "refuted"] == [8]


def test_rank_0_of_four_must_show_a_quarter_of_the_payload() -> None:
    quarter = tuple(
        line(each.label, Sent(bytes=each.same_node.bytes // 4, segments=each.same_node.segments // 4))
        for each in printed_lines()
    )
    assert by_lines(quarter, ranks=4).basis == "lines"
    _, evidence = part_evidence(launch(ranks=4), PRINTED, {}, quarter)
    assert {one.state for one in evidence} == {"attested"}
