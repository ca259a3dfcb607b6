# SPDX-License-Identifier: Apache-2.0
"""Runs the CTest tests (unit, and verification on 1 to 4 ranks) of every stack or library that is set up.

Tests whose result does not depend on the MPI library have the label any_stack and run on one stack only.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import STACK_FILE, read_installed, site_stacks

REPOSITORY = Path(__file__).resolve().parents[2]
STACKS = site_stacks(REPOSITORY / "site")


MPI_STACKS = [name for name, stack in STACKS.items() if stack.level == "mpi"]
FASTEST = sorted(MPI_STACKS, key=lambda name: name != "mpich")
"""The stacks in the order in which they run the tests for any stack: MPICH has the fastest launcher."""


def stack_directory(name: str) -> Path:
    return REPOSITORY / "build/stacks" / name


def label_options(name: str) -> list[str]:
    """Returns CTest's options for the tests that this stack runs."""
    first = next((other for other in FASTEST if read_installed(stack_directory(other) / STACK_FILE)), name)
    options = ["-L", "unit|verification"]
    return options if name not in MPI_STACKS or name == first else [*options, "-LE", "any_stack"]


# Open MPI sleeps for two seconds after every program that fails, so other tests run in parallel.
CTEST_VARIABLES = {"openmpi": {"CTEST_PARALLEL_LEVEL": "4", "OMPI_MCA_odls_base_sigkill_timeout": "0"}}


@pytest.mark.parametrize("name", [name for name, stack in STACKS.items() if stack.level == "mpi" or stack.own])
def test_ctest(name: str) -> None:
    home = stack_directory(name)
    installed = read_installed(home / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    if STACKS[name].own and not STACKS[name].own.keys() <= installed.programs.keys():
        pytest.skip(f"no headers of {name} were installed at set-up")
    ctest = shutil.which("ctest") or str(Path(sys.executable).with_name("ctest"))
    variables = installed.variables(STACKS[name], "shm") | CTEST_VARIABLES.get(name, {"CTEST_PARALLEL_LEVEL": "2"})
    process = subprocess.run(
        [ctest, "--test-dir", str(home / "build"), "--output-on-failure", *label_options(name)],
        env=lane_environment(installed, variables) | {"HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-4000:]
    assert "100% tests passed, 0 tests failed" in process.stdout
