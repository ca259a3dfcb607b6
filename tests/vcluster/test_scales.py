# SPDX-License-Identifier: Apache-2.0
"""Launches at several scales on four virtual nodes of two cores under Slurm: their nodes, both variants of a lane."""

import os
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from fabricbench.site.node_choice import chosen_nodes
from support.long_form import LONG, is_long
from support.vcluster import Cluster, Site

NAMES = ("n1", "n2", "n3", "n4")
CHOICE = ("--system", "vcluster", "--tier", "standard", "--seed", "3", "--budget", "0")


@pytest.fixture(scope="module", autouse=True)
def four_nodes(cluster: Cluster) -> None:
    cluster.up(NODES="4", CPUS="2")


def measured(campaign: Path) -> dict[tuple[str, int, int], Record]:
    """Returns the timed records by lane, nodes and ranks."""
    records = read_campaign(campaign).records
    return {
        (one.launch.lane, one.launch.nodes, one.launch.ranks): one
        for one in records
        if one.launch and one.launch.mode == "timed"
    }


def test_launches_use_the_nodes_of_the_recorded_rule(site: Site, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    choice = ("--check", "MicroBarrier", "--lane", "mpich@gige", "--scale", "1x2,2x1", "--set", "iterations=20")
    process = site.fabricbench("run", str(campaign), *CHOICE, *choice)
    assert process.returncode == 0, process.stdout + process.stderr
    records = measured(campaign)
    assert set(records) == {("mpich@gige", 1, 2), ("mpich@gige", 2, 2)}
    for (_, nodes, _), record in records.items():
        assert record.state == "ok", record.reason
        assert record.launch is not None
        assert record.launch.node_pool == "n[1-4]"
        assert record.hosts == record.launch.nodelist == chosen_nodes(NAMES, nodes, 0, 3)
        is_shared = len(os.sched_getaffinity(0)) < 2 * len(NAMES)
        assert (record.launch.environment.get("OMPI_MCA_mpi_yield_when_idle") == "1") == is_shared


FOUR_RANKS = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 4 and not is_long(),
    reason=f"needs a core for each of four ranks; {LONG}=1 runs it in minutes",
)


@FOUR_RANKS
def test_both_variants_of_a_lane_in_one_campaign(site: Site, tmp_path: Path) -> None:
    """With local-shm, sockets carry what passes between the nodes; without, messages inside a node too."""
    campaign = tmp_path / "campaign"
    lanes = ("--lane", "mpich@gige", "--lane", "mpich@gige:local-shm", "--scale", "2x2")
    check = ("--check", "MicroCollective.*messages=small.*collective=bcast")
    short = ("--set", "MicroCollective.iterations=10", "--set", "MicroCollective.largest_bytes=64")
    process = site.fabricbench("run", str(campaign), *CHOICE, *lanes, *check, *short)
    assert process.returncode == 0, process.stdout + process.stderr
    within = bytes_inside_nodes(measured(campaign), "mpich")
    assert within["mpich@gige:local-shm"] < 0.1 * within["mpich@gige"]


def bytes_inside_nodes(records: dict[tuple[str, int, int], Record], stack: str) -> dict[str, int]:
    """Returns by lane the bytes that the sockets carried inside nodes; asserts that both lanes are attested."""
    within = {}
    for (lane, _, _), record in records.items():
        assert record.state == "ok", record.reason
        assert record.attestation is not None
        assert record.attestation.traffic is not None
        assert record.attestation.traffic.bytes_between > 0
        within[lane] = record.attestation.traffic.bytes - record.attestation.traffic.bytes_between
    assert set(within) == {f"{stack}@gige", f"{stack}@gige:local-shm"}
    return within


@FOUR_RANKS
@pytest.mark.parametrize(
    ("stack", "check", "options"),
    [
        ("mpich", "NPB.*kernel=IS", ("--set", "NPB.problem_class=S")),
        ("mpich", "NPB.*kernel=CG", ("--set", "NPB.problem_class=S")),
        ("mpich", "NPB.*kernel=FT", ("--set", "NPB.problem_class=S")),
        ("openmpi", "Gromacs%md_system=villin", ("--set", "Gromacs.steps=100")),
    ],
)
def test_applications_in_both_variants(
    site: Site, tmp_path: Path, stack: str, check: str, options: tuple[str, ...]
) -> None:
    """An application sends messages inside nodes and between them, in each variant by its own transport."""
    campaign = tmp_path / "campaign"
    lanes = ("--lane", f"{stack}@gige", "--lane", f"{stack}@gige:local-shm", "--scale", "2x2")
    process = site.fabricbench("run", str(campaign), *CHOICE, *lanes, "--check", check, *options)
    assert process.returncode == 0, process.stdout + process.stderr
    within = bytes_inside_nodes(measured(campaign), stack)
    assert within[f"{stack}@gige:local-shm"] < 0.1 * within[f"{stack}@gige"]
