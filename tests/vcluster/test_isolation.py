# SPDX-License-Identifier: Apache-2.0
"""Tests traffic inside a node, between nodes, and through memory that two virtual nodes share."""

from pathlib import Path

from fabricbench.campaign.read import read_campaign
from support.vcluster import Cluster, Site

SHORT = ("-n", "^MicroPingpong%messages=small", "-S", "MicroPingpong.iterations=20")


def test_bytes_inside_a_node_and_between_nodes_are_counted_separately(
    site: Site, tmp_path: Path, cluster: Cluster
) -> None:
    """Four ranks on two nodes: the first and third exchange messages; some of the wire-up stays inside a node."""
    cluster.up(CPUS="2")
    process = site.reframe(tmp_path / "campaign", *SHORT, "-p", "^openmpi$", "-S", "MicroPingpong.ranks=4")
    assert process.returncode == 0, process.stdout[-3000:]
    for record in read_campaign(tmp_path / "campaign").records:
        assert record.launch is not None
        assert record.attestation is not None
        assert record.attestation.traffic is not None
        if record.launch.mode == "timed":
            assert record.launch.ranks == 4
            assert record.hosts == ("n1", "n2")
            assert 0 < record.attestation.traffic.bytes_between < record.attestation.traffic.bytes


def test_a_stack_that_copies_through_memory_between_nodes_is_refuted(
    site: Site, tmp_path: Path, cluster: Cluster
) -> None:
    cluster.up(ISOLATION="network")
    site.change('"UCX_NET_DEVICES": "eth0"', '"UCX_TLS": "all", "MPIR_CVAR_NOLOCAL": "0"')
    process = site.reframe(tmp_path / "campaign", *SHORT, "-p", "^mpich$")
    assert process.returncode == 1, process.stdout[-3000:]
    launches = [r for r in read_campaign(tmp_path / "campaign").records if r.launch and r.launch.mode == "timed"]
    assert {record.hosts for record in launches} == {("n1", "n2")}
    assert {record.state for record in launches} == {"refuted"}
    for record in launches:
        assert " sizes refuted: " in record.reason or "of the payload was on TCP" in record.reason, record.reason
