# SPDX-License-Identifier: Apache-2.0
"""Collectives, rank pairs and bisection of virtual nodes on links so slow that they decide the times.

The ranks of all nodes share the processors of this machine and stall each other. The time of 8 bytes shows how long.
The lower limit is hard: rate, burst of the shaper, and the bytes that every algorithm must move. The upper limit is
``SLOWER`` times a simple algorithm, and holds where the links need more than ``STALLS`` times as long as a stall.

The variable names the numbers of nodes, and the rate of their links in Mbit/s:

    FABRICBENCH_TEST_SLOW_LINKS=8x20 python -m pytest -q tests/vcluster/test_slow_links.py
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from support import micro
from support.collective_limits import COLLECTIVES, Links, least_us, link_bytes, most_us
from support.fake_site import REPOSITORY
from support.micro import Values
from support.vcluster import RUN, Cluster

STACK = "openmpi"
VARIABLE = "FABRICBENCH_TEST_SLOW_LINKS"
STALLS, SLOWER = 20, 3.0
FRAMES = 0.98
"""The links also carry headers, so that the payload has a little less than their rate; clocks are rounded."""
SIZES = {"bcast": 2**20, "allgather": 2**16, "alltoall": 2**16, "allreduce": 2**20, "pingpong": 2**18}
LIMIT_SECONDS = 280

pytestmark = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"takes minutes: set {VARIABLE}=8x20")


@dataclass(frozen=True)
class Nodes:
    """The running cluster of ``count`` nodes whose links have ``mbit`` Mbit/s."""

    count: int
    mbit: int
    directory: Path

    @property
    def links(self) -> Links:
        """The links; ``cluster.sh`` gives the shaper a burst of 64 KiB and half a millisecond or more."""
        return Links(latency_us=0.0, bytes_per_us=self.mbit / 8, burst_bytes=1024 * (64 + self.mbit // 8))

    def values(self, benchmark: str, *arguments: str) -> Values:
        """Returns what a benchmark measures with one rank on each node."""
        installed, stack = micro.stack(STACK), micro.STACKS[STACK]
        settings = {**installed.variables(stack, "tcp"), **stack.oversubscribed, "SLURM_CONF": str(RUN / "slurm.conf")}
        settings |= {"OMPI_MCA_btl_tcp_if_include": "eth0"}
        done = subprocess.run(
            [
                *("srun", f"--nodes={self.count}", f"--ntasks={self.count}", f"--mpi={stack.pmi}"),
                *(f"{installed.apps}/bin/fabricbench-micro", benchmark, *arguments),
                *("--iterations", "3", "--warmup", "1"),
            ],
            env=lane_environment(installed, settings), cwd=REPOSITORY, capture_output=True, text=True,
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return micro.values_of(done.stdout, self.directory, benchmark, self.count)


@pytest.fixture(params=os.environ.get(VARIABLE, "8x20").split(","))
def nodes(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Nodes:
    count, mbit = map(int, request.param.split("x"))
    cluster.up(NODES=str(count), CPUS="1", RATE=str(mbit))
    return Nodes(count, mbit, tmp_path)


def test_collectives_and_pairs_keep_the_limits_of_the_links(nodes: Nodes) -> None:
    """At least one collective must be long enough to be compared, or the test shows nothing."""
    compared = []
    for name in COLLECTIVES:
        values = nodes.values(name, "--sizes", f"8,{SIZES[name]}")
        stall, time = (values["time_max", "", size] for size in (8, SIZES[name]))
        wire = nodes.links.wire_us(link_bytes(name, nodes.count, SIZES[name]))
        print(f"{nodes.count} nodes, {name}: {time / 1e6:.2f} s, wire {wire / 1e6:.2f} s, stall {stall / 1e3:.1f} ms")
        # A rank may enter late by a stall; then its own call is shorter than the collective.
        assert time + stall >= FRAMES * least_us(name, nodes.count, SIZES[name], nodes.links)
        if wire > STALLS * stall:
            assert time <= SLOWER * most_us(name, nodes.count, SIZES[name], nodes.links) + STALLS * stall
            compared.append(name)
    assert compared


def test_rank_pairs_and_bisection_keep_the_rate_of_the_links(nodes: Nodes) -> None:
    pairs = nodes.count // 2
    size = SIZES["pingpong"]
    values = nodes.values("pingpong", "--sizes", f"8,{size}")
    stall, time = (values["latency", f"pairs={pairs}", one] for one in (8, size))
    wire = nodes.links.wire_us(size)
    assert time >= FRAMES * wire
    assert wire <= STALLS * stall or time <= SLOWER * size / nodes.links.bytes_per_us
    values = nodes.values(
        "pair_bandwidth", "--sizes", str(size), "--concurrency", "at-once", "--window", "4", "--rounds", "2"
    )
    bisection = values["bisection_bandwidth", "concurrency=at-once window=4", size]
    window = 4 * size
    fastest = nodes.links.bytes_per_us * window / (window - nodes.links.burst_bytes)
    assert pairs * nodes.links.bytes_per_us / SLOWER <= bisection <= pairs * fastest / FRAMES
