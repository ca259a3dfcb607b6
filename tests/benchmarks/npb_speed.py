# SPDX-License-Identifier: Apache-2.0
"""Compares the Mop/s of the project's own kernels with NASA's NPB 3.4, as ratios of interleaved pairs on one lane.

    PYTHONPATH=tests python -m benchmarks.npb_speed DIRECTORY... [--classes A,B] [--ranks 1,2] [--pairs 12]

Each DIRECTORY holds NASA's executables of one build, as is.A.x; name one built with -O2 and one with -O3 -march=native.
The comparison is with the better build of each pair: non-inferior if the interval is above 0.97.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved, line
from fabricbench.setup.probe import lane_environment
from fabricbench.site.lane import Lane

KERNELS = ("is", "cg", "ft")


def rate(lane: Lane, ranks: int, program: Sequence[str]) -> float:
    """Returns the Mop/s of one verified run."""
    assert lane.installed is not None
    argv = [f"{lane.installed.prefix}/bin/mpirun", "-np", str(ranks), *program]
    environment = lane_environment(lane.installed, lane.variables())
    result = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=3600, check=False)
    fields = {}
    for row in result.stdout.splitlines():
        name, _, value = row.partition("=")
        fields[name.strip()] = value.strip()
    if result.returncode or fields.get("Verification") != "SUCCESSFUL":
        sys.exit(f"{' '.join(program)}: {result.stderr[-300:] or result.stdout[-300:]}")
    return float(fields["Mop/s total"])


def main(
    directories: Annotated[list[Path], typer.Argument()],
    lane: str = "mpich@shm",
    classes: str = "A,B",
    ranks: str = "1,2",
    kernels: str = ",".join(KERNELS),
    pairs: int = 12,
    system: str = "local",
) -> None:
    ((lane_, installed),) = mpi_lanes(system, [lane])
    apps = installed.apps
    print(
        "| kernel, class, ranks | the project's own / NASA's Mop/s | 95 % interval | pairs |\n| --- | --- | --- | --- |"
    )
    for kernel in kernels.split(","):
        for problem in classes.split(","):
            for count in map(int, ranks.split(",")):
                own_program = [f"{apps}/bin/fabricbench-{kernel}", "--class", problem]
                theirs = [[str((path / f"{kernel}.{problem}.x").resolve())] for path in directories]

                def own(program: list[str] = own_program, count: int = count) -> Sequence[float]:
                    return [rate(lane_, count, program)]

                def nasa(programs: list[list[str]] = theirs, count: int = count) -> Sequence[float]:
                    return [max(rate(lane_, count, program) for program in programs)]

                measurements = interleaved(own, nasa, pairs)
                print(
                    line(f"{kernel.upper()}.{problem}, {count}", [a[0] / b[0] for a, b in measurements], ""), flush=True
                )


if __name__ == "__main__":
    typer.run(main)
