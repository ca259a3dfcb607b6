# SPDX-License-Identifier: Apache-2.0
"""Profiles of tests/support/late.c on a simulated network whose latency, bandwidth and overheads are set."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.operations import RankOperations
from fabricbench.parsers.tau.timed_operations import operations_of
from support.simulated import APPS, Network

SOURCE = Path(__file__).with_name("late.c")
TARGETS = ("fabricbench_profiler", "fabricbench-micro")


@dataclass(frozen=True)
class SimulatedProfiles:
    """The program and fabricbench-micro, built for SimGrid in ``build`` (``Simulator(build)`` runs the latter)."""

    build: Path

    def operations(
        self, directory: Path, network: Network, mode: str, *, ranks: int = 2, late_us: int = 50000
    ) -> tuple[RankOperations, ...]:
        """Runs one mode of the program; returns the operations in its marked region, by rank.

        ``pingpong``, ``ring``, ``alltoall``; ``imbalanced``: ten barriers, rank i enters each ``i * late_us`` late; the
        others are explained in late.c.
        """
        platform = directory / "platform.xml"
        platform.write_text(network.xml(ranks))
        profile = directory / f"profile-{mode}"
        profile.mkdir()
        command = ["smpirun", "-np", str(ranks), "-platform", str(platform), "--log=root.thres:critical"]
        variables = os.environ | {"FABRICBENCH_PROFILE": str(profile)}
        argv = [*command, str(self.build / "late"), mode, str(late_us)]
        done = subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return operations_of(read_profile(profile, ranks))


def build(directory: Path) -> SimulatedProfiles:
    """Builds the programs in ``directory``; skips the test without SMPI."""
    compilers = {"C": shutil.which("smpicc"), "CXX": shutil.which("smpicxx")}
    if None in compilers.values() or not shutil.which("cmake"):
        pytest.skip("needs cmake and SimGrid's SMPI, on Debian: apt-get install libsimgrid-dev")
    options = [f"-DCMAKE_{language}_COMPILER={path}" for language, path in compilers.items()]
    configure = ["cmake", "-S", str(APPS), "-B", str(directory), "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    make = ["cmake", "--build", str(directory), "--parallel", "2", "--target", *TARGETS]
    libraries = [
        str(directory / name) for name in ("profiler/libfabricbench_profiler.a", "common/libfabricbench_text.a")
    ]
    link = ["smpicc", "-w", "-DSIMULATED", "-Wl,--undefined=MPI_Init", "-o", "late", str(SOURCE), *libraries]
    for command in ([*configure, *options], make, link):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return SimulatedProfiles(directory)
