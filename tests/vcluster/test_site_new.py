# SPDX-License-Identifier: Apache-2.0
"""``fabricbench site new`` on the virtual cluster: the doctor accepts the site, and a campaign runs without an edit."""

from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from support.command import inside
from support.vcluster import RUN, Cluster, Site

SLURM = {"SLURM_CONF": str(RUN / "slurm.conf")}


@pytest.fixture(scope="module", autouse=True)
def two_nodes(cluster: Cluster) -> None:
    cluster.up()


def test_the_site_runs_without_an_edit(site: Site, tmp_path: Path) -> None:
    environment = site.environment()
    result = inside("site", "new", "try", environment=environment | SLURM)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "reading the adapters of a node: srun --partition=gige" in result.stdout
    text = (site.root / "site/try/settings.py").read_text()
    assert 'ports=["eth0"]' in text
    assert "count=2, cores=" in text
    # The settings name the cluster's slurm.conf, so that these commands do not need the variable.
    doctor = inside("doctor", "--site", "--system", "try", environment=environment)
    assert (doctor.returncode, doctor.stderr) == (0, ""), doctor.stdout
    choice = ("--check", "MicroPingpong", "--lane", "mpich@eth", "--budget", "0", "--set", "iterations=20")
    process = site.fabricbench("run", str(tmp_path / "campaign"), "--system", "try", *choice)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "3 of 3 launches completed and were attested, on mpich@eth" in process.stdout
    assert {record.hosts for record in read_campaign(tmp_path / "campaign").records} == {("n1", "n2")}
    assert inside("site", "new", "try", environment=environment | SLURM).returncode == 2
    assert (site.root / "site/try/settings.py").read_text() == text
