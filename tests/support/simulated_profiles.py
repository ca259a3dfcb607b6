# SPDX-License-Identifier: Apache-2.0
"""Programs with the profiler on a simulated network whose latency, bandwidth and overheads are set."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.operations import RankOperations
from fabricbench.parsers.tau.timed_operations import operations_of
from support import simulated
from support.simulated import Network, Simulator

SOURCES = [Path(__file__).with_name(f"{name}.c") for name in ("late", "profiled", "injected")]
TARGETS = ("fabricbench_profiler", "fabricbench-micro", "fabricbench-is", "fabricbench-cg", "fabricbench-ft")


@dataclass(frozen=True)
class SimulatedProfiles:
    """The programs SOURCES, fabricbench-micro and the NAS kernels, built for SimGrid in ``build``."""

    build: Path

    @property
    def simulator(self) -> Simulator:
        return Simulator(self.build)

    def operations(
        self, directory: Path, network: Network, mode: str, *, ranks: int = 2, late_us: int = 50000, inject: str = ""
    ) -> tuple[RankOperations, ...]:
        """Runs one mode of late.c; returns the operations in its marked region, by rank.

        ``pingpong``, ``ring``, ``alltoall``; ``imbalanced``: ten barriers, rank i enters each ``i * late_us`` late; the
        others are explained in late.c. ``inject``: the value of FABRICBENCH_INJECT.
        """
        profile = directory / f"profile-{len(list(directory.iterdir()))}"
        profile.mkdir()
        self.run_time(network, mode, ranks=ranks, late_us=late_us, profile=profile, inject=inject)
        return operations_of(read_profile(profile, ranks))

    def run_time(
        self, network: Network, mode: str, *, ranks: int = 2, late_us: int = 50000, profile: Path | None = None,
        inject: str = "",
    ) -> float:  # fmt: skip
        """Runs one mode of late.c; returns the seconds of its operations by its own clock."""
        done = self.simulator.run(
            ranks, "late", mode, str(late_us), network=network, profile=profile, inject=inject
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return float(done.stdout.split()[0])


def build(directory: Path) -> None:
    """Builds the programs in ``directory``; skips the test without SMPI."""
    simulated.build(directory, *TARGETS)
    libraries = [
        str(directory / name) for name in ("profiler/libfabricbench_profiler.a", "common/libfabricbench_text.a")
    ]
    for source in SOURCES:
        link = ["smpicc", "-w", "-DSIMULATED", "-Wl,--undefined=MPI_Init", "-o", source.stem, str(source), *libraries]
        done = subprocess.run(link, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
