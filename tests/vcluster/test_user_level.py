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
    cluster.up()


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
