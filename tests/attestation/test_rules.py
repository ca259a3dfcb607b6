# SPDX-License-Identifier: Apache-2.0
"""Tests each rule of attestation on both sides of its threshold."""

from typing import Any

import pytest

from attestation.synthetic_launch import WIREUP, launch
from fabricbench.attestation.rules import attest
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import Payload, Traffic


def carried(bytes_: int, segments: int, **values: Any) -> Traffic:
    defaults: dict[str, Any] = {"devices": (), "libraries": (), "shared_maps": 0, "dropped": 0, "by_peer": {}}
    return Traffic.model_validate(
        defaults | {"reports": 2, "connections": 1, "bytes": bytes_, "segments": segments} | values
    )


def state(launch: Launch, traffic: Traffic | None, payload: Payload | None) -> str:
    return attest(launch, traffic, payload).state


PAYLOAD = Payload(bytes=100_000, messages=1000)


@pytest.mark.parametrize(
    ("bytes_", "segments", "expected"),
    [
        # wire-up is 1000 bytes in 40 segments, and uncertain by half of it: 99,500 bytes in 980 segments are required
        (100_500, 1020, "attested"),
        (100_499, 1020, "refuted"),
        (100_500, 1019, "refuted"),
        (10**9, 1019, "refuted"),
        (100_499, 10**9, "refuted"),
        (1000, 40, "refuted"),
        (0, 0, "refuted"),
        (10**9, 10**9, "attested"),
    ],
)
def test_tcp_must_carry_its_share_of_bytes_and_of_messages(bytes_: int, segments: int, expected: str) -> None:
    assert state(launch("tcp"), carried(bytes_, segments), PAYLOAD) == expected


def test_the_share_is_the_smaller_one_with_wireup_taken_off() -> None:
    result = attest(launch("tcp"), carried(51_000, 1040), PAYLOAD)
    assert (result.share, result.wireup_bytes, result.wireup_segments) == (0.5, 1000, 40)
    assert attest(launch("tcp"), carried(101_000, 290), PAYLOAD).share == 0.25
    assert attest(launch("tcp"), carried(10, 1), PAYLOAD).share == 0.0


def test_messages_without_bytes_are_attested_by_segments() -> None:
    barriers = Payload(bytes=0, messages=1000)
    assert state(launch("tcp"), carried(1000, 1020), barriers) == "attested"
    assert state(launch("tcp"), carried(10**9, 1019), barriers) == "refuted"


def test_an_uncertain_wireup_lowers_the_required_share_to_nine_tenths_at_most() -> None:
    few = Payload(bytes=0, messages=100)
    assert state(launch("tcp"), carried(1000, 130), few) == "attested"
    assert state(launch("tcp"), carried(1000, 129), few) == "refuted"


def test_a_launch_without_payload_is_unknown_on_tcp() -> None:
    assert state(launch("tcp"), carried(1000, 40), Payload(bytes=0, messages=0)) == "unknown"


@pytest.mark.parametrize(
    ("bytes_", "segments", "expected"),
    [
        # 1.5 of wire-up and 0.01 of the payload: 2500 bytes in 70 segments
        (0, 0, "attested"),
        (1000, 40, "attested"),
        (2500, 70, "attested"),
        (2501, 70, "refuted"),
        (2500, 71, "refuted"),
        (101_000, 1040, "refuted"),
    ],
)
def test_shm_may_carry_no_more_than_wireup_on_sockets(bytes_: int, segments: int, expected: str) -> None:
    assert state(launch("shm"), carried(bytes_, segments), PAYLOAD) == expected


def test_shm_on_a_lane_that_wires_up_without_sockets() -> None:
    quiet = launch("shm", wireup=WireUp(launch="w", bytes=0, segments=0))
    assert state(quiet, carried(1000, 10), PAYLOAD) == "attested"
    assert state(quiet, carried(1001, 10), PAYLOAD) == "refuted"
    assert state(quiet, carried(1, 0), Payload(bytes=0, messages=0)) == "refuted"


