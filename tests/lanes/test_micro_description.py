# SPDX-License-Identifier: Apache-2.0
"""The committed description of the own benchmarks is what the program of every stack prints."""

import subprocess

import pytest

from fabricbench.parsers.tools.micro.description import FILE
from fabricbench.setup.probe import lane_environment
from support.micro import STACKS, stack

MPI = [name for name, entry in STACKS.items() if entry.level == "mpi"]


@pytest.mark.parametrize("name", MPI)
def test_the_description_is_the_programs(name: str) -> None:
    installed = stack(name)
    variables = lane_environment(installed, installed.variables(STACKS[name], next(iter(STACKS[name].transports))))
    done = subprocess.run(
        [f"{installed.apps}/bin/fabricbench-micro", "--describe"],
        env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == FILE.read_text(), f"renew {FILE.name}: docs/add-a-benchmark.md, 'An own benchmark'"
