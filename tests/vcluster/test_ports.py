# SPDX-License-Identifier: Apache-2.0
"""Tests nodes with two ports: the requested port carries the bytes, or the report names the other port."""

from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from support.vcluster import Cluster, Site

SHORT = ("-S", "MicroPingpong.iterations=20", "-S", "MicroPingpong.port=eth1")


@pytest.fixture(scope="module", autouse=True)
def two_ports(cluster: Cluster) -> None:
    cluster.up(PORTS="2")


def timed(campaign: Path) -> list[Record]:
    return [record for record in read_campaign(campaign).records if record.launch and record.launch.mode == "timed"]


def test_the_requested_second_port_carries_the_bytes(site: Site, tmp_path: Path) -> None:
    process = site.reframe(tmp_path / "campaign", "-n", "^MicroPingpong", *SHORT, "-p", "^(impi|mpich|openmpi)$")
    assert process.returncode == 0, process.stdout[-3000:]
    records = timed(tmp_path / "campaign")
    assert {record.launch.stack for record in records if record.launch} >= {"mpich", "openmpi"}
    for record in records:
        assert (record.state, record.reason) == ("ok", "")
        assert record.launch is not None
        assert (record.launch.port, record.launch.ports) == ("eth1", ("eth0", "eth1"))
        assert record.binding.port_shares["eth1"] > 0.9
        assert {row.case for row in record.rows} == {"port=eth1"}


@pytest.mark.parametrize("otherwise", ["eth0", "eth0,eth1"])
def test_a_stack_that_uses_another_port_is_reported(site: Site, tmp_path: Path, otherwise: str) -> None:
    """The stack uses only the other port, or both. The launch is ok, because the bytes were on the fabric."""
    stacks = site.root / "site/stacks.py"
    setting = '"OMPI_MCA_btl_tcp_if_include": "{port}"'
    assert setting in stacks.read_text()
    stacks.write_text(
        stacks.read_text().replace(setting, f'"OMPI_MCA_btl_tcp_if_include": "{otherwise}", "NOT": "{{port}}"')
    )
    process = site.reframe(tmp_path / "campaign", "-n", "^MicroPingpong%messages=large", *SHORT, "-p", "^openmpi$")
    assert process.returncode == 0, process.stdout[-3000:]
    (record,) = timed(tmp_path / "campaign")
    assert record.state == "ok"
    assert record.binding.problem == record.reason
    assert record.reason.startswith("port eth1 was requested, but it carried ")
    assert record.binding.port_shares["eth0"] > 0.1


def test_an_unknown_port_is_skipped(site: Site, tmp_path: Path) -> None:
    option = ("-S", "MicroPingpong.port=eth2")
    process = site.reframe(tmp_path / "campaign", "-n", "^MicroPingpong%messages=small", *option, "-p", "^mpich$")
    assert process.returncode == 0, process.stdout[-3000:]
    (skip,) = read_campaign(tmp_path / "campaign").skips
    assert (skip.reason, skip.hint) == ("the fabric gige has no port 'eth2'", "choose one of eth0, eth1")


def test_both_links_of_a_node_have_the_rate_and_are_removed(site: Site, cluster: Cluster) -> None:
    cluster.up(PORTS="2", DELAY_US="200")
    assert cluster.script("rate", "n2", "300").returncode == 0
    shaped = cluster.slurm("ip", "netns", "exec", "fbvc-n2", "tc", "qdisc")
    assert [line.split("dev ")[1].split()[0] for line in shaped.splitlines() if "rate 300Mbit" in line] == [
        "eth0",
        "eth1",
    ]
    cluster.down()
    assert cluster.left_over() == []