def test_shm_is_attested_if_no_other_transport_carried_traffic() -> None:
    assert attest(launch("shm"), carried(0, 0), PAYLOAD).reason.startswith("by exclusion: ")


def test_shm_needs_every_rank_and_no_device() -> None:
    assert state(launch("shm"), carried(0, 0, reports=1), PAYLOAD) == "unknown"
    assert state(launch("shm", ranks=4), carried(0, 0, reports=3), PAYLOAD) == "unknown"
    device = attest(launch("shm"), carried(0, 0, devices=("/dev/infiniband/uverbs0",)), PAYLOAD)
    assert device.state == "unknown"
    assert device.reason.startswith("network devices were open: /dev/infiniband/uverbs0; UCX opens no adapter with ")
    # Bytes on sockets refute a launch, even without reports of other ranks.
    assert state(launch("shm"), carried(10**6, 0, reports=1), PAYLOAD) == "refuted"


def test_devices_that_copy_within_a_node_are_not_network_devices() -> None:
    copies = carried(0, 0, devices=("/dev/knem", "/dev/xpmem"))
    assert state(launch("shm"), copies, PAYLOAD) == "attested"
    both = attest(launch("shm"), carried(0, 0, devices=("/dev/cxi0", "/dev/xpmem")), PAYLOAD)
    assert (both.state, both.reason) == ("unknown", "network devices were open: /dev/cxi0")


ADAPTER = "/dev/infiniband/uverbs0"


@pytest.mark.parametrize(
    ("at_wireup", "expected"),
    [(None, "unknown"), ((), "unknown"), (("/dev/cxi0",), "unknown"), ((ADAPTER,), "attested")],
)
def test_tcp_beside_an_adapter_that_only_this_launch_opens_is_unknown(
    at_wireup: tuple[str, ...] | None, expected: str
) -> None:
    wireup = WIREUP.model_copy(update={"devices": at_wireup})
    result = attest(launch("tcp", wireup=wireup), carried(101_000, 1040, devices=(ADAPTER,)), PAYLOAD)
    assert result.state == expected
    assert ADAPTER in result.reason


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        # four ranks on two nodes: one of the three connections that join them passes between the nodes
        (0, "refuted"),
        (29_999, "unknown"),
        (30_000, "attested"),
    ],
)
def test_ranks_that_share_nodes_must_still_use_the_network(between: int, expected: str) -> None:
    four = launch("tcp", ranks=4, nodes=2)
    assert state(four, carried(101_000, 1040, reports=4, bytes_between=between), PAYLOAD) == expected


def test_tcp_does_not_need_every_rank() -> None:
    assert state(launch("tcp"), carried(101_000, 1040, reports=1), PAYLOAD) == "attested"


@pytest.mark.parametrize("transport", ["tcp", "shm"])
@pytest.mark.parametrize(
    ("values", "traffic", "payload", "reason"),
    [
        ({}, None, PAYLOAD, "no rank wrote a witness report"),
        ({}, carried(0, 0, dropped=3), PAYLOAD, "the witness lost 3 sockets: more than its table can hold"),
        ({"wireup": None}, carried(0, 0), PAYLOAD, "no wire-up was measured on this lane"),
        ({}, carried(0, 0), None, "the benchmark defines no payload"),
    ],
)
def test_an_unknown_state_has_a_reason(
    transport: str, values: dict[str, Any], traffic: Traffic | None, payload: Payload | None, reason: str
) -> None:
    result = attest(launch(transport, **values), traffic, payload)
    assert (result.state, result.reason) == ("unknown", reason)


def test_a_transport_without_a_rule_is_unknown() -> None:
    result = attest(launch("simulated"), carried(0, 0), PAYLOAD)
    assert (result.state, result.reason) == ("unknown", "no rule attests the transport 'simulated' yet")


