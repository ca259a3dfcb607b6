# SPDX-License-Identifier: Apache-2.0
"""A fabric that reduces in its switches: the least that its ports must show, and what stays refuted."""

from pathlib import Path
from typing import Any

import pytest

from attestation.synthetic_launch import launch
from fabricbench.attestation.ports import switched_share
from fabricbench.attestation.rules import attest
from fabricbench.errors import BadInput
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Attestation, Payload, Traffic
from fabricbench.site.fabric import Fabric

NODES = 4
SIZE = 1_000_000
PORT = "mlx5_0:1"
PAYLOADS = {"bcast": 3, "reduce": 3, "allreduce": 4, "allgather": 12, "alltoall": 12}
"""Bytes that four ranks move, as multiples of the message size, as the parsers count them."""
SWITCHED = {"bcast": (1, 3), "reduce": (3, 1), "allreduce": (4, 4), "allgather": (4, 12), "alltoall": (12, 12)}
"""Multiples of the size that the ports of four nodes send and receive if switches copy and combine."""


def facts(benchmark: str, declared: bool, **values: Any) -> Launch:
    common: dict[str, Any] = {"ranks": NODES, "nodes": NODES, "ports": (PORT,), "placement": "block"}
    return launch("verbs", benchmark=benchmark, reduces_in_network=declared, **(common | values))


def result(one: Launch, sent: float, received: float, payload: float) -> Attestation:
    """The attestation of a launch whose ports sent and received so many multiples of the size."""
    quiet: dict[str, Any] = {
        **{"reports": one.ranks, "connections": 4, "bytes": 500, "segments": 20, "bytes_between": 0, "by_peer": {}},
        **{"devices": ("/dev/infiniband/uverbs0",), "libraries": (), "shared_maps": 1, "dropped": 0},
    }
    counters = {"tx_bytes": int(sent * SIZE / one.nodes), "rx_bytes": int(received * SIZE / one.nodes)}
    ports = {f"n{node}": {PORT: counters} for node in range(one.nodes)}
    return attest(one, Traffic.model_validate(quiet), Payload(bytes=int(payload * SIZE), messages=4), ports)


@pytest.mark.parametrize("benchmark", SWITCHED)
def test_the_least_of_a_network_that_reduces_is_attested(benchmark: str) -> None:
    sent, received = SWITCHED[benchmark]
    attestation = result(facts(benchmark, declared=True), sent, received, PAYLOADS[benchmark])
    assert attestation.state == "attested", attestation.reason
    assert attestation.share == pytest.approx(1.0)


@pytest.mark.parametrize("benchmark", SWITCHED)
@pytest.mark.parametrize("less", ["sent", "received"])
def test_less_in_either_direction_is_refuted(benchmark: str, less: str) -> None:
    sent, received = (
        0.8 * least if direction == less else least
        for direction, least in zip(("sent", "received"), SWITCHED[benchmark], strict=True)
    )
    attestation = result(facts(benchmark, declared=True), sent, received, PAYLOADS[benchmark])
    assert attestation.state == "refuted"
    assert attestation.share == pytest.approx(0.8)


@pytest.mark.parametrize("benchmark", ["bcast", "reduce", "allgather"])
def test_without_the_declaration_the_same_counts_are_refuted(benchmark: str) -> None:
    sent, received = SWITCHED[benchmark]
    assert result(facts(benchmark, declared=False), sent, received, PAYLOADS[benchmark]).state == "refuted"


@pytest.mark.parametrize("benchmark", ["allreduce", "alltoall"])
def test_the_declaration_changes_nothing_else(benchmark: str) -> None:
    sent, received = SWITCHED[benchmark]
    assert result(facts(benchmark, declared=False), sent, received, PAYLOADS[benchmark]).state == "attested"


def test_the_reason_names_both_directions() -> None:
    reason = result(facts("bcast", declared=True), 1, 3, 3).reason
    assert "switches reduce, so 1000000 bytes sent and 3000000 received suffice" in reason


@pytest.mark.parametrize(("sent", "state"), [(1.0, "attested"), (0.8, "refuted")])
def test_shared_memory_inside_the_nodes(sent: float, state: str) -> None:
    """Eight ranks on four nodes: the root's node sends once, each other node receives once."""
    one = facts("bcast", declared=True, ranks=8, variant="local-shm")
    attestation = result(one, sent, 3.0, 7)
    assert attestation.state == state, attestation.reason


def test_ranks_that_share_nodes_without_shared_memory() -> None:
    assert result(facts("bcast", declared=True, ranks=8), 1, 3, 7).state == "attested"
    assert result(facts("bcast", declared=True, ranks=8), 0.8, 3, 7).state == "unknown"


@pytest.mark.parametrize("benchmark", ["ibcast", "ibcast_pure", "iallgather"])
def test_non_blocking_collectives(benchmark: str) -> None:
    assert switched_share(facts(benchmark, declared=True), "tx") == pytest.approx(1 / 3)
    assert switched_share(facts(benchmark, declared=True), "rx") == 1


def test_two_nodes_and_one_node_have_the_whole_payload() -> None:
    for nodes in (1, 2):
        assert switched_share(facts("bcast", declared=True, ranks=2, nodes=nodes), "tx") == 1


@pytest.mark.parametrize("transport", ["tcp", "shm"])
def test_a_network_of_sockets_does_not_reduce(transport: Any) -> None:
    fabric = Fabric(name="net", transport=transport, stacks=["mpich"], reduces_in_network=True)
    with pytest.raises(BadInput, match=f"net: reduces_in_network with the transport {transport}; expected"):
        fabric.check(Path("settings.py"), ["mpich"])
