# SPDX-License-Identifier: Apache-2.0
"""Builds the programs for SimGrid's SMPI once for all processes of pytest-xdist."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import simulated, simulated_profiles
from support.nasa_messages import KERNELS
from support.simulated import Simulator
from support.simulated_profiles import SimulatedProfiles


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """Returns the directory in which ``build`` built. The first process builds, the others wait for it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        directory = factory.mktemp(name)
        build(directory)
        return directory
    directory = factory.getbasetemp().parent / name
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = directory / "complete"
        if not complete.exists():
            directory.mkdir(exist_ok=True)
            build(directory)
            complete.touch()
    return directory


@pytest.fixture(scope="session")
def simulated_programs(tmp_path_factory: pytest.TempPathFactory) -> SimulatedProfiles:
    """Programs with the profiler. Skips the test without SMPI."""
    log = Path.cwd() / ".o"
    log.unlink(missing_ok=True)
    programs = SimulatedProfiles(build_once(tmp_path_factory, "profiled", simulated_profiles.build))
    assert not log.exists(), "smpif90 leaves an object in the directory where CMake asks it for its options"
    return programs


@pytest.fixture(scope="session")
def counting_kernels(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    """The NAS kernels, which count their MPI calls. Skips the test without SMPI."""

    def build(directory: Path) -> None:
        simulated.build(directory, *(f"fabricbench-{kernel}" for kernel in KERNELS), counters=True)

    return Simulator(build_once(tmp_path_factory, "counting", build))
