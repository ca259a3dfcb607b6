# SPDX-License-Identifier: Apache-2.0
"""Tests each rule for port counters, of transports that bypass the kernel, on both sides of its threshold."""

from typing import Any

import pytest

from fabricbench.attestation.rules import attest
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import Attestation, Payload, Ports, Traffic

PAYLOAD = Payload(bytes=1_000_000, messages=1000)
UVERBS = "/dev/infiniband/uverbs0"
DEVICES = {"verbs": UVERBS, "psm": "/dev/hfi1_0", "cxi": "/dev/cxi0", "mx": "/dev/open-mx"}


def launch(**values: Any) -> Launch:
    facts: dict[str, Any] = {
        **{"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "ib", "transport": "verbs"},
        **{"stack": "mpich", "tool": "micro", "benchmark": "pingpong", "ranks": 2, "nodes": 2, "argv": ("x",)},
        **{"limit_seconds": 60.0, "ports": ("mlx5_0:1",), "wireup": WireUp(launch="w", bytes=1000, segments=40)},
    }
    return Launch.model_validate(facts | values)


def carried(bytes_: int = 1000, segments: int = 40, **values: Any) -> Traffic:
    defaults: dict[str, Any] = {"devices": (UVERBS,), "libraries": (), "shared_maps": 0, "dropped": 0, "by_peer": {}}
    return Traffic.model_validate(
        defaults | {"reports": 2, "connections": 1, "bytes": bytes_, "segments": segments} | values
    )


def port(bytes_: int, packets: int, **values: int) -> dict[str, int]:
    """Returns the counters of one of two nodes that send each other equal traffic."""
    return {"tx_bytes": bytes_, "rx_bytes": bytes_, "tx_packets": packets, "rx_packets": packets} | values


def nodes(*ports: dict[str, int], name: str = "mlx5_0:1") -> Ports:
    return {f"n{number}": {name: port} for number, port in enumerate(ports, 1)}


def result_of(counts: Ports, traffic: Traffic | None = None, payload: Payload = PAYLOAD, **values: Any) -> Attestation:
    return attest(launch(**values), traffic or carried(), payload, counts)


@pytest.mark.parametrize(
    ("bytes_", "packets", "expected"),
    [
        (450_000, 450, "attested"),
        (449_999, 450, "refuted"),
        (450_000, 449, "refuted"),
        (10**12, 449, "refuted"),
        (10**12, 10**9, "attested"),
        (0, 0, "refuted"),
    ],
)
def test_the_ports_must_have_carried_their_share(bytes_: int, packets: int, expected: str) -> None:
    assert result_of(nodes(port(bytes_, packets), port(bytes_, packets))).state == expected


def test_what_was_sent_must_have_been_received() -> None:
    assert result_of(nodes(port(10**6, 1000), port(10**6, 1000, rx_bytes=0))).state == "attested"
    deaf = port(10**6, 1000, rx_bytes=0)
    assert result_of(nodes(deaf, deaf)).state == "refuted"


def test_one_direction_sums_over_the_nodes() -> None:
    sender = {"tx_bytes": 10**6, "rx_bytes": 100, "tx_packets": 1000, "rx_packets": 10}
    receiver = {"tx_bytes": 100, "rx_bytes": 10**6, "tx_packets": 10, "rx_packets": 1000}
    assert result_of(nodes(sender, receiver)).state == "attested"


def test_the_attestation_contains_evidence_and_share() -> None:
    ports = nodes(port(500_000, 600), port(500_000, 600))
    result = result_of({**ports, "n1": ports["n1"] | {"eth0": port(7, 7)}})
    assert (result.share, result.ports) == (1.0, ports)
    assert result.reason == (
        "mlx5_0:1 of 2 nodes sent 1000000 bytes in 1200 packets, "
        "the benchmark moved at least 1000000 bytes in 1000 messages; sockets carried no more than wire-up"
    )


def test_another_port_than_the_fabrics_does_not_count() -> None:
    ports = nodes(port(0, 0), port(0, 0))
    for host in ports.values():
        host["mlx5_1:1"] = port(10**9, 10**6)
    assert result_of(ports).reason.startswith(
        "only 0.0% of the payload was on the ports of the fabric: mlx5_0:1 of 2 nodes"
    )
    both = ("mlx5_0:1", "mlx5_1:1")
    assert result_of(ports, ports=both).state == "attested"


@pytest.mark.parametrize("transport", DEVICES)
def test_payload_on_sockets_refutes_the_launch(transport: str) -> None:
    full = nodes(port(10**9, 10**6), port(10**9, 10**6))
    # 1.5 of wire-up and 0.01 of the payload: 11500 bytes in 70 segments
    for bytes_, segments, expected in ((11_500, 70, "attested"), (11_501, 70, "refuted"), (11_500, 71, "refuted")):
        result = result_of(full, carried(bytes_, segments, devices=(DEVICES[transport],)), transport=transport)
        assert result.state == expected, result.reason


@pytest.mark.parametrize("transport", DEVICES)
def test_a_rank_must_have_opened_a_device_of_the_transport(transport: str) -> None:
    full = nodes(port(10**9, 10**6), port(10**9, 10**6))
    result = result_of(full, carried(devices=("/dev/knem",)), transport=transport)
    assert result.state == "unknown"
    assert result.reason.startswith(f"no rank opened a device of {transport} (/dev/")


@pytest.mark.parametrize(
    ("values", "ports", "reason"),
    [
        ({"nodes": 1}, nodes(port(10**6, 10**3)), "verbs is attested by port counters, and only between nodes"),
        (
            {"ports": ()},
            nodes(port(1, 1), port(1, 1)),
            "the fabric declares no ports, so no counters show",
        ),
        ({}, {}, "only 0 of 2 nodes recorded port counters"),
        ({}, nodes(port(10**6, 10**3)), "only 1 of 2 nodes recorded port counters"),
        ({}, nodes(port(10**6, 10**3), {}), "no counters of the port mlx5_0:1 on n2 from before and after"),
        ({}, nodes({"tx_bytes": 1, "rx_packets": 1}, port(1, 1)), "no counters of the port mlx5_0:1 on n1"),
        ({}, {"n1": {}, "n2": {"eth0": port(1, 1)}}, "no counters of the port mlx5_0:1 on n1"),
    ],
)
def test_counters_that_are_absent_are_unknown_with_the_reason(
    values: dict[str, Any], ports: Ports, reason: str
) -> None:
    result = result_of(ports, **values)
    assert (result.state, result.share) == ("unknown", None)
    assert result.reason.startswith(reason)


def test_counters_of_an_additional_node_are_accepted() -> None:
    assert result_of(nodes(*[port(10**6, 10**3)] * 3)).state == "attested"


@pytest.mark.parametrize(
    ("traffic", "reason"),
    [
        (carried(reports=1), "only 1 of 2 ranks wrote a witness report"),
        (carried(udp_sockets=1), "1 UDP sockets were open on 2 ranks"),
        (carried(dropped=1), "the witness lost 1 sockets"),
    ],
)
def test_incomplete_socket_reports_are_unknown(traffic: Traffic, reason: str) -> None:
    result = result_of(nodes(port(10**6, 10**3), port(10**6, 10**3)), traffic)
    assert result.state == "unknown"
    assert result.reason.startswith(reason)


@pytest.mark.parametrize(
    ("packets", "payload", "expected"),
    [
        # soft-RoCE counts packets only: at most 4096 bytes each, so 10**6 bytes are 245 of them
        (111, Payload(bytes=1_000_000, messages=2), "attested"),
        (110, Payload(bytes=1_000_000, messages=2), "refuted"),
        (450, PAYLOAD, "attested"),
        (449, PAYLOAD, "refuted"),
    ],
)
def test_packets_replace_bytes_that_are_not_counted(packets: int, payload: Payload, expected: str) -> None:
    rxe = {"tx_packets": packets, "rx_packets": packets}
    result = result_of(nodes(rxe, rxe, name="rxe0:1"), payload=payload, ports=("rxe0:1",))
    assert result.state == expected
    assert f"rxe0:1 of 2 nodes sent {2 * packets} packets, the benchmark" in result.reason


def test_software_iwarp_is_attested_by_its_interface() -> None:
    """Software iWARP is counted by its Ethernet interface only, and no rank has a socket."""
    eth0 = {"tx_bytes": 600_000, "rx_bytes": 600_000}
    assert result_of(nodes(eth0, eth0, name="eth0"), ports=("eth0",)).state == "attested"
    over_sockets = carried(10**6, 10**3)
    assert result_of(nodes(eth0, eth0, name="eth0"), over_sockets, ports=("eth0",)).state == "refuted"


def test_messages_without_bytes_are_attested_by_packets() -> None:
    barriers = Payload(bytes=0, messages=1000)
    assert result_of(nodes(port(0, 450), port(0, 450)), payload=barriers).state == "attested"
    assert result_of(nodes(port(10**9, 449), port(10**9, 449)), payload=barriers).state == "refuted"
    bytes_only = {"tx_bytes": 10**6, "rx_bytes": 10**6}
    assert "no payload that port counters can show" in result_of(nodes(bytes_only, bytes_only), payload=barriers).reason


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        # 8 ranks on 2 nodes: one of the 7 connections that join them must pass between the nodes
        (500_000 // 7, "attested"),
        (450_000 // 7 + 1, "attested"),
        (450_000 // 7 - 1, "unknown"),
    ],
)
def test_more_ranks_than_nodes_may_send_inside_them(bytes_: int, expected: str) -> None:
    result = result_of(nodes(port(bytes_, 10**6), port(bytes_, 10**6)), carried(reports=8), ranks=8)
    assert result.state == expected
    assert result.share is not None


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        # twice 10**6, 256 for each of 1000 messages, 1 MiB for each of 2 nodes
        (2_176_576, "attested"),
        (2_176_577, "unknown"),
    ],
)
def test_excess_traffic_on_shared_nodes_is_unknown(bytes_: int, expected: str) -> None:
    result = result_of(nodes(port(bytes_, 10**6), port(bytes_, 10**6)), exclusive=False)
    assert result.state == expected
    assert ("more than the 4353152 bytes that this launch can account for" in result.reason) == (expected == "unknown")
    assert result_of(nodes(port(bytes_, 10**6), port(bytes_, 10**6))).state == "attested"


def test_packet_counters_of_shared_nodes_are_unknown() -> None:
    rxe = {"tx_packets": 10**6, "rx_packets": 10**6}
    result = result_of(nodes(rxe, rxe), exclusive=False)
    assert (result.state, "packets of other jobs" in result.reason) == ("unknown", True)
    few = {"tx_packets": 1, "rx_packets": 1}
    assert result_of(nodes(few, few), exclusive=False).state == "refuted"
