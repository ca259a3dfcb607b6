# SPDX-License-Identifier: Apache-2.0
"""Launches at several scales on four nodes of two cores under a real Slurm: nodes, ranks, placement, removal."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from fabricbench.site.node_choice import chosen_nodes
from support.vcluster import Cluster, Site

NAMES = ("n1", "n2", "n3", "n4")
CHOICE = ("--system", "vcluster", "--check", "MicroBarrier", "--lane", "mpich@gige", "--budget", "0")


@pytest.fixture(scope="module", autouse=True)
def four_nodes(cluster: Cluster) -> None:
    cluster.up(NODES="4", CPUS="2")


def measured(campaign: Path) -> dict[str, Record]:
    """Returns the timed records by scale."""
    records = read_campaign(campaign).records
    return {
        f"{record.launch.nodes}x{record.launch.ranks // record.launch.nodes}": record
        for record in records
        if record.launch and record.launch.mode == "timed"
    }


def test_a_block_covers_nodes_by_the_recorded_rule(site: Site, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    scales = ("--tier", "standard", "--scale", "1x2,2x1,2x2,4x2", "--seed", "3")
    process = site.fabricbench("run", str(campaign), *CHOICE, *scales)
    assert process.returncode == 0, process.stdout + process.stderr
    records = measured(campaign)
    assert set(records) == {"1x2", "2x1", "2x2", "4x2"}
    for scale, record in records.items():
        assert record.state == "ok", f"{scale}: {record.reason}"
        assert record.launch is not None
        assert record.launch.node_pool == "n[1-4]"
        assert record.hosts == chosen_nodes(NAMES, record.launch.nodes, 0, 3)
    assert len(records["4x2"].binding.ranks or ()) in (0, 8)
    removed = site.fabricbench("run", str(tmp_path / "less"), *CHOICE, "--without", "n2", "--because", "a test",
                               "--tier", "standard", "--scale", "2x2,4x1")  # fmt: skip
    assert removed.returncode == 0, removed.stdout + removed.stderr
    (record,) = measured(tmp_path / "less").values()
    assert "n2" not in record.hosts
    (skip,) = [json.loads(file.read_text()) for file in (tmp_path / "less").rglob("skipped.json")]
    assert skip["reason"] == "4x1 needs 4 nodes, the fabric gige has 3 without n2"


def test_cyclic_placement(site: Site, tmp_path: Path) -> None:
    options = ("-n", "^MicroBarrier", "-p", "^mpich$", "-S", "MicroBarrier.scale=2x2")
    for placement, expected in (("block", [0, 1]), ("cyclic", [0, 2])):
        campaign = tmp_path / placement
        process = site.reframe(campaign, *options, "-S", f"MicroBarrier.placement={placement}")
        assert process.returncode == 0, process.stdout[-3000:]
        (record,) = measured(campaign).values()
        first = record.hosts[0]
        assert [one.rank for one in record.binding.ranks if one.host == first] == expected
