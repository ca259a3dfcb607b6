# SPDX-License-Identifier: Apache-2.0
"""Measures the memory of the project's own NPB kernels and of NASA's: resident MB of the largest rank, on one lane.

    PYTHONPATH=tests python -m benchmarks.npb_memory DIRECTORY [--classes A] [--ranks 1,2] [--kernels is,cg,ft]

DIRECTORY holds NASA's executables, as is.A.x.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.npb_speed import KERNELS
from fabricbench.setup.probe import lane_environment
from fabricbench.site.lane import Lane

WATCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, close_fds=False)
print("resident_kib", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True)
sys.exit(done.returncode)
"""


def resident(lane: Lane, ranks: int, program: list[str]) -> float:
    """Returns the resident memory of the largest rank of a verified run, in units of 2^20 bytes."""
    assert lane.installed is not None
    launcher = [f"{lane.installed.prefix}/bin/mpirun", "-np", str(ranks), sys.executable, "-c", WATCH]
    environment = lane_environment(lane.installed, lane.variables())
    result = subprocess.run(
        [*launcher, *program], env=environment, capture_output=True, text=True, timeout=3600, check=False
    )
    if result.returncode:
        sys.exit(f"{' '.join(program)}: {result.stderr[-300:] or result.stdout[-300:]}")
    return max(int(kib) for kib in re.findall(r"resident_kib (\d+)", result.stdout)) / 1024


def main(
    directory: Annotated[Path, typer.Argument()],
    lane: str = "mpich@shm",
    classes: str = "A",
    ranks: str = "1,2",
    kernels: str = ",".join(KERNELS),
    system: str = "local",
) -> None:
    ((lane_, installed),) = mpi_lanes(system, [lane])
    print("| kernel, class, ranks | the project's own, MB | NASA's, MB |\n| --- | --- | --- |")
    for kernel in kernels.split(","):
        for problem in classes.split(","):
            for count in map(int, ranks.split(",")):
                own = resident(lane_, count, [f"{installed.apps}/bin/fabricbench-{kernel}", "--class", problem])
                nasa = resident(lane_, count, [str((directory / f"{kernel}.{problem}.x").resolve())])
                print(f"| {kernel.upper()}.{problem}, {count} | {own:.0f} | {nasa:.0f} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
