# SPDX-License-Identifier: Apache-2.0
"""Traffic of a launch by message size, as marks and printed lines show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import Payload, PayloadPart, Traffic
from fabricbench.launch.witness import IntervalTraffic, MarkedInterval, Sent

SIZES = (0, *(2**k for k in range(15)))
"""The small messages: 0 B to 16 KiB."""

ITERATIONS = 601

MSS = 1448
"""Payload of a segment on Ethernet with an MTU of 1500."""

HEADER = 20
"""Bytes that the modelled stack puts before each message."""

NOTHING = Sent(bytes=0, segments=0)


def launch(transport: str = "tcp", **values: Any) -> Launch:
    facts: dict[str, Any] = {
        **{"id": "x", "block": 0, "position": 0, "system": "local", "fabric": transport, "transport": transport},
        **{"stack": "mpich", "tool": "micro", "benchmark": "pingpong", "ranks": 2, "nodes": 1, "argv": ("x",)},
        **{"limit_seconds": 60.0, "wireup": WireUp(launch="w", bytes=1000, segments=40)},
    }
    return Launch.model_validate(facts | values)


def part(size: int, iterations: int = ITERATIONS, **values: Any) -> PayloadPart:
    """Returns the part of a ping-pong at one size."""
    payload = Payload(bytes=2 * iterations * size, messages=2 * iterations)
    defaults: dict[str, Any] = {"label": str(size), "benchmark": "pingpong", "case": "", "msg_size_bytes": size}
    return PayloadPart.model_validate({**defaults, "payload": payload} | values)


def sent(one: PayloadPart) -> Sent:
    """Returns the traffic of a stack that uses Ethernet for the part."""
    each = (one.msg_size_bytes or 0) + HEADER
    messages = one.payload.messages
    return Sent(bytes=messages * each, segments=messages * -(-each // MSS))


def interval(same: Sent, ranks: int = 2, other: Sent = NOTHING) -> IntervalTraffic:
    return IntervalTraffic(ranks=ranks, same_node=same, other_node=other)


def traffic(intervals: Mapping[str, IntervalTraffic]) -> Traffic:
    """Returns the traffic of the whole launch: wire-up and the intervals."""
    totals = [each.same_node + each.other_node for each in intervals.values()]
    return Traffic(
        reports=2,
        connections=1,
        bytes=1000 + sum(total.bytes for total in totals),
        segments=40 + sum(total.segments for total in totals),
        bytes_between=sum(each.other_node.bytes for each in intervals.values()),
        by_peer={},
        devices=(),
        libraries=(),
        shared_maps=0,
        dropped=0,
    )


def total(parts: Sequence[PayloadPart]) -> Payload:
    return Payload(bytes=sum(one.payload.bytes for one in parts), messages=sum(one.payload.messages for one in parts))


BETWEEN_SIZES = Sent(bytes=1500, segments=57)
"""The traffic of the modelled tool between two sizes."""

PRINTED = tuple(part(size, label="", line=f"{size} 601 7.5") for size in SIZES)


def line(text: str, carried: Sent) -> MarkedInterval:
    return MarkedInterval(label=text, same_node=carried, other_node=NOTHING)


def printed_lines(hidden: Sequence[int] = ()) -> tuple[MarkedInterval, ...]:
    """Returns the lines of rank 0; the first is the table's head."""
    rows = (
        line(
            f"     {one.line.replace(' ', '     ')}",
            BETWEEN_SIZES + (NOTHING if one.msg_size_bytes in hidden else sent(one)),
        )
        for one in PRINTED
    )
    return (line("#bytes t", Sent(bytes=1000, segments=40)), *rows)
