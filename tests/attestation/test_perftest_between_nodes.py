# SPDX-License-Identifier: Apache-2.0
"""Synthetic launches of perftest between two nodes: sockets carry a handshake of each size, the adapter the payload."""

from fabricbench.attestation.rules import attest
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import Attestation, Payload, Ports, Traffic

RUNS = 15
PAYLOAD = Payload(bytes=2 * 1000 * 32767, messages=2 * 1000 * RUNS)
HANDSHAKE = WireUp(launch="w", bytes=600, segments=12, devices=("/dev/infiniband/uverbs0",))


def result(sent_bytes: int, *, socket_bytes: int = RUNS * 600, port: str = "mlx5_0:1") -> Attestation:
    """The attestation of 15 sizes of ib_send_lat; each node's port sends and receives ``sent_bytes``."""
    launch = Launch.model_validate(
        {
            **{"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "roce", "transport": "verbs"},
            **{"stack": "verbs", "tool": "perftest", "benchmark": "pingpong", "ranks": 2, "nodes": 2, "runs": RUNS},
            **{"argv": ("x",), "limit_seconds": 60.0, "ports": ("mlx5_0:1",), "wireup": HANDSHAKE},
        }
    )
    traffic = Traffic(
        reports=2,
        connections=RUNS,
        bytes=socket_bytes,
        segments=12 * RUNS,
        devices=("/dev/infiniband/uverbs0",),
        libraries=(),
        shared_maps=0,
        dropped=0,
        by_peer={},
    )
    counters = {"tx_bytes": sent_bytes, "rx_bytes": sent_bytes, "tx_packets": 1000 * RUNS, "rx_packets": 1000 * RUNS}
    counts: Ports = {node: {port: counters} for node in ("n1", "n2")}
    return attest(launch, traffic, PAYLOAD, counts)


def test_the_handshake_of_every_size_is_expected_on_sockets() -> None:
    attestation = result(PAYLOAD.bytes // 2)
    assert (attestation.state, attestation.wireup_bytes) == ("attested", RUNS * 600)


def test_a_payload_that_the_adapter_did_not_carry_is_refuted() -> None:
    assert result(PAYLOAD.bytes // 20).state == "refuted"


def test_a_payload_on_sockets_is_refuted() -> None:
    attestation = result(PAYLOAD.bytes // 2, socket_bytes=RUNS * 600 + PAYLOAD.bytes)
    assert attestation.state == "refuted"
    assert "more than wire-up accounts for (9000 bytes" in attestation.reason


def test_another_adapter_is_unknown() -> None:
    assert result(PAYLOAD.bytes // 2, port="mlx5_1:1").state == "unknown"
