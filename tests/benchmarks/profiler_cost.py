# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the profiler: nanoseconds per call of MPI, and the ratio of CG's time with and without it.

    PYTHONPATH=tests python -m benchmarks.profiler_cost [--pairs 20] [--lane mpich@shm ...] [--kernel cg --class A]

Launches with and without the profiler alternate. If FABRICBENCH_TAU names a directory whose folder of the stack has
``bin/tau_exec`` at some depth, the benchmark measures TAU in the same way, without throttling. ``probe`` is MPI_Iprobe;
``message`` is the mean of MPI_Irecv, MPI_Send, MPI_Wait and MPI_Test with a message to the own rank. Each is the least
of 20 parts of a launch.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved, line
from fabricbench.setup.probe import lane_environment
from fabricbench.site.lane import Lane
from fabricbench.site.stacks import Installed

SOURCE = Path(__file__).resolve().parents[1] / "support/cheap_calls.c"
NAMES = ("probe", "message")


@dataclass(frozen=True)
class Tool:
    """A profiler, or none: the words before the program, given the directory for its files."""

    name: str
    tau_exec: Path | None = None

    def words(self, installed: Installed, directory: str, of_lane: str) -> list[str]:
        libraries = [of_lane] if of_lane else []
        if self.name == "fabricbench":
            libraries.insert(0, f"{installed.apps}/lib/libfabricbench_profiler.so")
        preload = ["env", f"LD_PRELOAD={':'.join(libraries)}"] if libraries else []
        if self.name == "fabricbench":
            return [*preload, f"FABRICBENCH_PROFILE={directory}"]
        if self.tau_exec:
            settings = [f"PROFILEDIR={directory}", "TAU_THROTTLE=0", "TAU_TRACK_MESSAGE=1"]
            return [*(preload or ["env"]), *settings, str(self.tau_exec), "-T", "mpi"]
        return preload


def output(lane: Lane, installed: Installed, tool: Tool, ranks: int, program: Sequence[str]) -> Mapping[str, str]:
    """Runs one launch; returns what it prints as ``name = value``."""
    variables = dict(lane.variables())
    of_lane = variables.pop("LD_PRELOAD", "")
    with tempfile.TemporaryDirectory() as directory:
        words = tool.words(installed, directory, of_lane)
        argv = [f"{installed.prefix}/bin/mpirun", "-np", str(ranks), *words, *program]
        environment = lane_environment(installed, variables)
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600, check=False)
        profiles = len(list(Path(directory).glob("profile.*")))
    if done.returncode or bool(profiles) != (tool.name != "none"):
        sys.exit(f"{lane.name}, {tool.name}: {profiles} profiles\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    pairs = (row.partition("=") for row in done.stdout.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def tools(lane: Lane) -> list[Tool]:
    root = os.environ.get("FABRICBENCH_TAU")
    found = sorted(Path(root, lane.stack.name).glob("**/bin/tau_exec")) if root else []
    return [Tool("fabricbench"), *[Tool("TAU", path) for path in found[:1]]]


def compiled(installed: Installed, lane: Lane, directory: str) -> str:
    target = f"{directory}/cheap_calls"
    command = [f"{installed.prefix}/bin/mpicc", "-O2", "-o", target, str(SOURCE)]
    subprocess.run(command, env=lane_environment(installed, dict(lane.variables())), check=True)
    return target


def calls(lane: Lane, installed: Installed, pairs: int, number: int) -> None:
    """Prints nanoseconds per call that each profiler adds."""
    with tempfile.TemporaryDirectory() as directory:
        program = [compiled(installed, lane, directory), str(number)]

        def measure(tool: Tool) -> Sequence[float]:
            values = output(lane, installed, tool, 1, program)
            return [float(values[name]) for name in NAMES]

        for tool in tools(lane):
            both = interleaved(partial(measure, tool), partial(measure, Tool("none")), pairs)
            for at, name in enumerate(NAMES):
                label = f"{lane.name}, {tool.name}, {name}"
                print(line(label, [a[at] - b[at] for a, b in both], "ns more"), flush=True)


def kernels(lane: Lane, installed: Installed, pairs: int, kernel: str, problem: str) -> None:
    """Prints the ratio of the kernel's own time on two ranks."""
    program = [f"{installed.apps}/bin/fabricbench-{kernel}", "--class", problem]
    if not Path(program[0]).exists():
        print(f"| {lane.name}, {kernel} | skipped: the stack has no Fortran | - | 0 |")
        return

    def measure(tool: Tool) -> Sequence[float]:
        return [float(output(lane, installed, tool, 2, program)["Time in seconds"])]

    for tool in tools(lane):
        both = interleaved(partial(measure, tool), partial(measure, Tool("none")), pairs)
        label = f"{lane.name}, {tool.name}, {kernel}.{problem}"
        print(line(label, [a[0] / b[0] for a, b in both], "times"), flush=True)


def main(
    pairs: int = 20,
    lane: Annotated[list[str] | None, typer.Option("--lane")] = None,
    system: str = "local",
    number: int = 200000,
    kernel: str = "cg",
    problem: Annotated[str, typer.Option("--class")] = "A",
) -> None:
    print("| lane, profiler, measurement | cost | 95 % interval | pairs |\n| --- | --- | --- | --- |")
    for each, installed in mpi_lanes(system, lane or ()):
        calls(each, installed, pairs, number)
        kernels(each, installed, pairs, kernel, problem)


if __name__ == "__main__":
    typer.run(main)
