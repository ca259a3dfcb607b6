# SPDX-License-Identifier: Apache-2.0
"""Tests two nodes of a real Slurm: launches between them, and failures of nodes, jobs and settings."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from support.processes import wait_until
from support.running import left_over, wait_for_launch
from support.vcluster import Cluster, Site

CHOICE = ("--system", "vcluster", "--check", "MicroPingpong", "--lane", "mpich@gige", "--budget", "0")
SHORT = (*CHOICE, "--set", "iterations=20")


@pytest.fixture(scope="module", autouse=True)
def two_nodes(cluster: Cluster) -> None:
    cluster.up()


@pytest.fixture(autouse=True)
def empty_queue(cluster: Cluster) -> Iterator[None]:
    """Waits until the queue is empty after a test."""
    yield
    wait_until(lambda: not cluster.slurm("squeue", "-h", "-t", "all", "-o", "%T").replace("COMPLETED", "").strip()
               or not cluster.slurm("squeue", "-h").strip(), "an empty queue")  # fmt: skip


def test_reframe_launches_between_nodes_are_attested(site: Site, tmp_path: Path) -> None:
    """Each launch is a job, with PMI-2 or PMIx. Socket and interface counters agree, and marks and the output lines of
    IMB attest message sizes."""
    checks = ("-n", "^MicroPingpong", "-n", "^NPB%kernel=IS%at=2x1", "-n", "^ImbPointToPoint%messages=small")
    short = ("-S", "repetitions=20", "-S", "MicroPingpong.iterations=20", "-p", "^(mpich|openmpi)$")
    process = site.reframe(tmp_path / "campaign", *checks, *short)
    assert process.returncode == 0, process.stdout[-3000:]
    campaign = read_campaign(tmp_path / "campaign")
    launches = [record for record in campaign.records if record.launch and record.launch.mode == "timed"]
    assert {record.launch.stack for record in launches if record.launch} >= {"mpich", "openmpi"}
    for record in launches:
        assert record.state == "ok", record.reason
        assert record.hosts == ("n1", "n2")
        assert record.attestation is not None
        assert record.attestation.traffic is not None
        between = record.attestation.traffic.bytes_between
        assert between > 0.9 * record.attestation.traffic.bytes
        sent = sum(ports["eth0"]["tx_bytes"] for ports in record.attestation.ports.values())
        assert sent >= between
        by = {"micro": "marks", "imb": "lines", "npb": "launch"}[record.launch.tool if record.launch else ""]
        assert record.attestation.basis == by
        assert {one.state for one in record.attestation.parts} <= {"attested"}
    scripts = [file.read_text() for file in tmp_path.rglob("rfm_job.sh")]
    assert scripts
    assert all("--distribution=block" in script for script in scripts if "srun" in script)


def test_a_campaign_waits_for_its_nodes(site: Site, tmp_path: Path, cluster: Cluster) -> None:
    other = cluster.slurm("sbatch", "--parsable", "--exclusive", "--nodes=2", "--output=/dev/null", "--wrap=sleep 600")
    run, log = site.start("run", str(tmp_path / "campaign"), *SHORT), tmp_path / "campaign/run.log"
    wait_until(lambda: log.exists() and "waiting for nodes: job" in log.read_text(), "a message about the queue")
    cluster.slurm("scancel", other.strip())
    output, _ = run.communicate(timeout=300)
    assert "3 of 3 launches completed and were attested, on mpich@gige" in output
    (session,) = (tmp_path / "campaign/reframe").glob("session-*.log")
    assert session.read_text().count("Granted job allocation") == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("--partition=gige", "--partition=nosuch", "nosuch"),
        ("max_jobs=8", 'max_jobs=8, pmi={"mpich": "pmi7"}', "pmi7"),
        ("count=NODES", "count=3 + 0 * NODES", "3"),
    ],
)
def test_a_request_that_the_cluster_cannot_fulfil_is_rejected_before_submission(
    site: Site, tmp_path: Path, old: str, new: str, says: str
) -> None:
    site.change(old, new)
    process = site.fabricbench("run", str(tmp_path / "campaign"), *CHOICE)
    assert process.returncode == 2, process.stdout + process.stderr
    assert says in process.stderr
    assert len(process.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("campaign/launches/*/*"))


def test_a_failed_node_is_reported_and_its_launch_repeated(site: Site, tmp_path: Path, cluster: Cluster) -> None:
    campaign = tmp_path / "campaign"
    run = site.start("run", str(campaign), *CHOICE)
    wait_for_launch(campaign)
    assert cluster.script("kill", "n2").returncode == 0
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 2, output
    assert "n2" in output.splitlines()[-1], output
    assert "Traceback" not in output
    assert cluster.script("revive", "n2").returncode == 0
    process = site.fabricbench("run", str(campaign), *CHOICE)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "3 of 3 launches completed and were attested" in process.stdout
    # A wire-up may reach its limit of 30 s before Slurm reports the dead node. It is repeated, and no cell uses it.
    timed = [r for r in read_campaign(campaign).records if r.launch and r.launch.mode == "timed"]
    assert {record.state for record in timed} <= {"ok", "unfinished", "lost"}
    assert sum(record.state == "ok" for record in timed) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_early_releases_its_nodes(
    site: Site, tmp_path: Path, cluster: Cluster, number: signal.Signals
) -> None:
    campaign = tmp_path / "campaign"
    run = site.start("run", str(campaign), *CHOICE)
    wait_for_launch(campaign)
    run.send_signal(number)
    output, _ = run.communicate(timeout=180)
    assert "Traceback" not in output
    wait_until(lambda: not cluster.slurm("squeue", "-h").strip(), "an empty queue")
    wait_until(lambda: not left_over(campaign), "no process of the run")


def test_doctor_starts_ranks_on_the_nodes(site: Site) -> None:
    process = site.fabricbench("doctor", "--system", "vcluster")
    assert "mpich@gige" in process.stdout
    assert process.returncode == 0, process.stdout + process.stderr
    assert "NOT READY" not in process.stdout
