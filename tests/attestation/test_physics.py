# SPDX-License-Identifier: Apache-2.0
"""Collectives that take less time than the lane's own messages allow are refuted."""

from typing import Any

import pytest

from attestation.synthetic_launch import launch
from fabricbench.launch.record import Attestation, Record, Row
from support.launches import refute_beyond_physics


def record(benchmark: str, metric: str, size: int | None, value: float, **values: Any) -> Record:
    """Returns a record in state ok with one row; ``values`` replace fields of its launch, or its state."""
    record_state = values.pop("state", "ok")
    row = Row(benchmark=benchmark, case="", metric=metric, msg_size_bytes=size, value=value)
    facts = launch(values.pop("transport", "tcp"), **values)
    attestation = Attestation(state="attested", reason="")
    return Record(directory="d", launch=facts, state=record_state, attestation=attestation, rows=(row,))


PINGPONG = record("pingpong", "latency", 8, 10.0)


def states(*records: Record) -> list[str]:
    return [each.state for each in refute_beyond_physics(records)]


@pytest.mark.parametrize("benchmark", ["allreduce", "alltoall", "allgather", "barrier"])
@pytest.mark.parametrize(("value", "expected"), [(4.999, "refuted"), (5.0, "ok"), (100.0, "ok")])
def test_dependent_collectives_are_not_faster_than_a_message(benchmark: str, value: float, expected: str) -> None:
    size = None if benchmark == "barrier" else 4
    assert states(PINGPONG, record(benchmark, "time_max", size, value)) == ["ok", expected]


def test_a_launch_refuted_by_physics_has_a_reason_and_keeps_its_rows() -> None:
    fast = record("allreduce", "time_max", 4, 0.4)
    _, refuted = refute_beyond_physics((PINGPONG, fast))
    assert refuted.reason == (
        "allreduce of 4 B took 0.4 us, less than 0.5 of the lane's own one-way latency of 10.0 us: "
        "its messages bypassed the transport"
    )
    assert refuted.attestation is not None
    assert (refuted.attestation.state, refuted.attestation.reason) == ("refuted", refuted.reason)
    assert refuted.rows == fast.rows
    assert (
        "barrier took 0.4 us" in refute_beyond_physics((PINGPONG, record("barrier", "time_max", None, 0.4)))[1].reason
    )


@pytest.mark.parametrize(
    ("benchmark", "value", "expected"),
    [
        # 1 MB/s is a byte per us: 1,000,000 bytes need 1,000,000 us, of which half is required
        ("allreduce", 499_999.0, "refuted"),
        ("allreduce", 500_000.0, "ok"),
        # two ranks receive half of a reduced vector each
        ("reduce_scatter", 249_999.0, "refuted"),
        ("reduce_scatter", 250_000.0, "ok"),
    ],
)
def test_dependent_collectives_are_not_faster_than_the_bandwidth_at_their_size(
    benchmark: str, value: float, expected: str
) -> None:
    bandwidth = record("unidirectional", "bandwidth", 1_000_000, 1.0)
    assert states(PINGPONG, bandwidth, record(benchmark, "time_max", 1_000_000, value))[-1] == expected


def test_a_bandwidth_of_smaller_messages_is_no_limit_for_larger_ones() -> None:
    bandwidth = record("unidirectional", "bandwidth", 999_999, 1.0)
    assert states(PINGPONG, bandwidth, record("allreduce", "time_max", 1_000_000, 10.0))[-1] == "ok"


def test_a_collective_over_nothing_may_take_no_time() -> None:
    assert states(PINGPONG, record("allreduce", "time_max", 0, 0.03)) == ["ok", "ok"]


def test_a_broadcast_may_return_before_it_arrives() -> None:
    assert states(PINGPONG, record("bcast", "time_max", 4, 0.03)) == ["ok", "ok"]


def test_only_the_slowest_rank_counts() -> None:
    for metric in ("time", "time_min"):
        assert states(PINGPONG, record("allreduce", metric, 4, 0.03)) == ["ok", "ok"]


def test_a_launch_of_one_rank_has_no_least_time() -> None:
    assert states(PINGPONG, record("allreduce", "time_max", 4, 0.03, ranks=1)) == ["ok", "ok"]


def test_shared_memory_is_exempt_from_physics() -> None:
    message = record("pingpong", "latency", 8, 10.0, transport="shm")
    assert states(message, record("allreduce", "time_max", 4, 0.03, transport="shm")) == ["ok", "ok"]


def test_without_a_latency_of_the_lane_nothing_is_refuted() -> None:
    fast = record("allreduce", "time_max", 4, 0.03)
    assert states(fast) == ["ok"]
    other_lanes = [
        record("pingpong", "latency", 8, 10.0, fabric="gige"),
        record("pingpong", "latency", 8, 10.0, stack="impi"),
        record("pingpong", "latency", 8, 10.0, variant="two-rails"),
        record("pingpong", "latency", 8, 10.0, system="other"),
        record("pingpong", "latency_mean", 8, 10.0),
        record("sendrecv", "latency", 8, 10.0),
    ]
    assert states(*other_lanes, fast)[-1] == "ok"
    assert refute_beyond_physics(()) == ()


def test_the_smallest_attested_latency_of_the_campaign_applies() -> None:
    slow, fast = record("pingpong", "latency", 8, 30.0), record("pingpong", "latency", 8, 10.0)
    between = record("allreduce", "time_max", 4, 8.0)
    assert states(slow, between) == ["ok", "refuted"]
    assert states(between, slow, fast) == ["ok", "ok", "ok"]


def test_a_latency_that_is_not_attested_is_ignored() -> None:
    fast = record("allreduce", "time_max", 4, 0.03)
    for bad in ("refuted", "unknown", "failed"):
        assert states(record("pingpong", "latency", 8, 10.0, state=bad), fast) == [bad, "ok"]


@pytest.mark.parametrize("bad", ["failed", "refuted", "unknown", "unreadable", "unfinished"])
def test_other_states_stay_as_they_are(bad: str) -> None:
    fast = record("allreduce", "time_max", 4, 0.03, state=bad)
    assert refute_beyond_physics((PINGPONG, fast)) == (PINGPONG, fast)
    alone = Record(directory="d", launch=None, state="unreadable")
    assert refute_beyond_physics((PINGPONG, alone)) == (PINGPONG, alone)
