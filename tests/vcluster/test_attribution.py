# SPDX-License-Identifier: Apache-2.0
"""Tests attributions between two nodes whose link has a known rate, and with known delays of messages.

Other load on the machine only adds time, so the least of several launches counts.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricbench.models.attribution import attribute_run
from fabricbench.models.curves import Curves
from fabricbench.models.parts import PARTS, Parts
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.timed_operations import operations_of
from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import Installed
from support import micro
from support.attributed import curves_of
from support.fake_site import REPOSITORY
from support.micro import Values
from support.vcluster import RUN, Cluster

ATTEMPTS = 4
LIMIT_SECONDS = 120
TRANSPORT = "tcp"


@dataclass(frozen=True)
class Nodes:
    """Launches programs of a stack on the two nodes, one rank on each."""

    installed: Installed
    directory: Path

    def launch(self, *command: str, profiler: Mapping[str, str] | None = None) -> str:
        """Returns the output of a program; ``profiler``: the variables of the profiler, which is then preloaded."""
        settings = self.installed.variables(micro.STACKS[self.installed.stack], TRANSPORT)
        settings |= {"UCX_NET_DEVICES": "eth0", "SLURM_CONF": str(RUN / "slurm.conf")}
        libraries = [f"{self.installed.apps}/lib/libfabricbench_profiler.so"] if profiler else []
        libraries += filter(None, [settings.pop("LD_PRELOAD", "")])
        variables = [f"{name}={value}" for name, value in (profiler or {}).items()]
        argv = ["srun", "--nodes=2", "--ntasks=2", "--mpi=pmi2", "env", f"LD_PRELOAD={' '.join(libraries)}"]
        done = subprocess.run(
            [*argv, *variables, *command], env=lane_environment(self.installed, settings), cwd=REPOSITORY,
            capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def parts(self, curves: Curves, *command: str, inject: str = "") -> Parts:
        """Returns the parts of a profiled launch, the mean over ranks in seconds."""
        profile = self.directory / f"profile{len(list(self.directory.iterdir()))}"
        profile.mkdir()
        injected = {"FABRICBENCH_INJECT": inject} if inject else {}
        self.launch(*command, profiler={"FABRICBENCH_PROFILE": str(profile)} | injected)
        return attribute_run(operations_of(read_profile(profile, 2)), curves).mean

    def values(self, benchmark: str, *arguments: str, inject: str = "") -> Values:
        """Returns what a benchmark of fabricbench-micro measures."""
        program = f"{self.installed.apps}/bin/fabricbench-micro"
        profiler = {"FABRICBENCH_INJECT": inject} if inject else None
        output = self.launch(program, benchmark, *arguments, profiler=profiler)
        return micro.values_of(output, self.directory, benchmark)


@pytest.fixture
def nodes(cluster: Cluster, tmp_path: Path) -> Nodes:
    installed = micro.stack("mpich")
    cluster.up(RATE="100")
    set_rate(cluster, "100")  # an earlier test may have changed it
    return Nodes(installed, tmp_path)


def set_rate(cluster: Cluster, rate: str) -> None:
    assert all(cluster.script("rate", node, rate).returncode == 0 for node in ("n1", "n2"))


def least(first: Parts | None, second: Parts) -> Parts:
    """Returns the least of each part."""
    return Parts(*(min(getattr(first or second, name), getattr(second, name)) for name in PARTS))


def test_a_link_of_half_the_rate_doubles_the_bandwidth_alone(nodes: Nodes, cluster: Cluster) -> None:
    """FT exchanges blocks of 1 MiB."""
    program = f"{nodes.installed.apps}/bin/fabricbench-ft"
    best: dict[str, Parts] = {}
    for _ in range(ATTEMPTS):
        for rate in ("100", "50"):
            set_rate(cluster, rate)
            exchange = nodes.values("alltoall", "--sizes", "8,1MiB", "--iterations", "7", "--warmup", "1")
            reduction = nodes.values("allreduce", "--sizes", "8,16", "--iterations", "50")
            curves = curves_of([("alltoall", 2, exchange), ("allreduce", 2, reduction)])
            best[rate] = least(best.get(rate), nodes.parts(curves, program, "--class", "S"))
        if not bandwidth_alone_doubles(best["100"], best["50"]):
            break
    assert bandwidth_alone_doubles(best["100"], best["50"]) == []


def bandwidth_alone_doubles(full: Parts, half: Parts) -> list[str]:
    """Returns the parts that moved otherwise."""
    added = half - full
    doubled = half.bandwidth == pytest.approx(2 * full.bandwidth, rel=0.15)
    moved = [
        name
        for name in ("computation", "latency", "waiting", "undivided")
        if abs(getattr(added, name)) > 0.25 * full.bandwidth
    ]
    return ([] if doubled else [f"bandwidth: {full.bandwidth} s, then {half.bandwidth} s"]) + moved


LATENCY_US, PER_BYTE_NS = 250_000, 2_500
BYTES, MESSAGES = 100_000, 3
"""Each rank receives so many messages of this size."""


def test_injected_delays_move_latency_and_bandwidth_by_as_much(nodes: Nodes) -> None:
    """The curves are those of the same delays. Other load keeps a rank from running for a small part of a delay."""
    program = [str(compile_injected(nodes)), str(MESSAGES), str(BYTES), "1", "recv"]
    levels = ("latency=0us", f"latency={LATENCY_US}us", f"per_byte={PER_BYTE_NS}ns")
    expected = (MESSAGES * LATENCY_US * 1e-6, MESSAGES * BYTES * PER_BYTE_NS * 1e-9)
    best: dict[str, Parts] = {}
    for _ in range(ATTEMPTS):
        for inject in levels:
            parts = nodes.parts(message_curves(nodes, inject), *program, inject=inject)
            best[inject] = least(best.get(inject), parts)
        without, late, slow = (best[inject] for inject in levels)
        moved = (late.latency - without.latency, slow.bandwidth - without.bandwidth)
        if moved == pytest.approx(expected, rel=0.1):
            break
    assert moved == pytest.approx(expected, rel=0.1)
    assert late.bandwidth < 0.1 * late.latency
    assert slow.latency < 0.1 * slow.bandwidth


def message_curves(nodes: Nodes, inject: str) -> Curves:
    """Returns the curves of messages. The overheads are those without delays."""
    plogp = nodes.values("plogp", "--sizes", "8", "--iterations", "3", "--warmup", "1")
    overheads = {key: value for key, value in plogp.items() if key[0] in ("send_overhead", "receive_overhead")}
    trips = nodes.values("pingpong", "--sizes", f"8,{BYTES}", "--iterations", "3", "--warmup", "1", inject=inject)
    return curves_of([("pingpong", 2, trips), ("plogp", 2, overheads)])


def compile_injected(nodes: Nodes) -> Path:
    """Compiles tests/support/injected.c; returns its path."""
    program = nodes.directory / "injected"
    source = REPOSITORY / "tests/support/injected.c"
    command = [f"{nodes.installed.prefix}/bin/mpicc", "-w", "-o", str(program), str(source)]
    subprocess.run(command, env=lane_environment(nodes.installed, {}), check=True, timeout=60)
    return program
