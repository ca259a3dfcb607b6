# SPDX-License-Identifier: Apache-2.0
"""Tests that the program of every stack prints the committed description of the project's own benchmarks."""

import subprocess

import pytest

from fabricbench.parsers.tools.micro.description import FILE
from fabricbench.setup.probe import lane_environment
from support.micro import STACKS, stack

MPI = [name for name, entry in STACKS.items() if entry.level == "mpi"]


@pytest.mark.parametrize("name", MPI)
def test_the_program_prints_the_committed_description(name: str) -> None:
    installed = stack(name)
    variables = lane_environment(installed, installed.variables(STACKS[name], next(iter(STACKS[name].transports))))
    process = subprocess.run(
        [f"{installed.apps}/bin/fabricbench-micro", "--describe"],
        env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == FILE.read_text(), f"renew {FILE.name} (docs/add-a-benchmark.md)"
