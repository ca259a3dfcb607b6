# SPDX-License-Identifier: Apache-2.0
"""A block whose allocation ends early gets another one. The test waits for Slurm, which checks limits every 30 s."""

from pathlib import Path

from fabricbench.campaign.write import has_completed
from support.processes import wait_until
from support.vcluster import Cluster, Site

CHOICE = ("--system", "vcluster", "--check", "MicroPingpong%messages=small", "--lane", "openmpi@gige", "--budget", "0")


def test_the_rest_of_a_block_runs_in_a_second_allocation(site: Site, tmp_path: Path, cluster: Cluster) -> None:
    cluster.up()
    campaign = tmp_path / "campaign"
    site.change("max_jobs=8", "max_jobs=8, minutes=1")
    result = site.fabricbench("run", str(campaign), *CHOICE, FABRICBENCH_MICRO_FAULT="hang")
    assert result.returncode == 2, result.stdout + result.stderr
    assert "exceeded its time limit" in result.stderr
    wait_until(lambda: cluster.slurm("squeue", "-h") == "", "an empty queue")
    (hung,) = [file.parent for file in campaign.rglob("launch.json") if "Wire" not in file.parent.name]
    assert not has_completed(hung)
    again = site.fabricbench("run", str(campaign), *CHOICE)
    assert "2 of 2 launches completed and were attested" in again.stdout, again.stdout + again.stderr
