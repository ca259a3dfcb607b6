# SPDX-License-Identifier: Apache-2.0
"""Lanes of the variant local-shm: what must pass between nodes, and what sockets may not carry inside them."""

from typing import Any

import pytest

from attestation.synthetic_launch import WIREUP, launch
from fabricbench.attestation.between import crossing
from fabricbench.attestation.rules import attest
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Attestation, Payload, Traffic

PAYLOAD = Payload(bytes=3_000_000, messages=3000)


def local_shm(benchmark: str = "allreduce", **values: Any) -> Launch:
    facts: dict[str, Any] = {"ranks": 4, "nodes": 2, "placement": "block", "variant": "local-shm"}
    return launch(values.pop("transport", "tcp"), benchmark=benchmark, **(facts | values))


def carried(between: int, within: int = 0, segments: int = 4000, **values: Any) -> Traffic:
    facts: dict[str, Any] = {
        **{"reports": 4, "connections": 4, "bytes": between + within, "segments": segments, "bytes_between": between},
        **{"by_peer": {}, "devices": (), "libraries": (), "shared_maps": 1, "dropped": 0},
    }
    return Traffic.model_validate(facts | values)


def result(between: int, within: int = 0, one: Launch | None = None, **values: Any) -> Attestation:
    return attest(one or local_shm(), carried(between, within, **values), PAYLOAD)


@pytest.mark.parametrize(
    ("benchmark", "ranks", "nodes", "placement", "share"),
    [
        ("pingpong", 4, 2, "block", 1.0),  # 0 with 2, 1 with 3
        ("pingpong", 4, 2, "cyclic", 0.0),
        ("pingpong", 12, 3, "block", 1.0),
        ("sendrecv", 4, 2, "block", 0.5),  # 1 to 2 and 3 to 0
        ("sendrecv", 4, 2, "cyclic", 1.0),
        ("bcast", 8, 4, "block", 3 / 7),
        ("allgather", 8, 4, "block", 3 / 7),
        ("allreduce", 8, 4, "block", 0.5),
        ("alltoall", 8, 4, "block", 6 / 7),
        ("gather", 8, 4, "block", 6 / 7),
        ("ialltoall_pure", 8, 4, "block", 6 / 7),
        ("cg.A", 8, 4, "block", 3 / 7),
        ("allreduce", 4, 4, "block", 1.0),
        ("allreduce", 4, 1, None, 0.0),
    ],
)
def test_the_share_that_must_pass_between_nodes(
    benchmark: str, ranks: int, nodes: int, placement: str | None, share: float
) -> None:
    one = local_shm(benchmark, ranks=ranks, nodes=nodes, placement=placement)
    assert crossing(one, benchmark).bytes == pytest.approx(share)
    assert crossing(one, benchmark).certain is (benchmark != "cg.A")


@pytest.mark.parametrize("benchmark", ["pingpong", "sendrecv"])
@pytest.mark.parametrize("placement", ["block", "cyclic", None])
def test_the_share_of_rank_pairs_equals_that_of_a_count(benchmark: str, placement: str | None) -> None:
    for ranks in range(3, 30):
        for nodes in range(2, ranks):
            one = local_shm(benchmark, ranks=ranks, nodes=nodes, placement=placement)
            each, distance = -(-ranks // nodes), 1 if benchmark == "sendrecv" else ranks // 2
            node = [rank % nodes if placement == "cyclic" else rank // each for rank in range(ranks)]
            apart = sum(node[rank] != node[(rank + distance) % ranks] for rank in range(ranks))
            assert crossing(one, benchmark).bytes == pytest.approx(apart / ranks)


def test_enough_between_the_nodes_and_nothing_inside_is_attested() -> None:
    """An allreduce of 4 ranks on 2 nodes sends half of its payload between the nodes."""
    attested = result(1_600_000)
    assert attested.state == "attested", attested.reason
    assert "at least 1500000 of the benchmark's 3000000 bytes must pass between the nodes" in attested.reason
    assert attested.share == pytest.approx((1_600_000 - WIREUP.bytes) / 1_500_000)


def test_too_little_between_the_nodes_is_refuted() -> None:
    refuted = result(1_300_000)
    assert refuted.state == "refuted"
    assert "too little passed between the nodes: sockets carried 1300000 bytes between the nodes" in refuted.reason


def test_an_application_with_too_little_between_the_nodes_is_unknown() -> None:
    """Its communicating rank pairs may be within the nodes."""
    assert result(900_000, one=local_shm("cg.A")).state == "unknown"
    assert result(1_100_000, one=local_shm("cg.A")).state == "attested"


def test_messages_between_ranks_of_one_node_on_sockets_are_refuted() -> None:
    """Wire-up of six rank pairs may carry 9000 bytes, and 1 % of the payload."""
    assert result(1_600_000, 39_000).state == "attested"
    refuted = result(1_600_000, 39_001)
    assert refuted.state == "refuted"
    assert "ranks of one node used sockets, more than wire-up accounts for" in refuted.reason


def test_missing_reports_are_unknown() -> None:
    assert result(1_600_000, reports=3).state == "unknown"


def test_a_benchmark_without_bytes_is_attested_by_its_messages() -> None:
    barrier = Payload(bytes=0, messages=3000)
    one = local_shm("barrier")
    assert attest(one, carried(20_000, segments=1100), barrier).state == "attested"
    assert attest(one, carried(20_000, segments=900), barrier).state == "unknown"


def test_on_one_node_everything_is_in_shared_memory() -> None:
    one = local_shm(nodes=1, placement=None)
    assert result(0, one=one, segments=0).state == "attested"
    assert result(0, 3_000_000, one=one).state == "refuted"


def test_ranks_of_one_node_exchange_more_with_the_process_manager() -> None:
    """The counts of a barrier of Open MPI 4.1 on two ranks of one node under srun; the wire-up has one rank a node."""
    wireup = WIREUP.model_copy(update={"bytes": 2620, "segments": 48})
    one = local_shm("barrier", ranks=2, nodes=1, placement=None, wireup=wireup)
    barrier = Payload(bytes=0, messages=484)

    def state(**values: int) -> str:
        return attest(one, carried(0, values["within"], segments=values["segments"], reports=2), barrier).state

    assert state(within=11_016, segments=52) == "attested"
    assert state(within=11_016 + 484 * 8, segments=52 + 484) == "refuted"
    assert state(within=2**20, segments=60) == "refuted"


def counts(bytes_: int) -> dict[str, dict[str, dict[str, int]]]:
    each = {"mlx5_0:1": {"tx_bytes": bytes_ // 2, "rx_bytes": bytes_ // 2}}
    return {"n1": each, "n2": each}


@pytest.mark.parametrize(("bytes_", "state"), [(1_600_000, "attested"), (1_300_000, "refuted")])
def test_ports_show_what_passed_between_the_nodes(bytes_: int, state: str) -> None:
    one = local_shm(transport="verbs", ports=("mlx5_0:1",))
    quiet = carried(500, segments=20, devices=("/dev/infiniband/uverbs0",))
    attestation = attest(one, quiet, PAYLOAD, counts(bytes_))
    assert attestation.state == state, attestation.reason
    assert attestation.reason.endswith("no counter shows whether ranks of one node used the fabric")
