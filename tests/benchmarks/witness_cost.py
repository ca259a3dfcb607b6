# SPDX-License-Identifier: Apache-2.0
"""What the witness costs: own ping-pong with it and without, interleaved, as ratio of latencies per lane.

PYTHONPATH=tests python -m benchmarks.witness_cost [--pairs 20] [--lane mpich@tcp ...]
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.pairs import interleaved, line
from fabricbench.drive.probe import lane_environment
from fabricbench.drive.system import Lane, choose, lanes

SIZES = (8, 4096, 65536)


def latencies(lane: Lane, preload: bool) -> Sequence[float]:
    """Median half round trip in microseconds at each size, from one launch."""
    assert lane.installed is not None
    apps = lane.installed.apps
    with tempfile.TemporaryDirectory() as directory:
        witness = [f"LD_PRELOAD={apps}/lib/libfabricbench_witness.so", f"FABRICBENCH_WITNESS_DIR={directory}"]
        program = [f"{apps}/bin/fabricbench-micro", "pingpong", "--sizes", ",".join(map(str, SIZES))]
        argv = [f"{lane.installed.prefix}/bin/mpirun", "-np", "2", "env", *(witness if preload else []), *program]
        environment = lane_environment(lane.installed, lane.variables)
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=True)
        reports = len(list(Path(directory).glob("witness.*.json")))
    if reports != (2 if preload else 0):
        sys.exit(f"{lane.name}: {reports} witness reports, preload {preload}")
    rows = [row.split(",") for row in done.stdout.splitlines() if row.endswith(",latency_us")]
    return [float(np.median([float(row[5]) for row in rows if row[2] == str(size)])) for size in SIZES]


def main(
    pairs: int = 20,
    lane: Annotated[list[str] | None, typer.Option("--lane")] = None,
    system: str = "local",
) -> None:
    print("| lane, size | latency with / without the witness | 95 % interval | pairs |\n| --- | --- | --- | --- |")
    for each in choose([item for item in lanes(system) if not item.missing], lane or ()):

        def with_witness(lane: Lane = each) -> Sequence[float]:
            return latencies(lane, True)

        def without(lane: Lane = each) -> Sequence[float]:
            return latencies(lane, False)

        found = interleaved(with_witness, without, pairs)
        for at, size in enumerate(SIZES):
            print(line(f"{each.name}, {size} B", [a[at] / b[at] for a, b in found], ""), flush=True)


if __name__ == "__main__":
    typer.run(main)
