# SPDX-License-Identifier: Apache-2.0
"""Runs the CTest tests (unit, and verification on 1 to 4 ranks) of every stack or library that is set up.

Tests whose result does not depend on the MPI library have the label any_stack and run on one stack only. Tests of more
than two ranks have the label many_ranks. In the short form one stack whose ranks yield while they wait runs these:
where ranks share a core and do not yield, each such test takes seconds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import STACK_FILE, read_installed, site_stacks
from support.long_form import is_long

REPOSITORY = Path(__file__).resolve().parents[2]
STACKS = site_stacks(REPOSITORY / "site")


MPI_STACKS = [name for name, stack in STACKS.items() if stack.level == "mpi"]
FASTEST = sorted(MPI_STACKS, key=lambda name: name != "mpich")
"""The stacks in the order in which they run the tests for any stack: MPICH has the fastest launcher."""
YIELDING = sorted(MPI_STACKS, key=lambda name: name != "openmpi")
"""The stacks in the order in which they run the tests of many ranks: only the ranks of Open MPI yield."""


def stack_directory(name: str) -> Path:
    return REPOSITORY / "build/stacks" / name


def first_ready(names: list[str]) -> str:
    """Returns the first of the stacks that is set up; the first if none is."""
    return next((name for name in names if read_installed(stack_directory(name) / STACK_FILE)), names[0])


def label_options(name: str) -> list[list[str]]:
    """Returns CTest's options for the tests that this stack runs, for one call after the other."""
    options = ["-L", "unit|verification"]
    if name not in MPI_STACKS:
        return [options]
    left_out = [] if name == first_ready(FASTEST) else ["any_stack"]
    further = []
    if not is_long() and name != first_ready(YIELDING):
        left_out.append("many_ranks")
    elif not is_long() and left_out:
        further = [[*options, "-L", "any_stack", "-L", "many_ranks"]]
    return [[*options, *(["-LE", "|".join(left_out)] if left_out else [])], *further]


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
    for labels in label_options(name):
        process = subprocess.run(
            [ctest, "--test-dir", str(home / "build"), "--output-on-failure", *labels],
            env=lane_environment(installed, variables) | {"HOME": os.environ.get("HOME", "/")},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert process.returncode == 0, process.stdout[-4000:]
        assert "100% tests passed, 0 tests failed" in process.stdout
