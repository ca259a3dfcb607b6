# SPDX-License-Identifier: Apache-2.0
"""Tests that the cluster starts after a crash and not beside a running one, and that `down` removes everything."""

import os
import random
import signal
import subprocess
import time

import pytest

from support.processes import clean_environment
from support.vcluster import SCRIPT, Cluster


@pytest.fixture(scope="module", autouse=True)
def no_cluster(cluster: Cluster) -> None:
    cluster.down()


def test_the_cluster_starts_after_a_crash_and_does_not_replace_a_running_one(cluster: Cluster) -> None:
    for delay in (0.1, 0.3, random.Random(7).uniform(0.4, 1.5)):
        starting = subprocess.Popen([str(SCRIPT), "up"], env=clean_environment(), start_new_session=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(delay)
        os.kill(starting.pid, signal.SIGKILL)
        starting.wait()
    assert cluster.script("up").returncode == 0
    assert cluster.script("status").returncode == 0
    again = cluster.script("up")
    assert (again.returncode, again.stdout.partition(": NODES=2")[0]) == (0, "vcluster: this cluster is up already")
    for words, variables, message in (
        (("up",), {"NODES": "3"}, "another cluster is up: NODES=2"),
        (("rate", "n1", "900"), {}, ""),
        (("up",), {}, "this cluster is up with changed rates"),
    ):
        process = cluster.script(*words, **variables)
        assert (process.returncode, len(process.stderr.splitlines())) == ((2, 1) if message else (0, 0)), process.stderr
        assert message in process.stderr
    cluster.up(NODES="3", DELAY_US="300")
    assert cluster.slurm("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "3"
    assert cluster.slurm("srun", "--nodes=3", "--ntasks=3", "hostname").split() != []
    cluster.down()
    assert cluster.left_over() == []
    cluster.down()


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        (("up",), {"NODES": "0"}, "NODES is '0'; expected a whole number from 1 to 64"),
        (("up",), {"PORTS": "0"}, "PORTS is '0'; expected a whole number from 1 to 8"),
        (("up",), {"RATE": "fast"}, "RATE is 'fast'; expected a whole number from 1 to 100000"),
        (("up",), {"ISOLATION": "none"}, "ISOLATION is 'none'; expected all or network"),
        (("rate", "n1", "500"), {}, "it is not up; make vcluster-up"),
        (("sideways",), {}, "not 'sideways'"),
    ],
)
def test_bad_input_prints_one_line(
    cluster: Cluster, words: tuple[str, ...], variables: dict[str, str], message: str
) -> None:
    process = cluster.script(*words, **variables)
    assert process.returncode == 2
    assert message in process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert cluster.left_over() == []
