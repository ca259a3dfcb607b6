# SPDX-License-Identifier: Apache-2.0
"""Libraries below MPI between two virtual nodes: server on one, client on the other, attested by sockets and ports."""

from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.site.settings import build_root
from support.vcluster import Cluster, Site

SHORT = (
    *("-S", "iterations=50", "-S", "large_iterations=5", "-S", "QperfTcp.small_sizes=1"),
    *("-S", "largest_bytes=16", "-S", "LibfabricConnections.connections=1,2", "-S", "LibfabricConnections.step=8"),
)
CHECKS = {
    "sockets": ("QperfTcp%messages=small%test=tcp_lat", "TcpStreams%streams=2"),
    "libfabric": ("FiPingpong%messages=small", "LibfabricConnections%messages=small"),
    "ucx": ("UcxPerftest%messages=small%test=tag_lat",),
}


@pytest.fixture(scope="module", autouse=True)
def two_nodes(cluster: Cluster) -> None:
    cluster.up(PORTS="2")


def test_each_library_is_attested_between_the_nodes(site: Site, tmp_path: Path) -> None:
    names = [name for name in CHECKS if (build_root() / "stacks" / name / "stack.json").exists()]
    if not names:
        pytest.skip("no library is set up: run `make setup`")
    checks = [option for name in names for check in CHECKS[name] for option in ("-n", f"^{check}$")]
    process = site.reframe(tmp_path / "campaign", *checks, *SHORT, "-p", f"^({'|'.join(names)})$")
    assert process.returncode == 0, process.stdout[-3000:]
    campaign = read_campaign(tmp_path / "campaign")
    timed = [record for record in campaign.records if record.launch and record.launch.mode == "timed"]
    assert len(timed) == sum(len(CHECKS[name]) for name in names)
    for record in timed:
        assert record.launch is not None
        assert (record.state, record.reason, record.hosts) == ("ok", "", ("n1", "n2")), record.launch.id
        assert (record.launch.ranks, record.launch.nodes) == (2, 2)
        attestation = record.attestation
        assert attestation is not None
        assert attestation.state == "attested"
        assert attestation.traffic is not None
        assert attestation.traffic.bytes_between > 0.9 * attestation.traffic.bytes
        sent = sum(ports["eth0"]["tx_bytes"] for ports in attestation.ports.values())
        assert sent >= attestation.traffic.bytes_between
    scripts = [file.read_text() for file in tmp_path.rglob("rfm_job.sh")]
    lines = [line for script in scripts for line in script.splitlines() if "fabricbench-client-server" in line]
    assert len(lines) >= len(timed)
    assert all("srun --mpi=none --nodes=2 --ntasks=2 --ntasks-per-node=1" in line for line in lines)
    assert all("fabricbench-node --dir" in line for line in lines)


def test_a_library_that_uses_another_port_is_refuted(site: Site, tmp_path: Path) -> None:
    """The fabric declares eth0, and UCX is set to eth1: the sockets carry the payload, the declared port does not."""
    if not (build_root() / "stacks/ucx/stack.json").exists():
        pytest.skip("ucx is not set up: run `make setup`")
    site.change("ports=PORTS", 'ports=["eth0"]')
    site.change('"UCX_NET_DEVICES": "eth0"', '"UCX_NET_DEVICES": "eth1"')
    sizes = ("-S", "largest_bytes=65536", "-S", "large_iterations=100")
    check = "^UcxPerftest%messages=large%test=tag_lat$"
    process = site.reframe(tmp_path / "campaign", "-n", check, *sizes, "-p", "^ucx$")
    assert process.returncode == 1, process.stdout[-3000:]
    (record,) = [
        one for one in read_campaign(tmp_path / "campaign").records if one.launch and one.launch.mode == "timed"
    ]
    assert record.attestation is not None
    assert record.attestation.state == "refuted"
    assert "bytes between the nodes, the ports of the fabric (eth0) sent" in record.reason