@pytest.mark.parametrize("transport", ["tcp", "shm", "verbs", "mx", "psm", "cxi"])
def test_a_wireup_is_attested(transport: str) -> None:
    wireup = launch(transport, mode="wireup", wireup=None)
    assert state(wireup, carried(10**6, 10**3), Payload(bytes=0, messages=0)) == "attested"
    assert state(wireup, None, Payload(bytes=0, messages=0)) == "unknown"


def test_a_single_rank_without_payload_is_attested() -> None:
    alone, nothing = {"ranks": 1}, Payload(bytes=0, messages=0)
    assert state(launch("tcp", **alone), carried(0, 0, reports=1), nothing) == "attested"
    assert state(launch("tcp"), carried(0, 0), nothing) == "unknown"


def test_the_wireup_allowance_scales_with_the_rank_pairs() -> None:
    """Four ranks have six pairs: up to 1.5 * 6 times the wire-up of two."""
    traffic = carried(9000 + 1000, 40, reports=4)
    assert state(launch("shm", ranks=4), traffic, PAYLOAD) == "attested"
    assert state(launch("shm", ranks=2), traffic, PAYLOAD) == "refuted"


@pytest.mark.parametrize("kind", ["udp_sockets", "unix_sockets"])
def test_uncounted_sockets_make_shm_unknown(kind: str) -> None:
    with_counts = launch("shm", wireup=WIREUP.model_copy(update={"udp_sockets": 1, "unix_sockets": 1}))
    assert state(with_counts, carried(0, 0, **{kind: 1}), PAYLOAD) == "attested"
    assert state(with_counts, carried(0, 0, **{kind: 2}), PAYLOAD) == "unknown"
    assert state(launch("shm"), carried(0, 0, unix_sockets=9), PAYLOAD) == "attested", "not recorded in older campaigns"


def test_the_sockets_allowed_for_wireup_scale_with_the_ranks() -> None:
    """The wire-up of two ranks has four Unix sockets, so four ranks may have eight."""
    oversubscribe = launch("shm", ranks=4, wireup=WIREUP.model_copy(update={"unix_sockets": 4}))
    assert state(oversubscribe, carried(0, 0, unix_sockets=8, reports=4), PAYLOAD) == "attested"
    assert state(oversubscribe, carried(0, 0, unix_sockets=9, reports=4), PAYLOAD) == "unknown"


# ---- programs that are started for every size: one wire-up for each start


@pytest.mark.parametrize(
    ("bytes_", "segments", "expected"),
    [
        # five times 500 bytes in 20 segments, and uncertain by half of it
        (101_250, 1050, "attested"),
        (101_249, 1050, "refuted"),
        (101_250, 1049, "refuted"),
    ],
)
def test_tcp_with_a_wireup_for_each_start(bytes_: int, segments: int, expected: str) -> None:
    twice = WIREUP.model_copy(update={"runs": 2})
    result = attest(launch("tcp", runs=5, wireup=twice), carried(bytes_, segments), PAYLOAD)
    assert (result.state, result.wireup_bytes, result.wireup_segments) == (expected, 2500, 100)


@pytest.mark.parametrize(
    ("bytes_", "segments", "more", "expected"),
    [
        # 1.5 times three wire-ups and 0.01 of the payload
        (5500, 190, {}, "attested"),
        (5501, 190, {}, "refuted"),
        (5500, 191, {}, "refuted"),
        (0, 0, {"unix_sockets": 6}, "attested"),
        (0, 0, {"unix_sockets": 7}, "unknown"),
    ],
)
def test_shm_with_a_wireup_for_each_start(bytes_: int, segments: int, more: dict[str, int], expected: str) -> None:
    wireup = WIREUP.model_copy(update={"unix_sockets": 2})
    assert state(launch("shm", runs=3, wireup=wireup), carried(bytes_, segments, **more), PAYLOAD) == expected
