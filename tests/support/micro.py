# SPDX-License-Identifier: Apache-2.0
"""Runs the project's own benchmarks on real stacks and parses their output."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.tools.micro import parse
from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import STACK_FILE, Installed, read_installed, site_stacks
from support.fake_site import REPOSITORY

Values = dict[tuple[str, str, int | None], float]
"""Values by metric, case and message size."""

LIMIT_SECONDS = 240

STACKS = site_stacks(REPOSITORY / "site")


def values_of(stdout: str, directory: Path, benchmark: str, ranks: int = 2) -> Values:
    """Writes an output to ``directory`` and returns its rows."""
    (directory / "stdout").write_text(stdout)
    facts = {"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "f", "transport": "tcp", "stack": "s"}
    facts |= {"tool": "micro", "benchmark": benchmark, "nodes": 1, "argv": [], "limit_seconds": 1, "ranks": ranks}
    rows = parse(directory, Launch.model_validate(facts)).rows
    return {(row.metric, row.case, row.msg_size_bytes): row.value for row in rows}


def curve(values: Values, metric: str) -> dict[int, float]:
    """Returns the values of a metric with one case, by message size."""
    return {size: value for (name, _, size), value in values.items() if name == metric and size is not None}


def stack(name: str) -> Installed:
    """Returns the installed stack; skips the test if the stack is not set up."""
    installed = read_installed(REPOSITORY / "build/stacks" / name / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    return installed


def launch(
    name: str, transport: str, *arguments: str, program: str = "", extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs ``fabricbench-micro``, or another program, on two ranks of a lane with its settings."""
    installed = stack(name)
    variables = {**installed.variables(STACKS[name], transport), **(extra or {})}
    executable = program or f"{installed.apps}/bin/fabricbench-micro"
    argv = [f"{installed.prefix}/bin/mpirun", "-np", "2", executable, *arguments]
    process = subprocess.Popen(
        argv, env=lane_environment(installed, variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        stdout, stderr = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)
