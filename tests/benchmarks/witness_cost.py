# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the witness: the ratio of the project's own ping-pong latencies with and without it, per lane.

    PYTHONPATH=tests python -m benchmarks.witness_cost [--pairs 20] [--lane mpich@tcp ...] [--iterations 500]

The launches with and without it alternate. Without ``--lane`` the benchmark runs on every MPI lane that is ready.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved, line
from fabricbench.setup.probe import lane_environment
from fabricbench.site.lane import Lane
from fabricbench.site.stacks import Installed

SIZES = (8, 4096, 65536)


def latencies(lane: Lane, installed: Installed, preload: bool, iterations: int) -> Sequence[float]:
    """Runs one launch; returns the median half round trip in microseconds at each size."""
    apps = installed.apps
    variables = dict(lane.variables())
    of_lane = variables.pop("LD_PRELOAD", "")
    with tempfile.TemporaryDirectory() as directory:
        libraries = [f"{apps}/lib/libfabricbench_witness.so"] if preload else []
        loaded = ":".join([*libraries, *([of_lane] if of_lane else [])])
        witness = [f"LD_PRELOAD={loaded}", f"FABRICBENCH_WITNESS_DIR={directory}"]
        program = [f"{apps}/bin/fabricbench-micro", "pingpong", "--sizes", ",".join(map(str, SIZES))]
        argv = [f"{installed.prefix}/bin/mpirun", "-np", "2", "env", *witness, *program]
        argv += ["--iterations", str(iterations)]
        environment = lane_environment(installed, variables)
        result = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
        reports = len(list(Path(directory).glob("witness.*.json")))
    if result.returncode:
        sys.exit(f"{lane.name}: {result.stdout[-2000:]}{result.stderr}")
    if reports != (2 if preload else 0):
        sys.exit(f"{lane.name}: {reports} witness reports, preload {preload}")
    rows = [row.split(",") for row in result.stdout.splitlines() if row.endswith(",latency_us")]
    return [float(np.median([float(row[5]) for row in rows if row[2] == str(size)])) for size in SIZES]


def main(
    pairs: int = 20,
    lane: Annotated[list[str] | None, typer.Option("--lane")] = None,
    system: str = "local",
    iterations: int = 500,
) -> None:
    selection = mpi_lanes(system, lane or ())
    print("| lane, size | latency with / without the witness | 95 % interval | pairs |\n| --- | --- | --- | --- |")
    for each, installed in selection:

        def with_witness(lane: Lane = each, installed: Installed = installed) -> Sequence[float]:
            return latencies(lane, installed, True, iterations)

        def without(lane: Lane = each, installed: Installed = installed) -> Sequence[float]:
            return latencies(lane, installed, False, iterations)

        measurements = interleaved(with_witness, without, pairs)
        for at, size in enumerate(SIZES):
            print(line(f"{each.name}, {size} B", [a[at] / b[at] for a, b in measurements], ""), flush=True)


if __name__ == "__main__":
    typer.run(main)
