# SPDX-License-Identifier: Apache-2.0
"""Compares the time and the spread of launches of the project's own ping-pong with those of another tool.

Both measure the same sizes.

    PYTHONPATH=tests python -m benchmarks.measuring_speed [--pairs 20] [--lane mpich@tcp] [--osu PATH] [--largest 65536]

The launches of both tools alternate. The other tool runs with its defaults: IMB-MPI1 PingPong with 1000 repetitions and
its own limits of time and volume, or the osu_latency at PATH. A launch's value is its latency at one size; the spread
of a tool is the median absolute deviation of its launches' values over their median.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved, line
from fabricbench.setup.probe import lane_environment
from fabricbench.site.lane import Lane
from fabricbench.site.stacks import Installed

LARGEST = 2**22
SHOWN = (8, 65536)
RESAMPLES = 2000


@dataclass(frozen=True)
class Side:
    """A lane and the largest message size of both tools, in bytes."""

    lane: Lane
    installed: Installed
    largest: int

    @property
    def sizes(self) -> list[int]:
        """0 and the powers of two up to the largest."""
        return [0, *(2**k for k in range(self.largest.bit_length()))]

    def launch(self, command: Sequence[str]) -> tuple[float, list[str]]:
        """Runs a program; returns its run time in seconds and the lines of its output."""
        argv = [f"{self.installed.prefix}/bin/mpirun", "-np", "2", *command]
        start = time.monotonic()
        result = subprocess.run(
            argv, env=lane_environment(self.installed, self.lane.variables()), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        if result.returncode:
            sys.exit(f"{self.lane.name}: {result.stdout[-2000:]}{result.stderr}")
        return time.monotonic() - start, result.stdout.splitlines()


def own(side: Side) -> Sequence[float]:
    """Runs the project's own ping-pong as its check does; returns seconds, then the median latency at each size."""
    sizes = ",".join(map(str, side.sizes))
    program = f"{side.installed.apps}/bin/fabricbench-micro"
    seconds, lines = side.launch([program, "pingpong", "--sizes", sizes, "--iterations", "500"])
    rows = [row.split(",") for row in lines if row.startswith("pingpong,")]
    return seconds, *(float(np.median([float(row[5]) for row in rows if row[2] == str(size)])) for size in SHOWN)


def other(side: Side, osu: Path | None) -> Sequence[float]:
    """Runs the other tool; returns seconds, then the latency at each size in ``SHOWN``."""
    with tempfile.TemporaryDirectory() as directory:
        sizes = Path(directory, "sizes")
        sizes.write_text("".join(f"{size}\n" for size in side.sizes))
        imb = [str(side.installed.imb), "PingPong", "-msglen", str(sizes)]
        seconds, lines = side.launch([str(osu), "-m", f"0:{side.largest}"] if osu else imb)
    rows = [row.split() for row in lines if row[:1].isdigit() or row.startswith("   ")]
    column = 1 if osu else 2
    values_by_size = {row[0]: float(row[column]) for row in rows if len(row) > column and row[0].isdigit()}
    return seconds, *(values_by_size[str(size)] for size in SHOWN)


def spread(values: np.ndarray) -> float:
    """Returns the median absolute deviation divided by the median."""
    middle = np.median(values)
    return float(np.median(np.abs(values - middle)) / middle)


def spread_ratio(mine: np.ndarray, others: np.ndarray) -> tuple[float, float, float]:
    """Returns the ratio of the spreads and its 95 % bootstrap interval over launches.

    All are nan if the other tool prints too few digits to show a spread.
    """
    draw = np.random.default_rng(1)
    ratios = []
    for _ in range(RESAMPLES):
        a, b = (spread(draw.choice(values, len(values))) for values in (mine, others))
        if b:
            ratios.append(a / b)
    if len(ratios) < RESAMPLES / 2 or not spread(others):
        return float("nan"), float("nan"), float("nan")
    low, high = np.quantile(ratios, [0.025, 0.975])
    return spread(mine) / spread(others), float(low), float(high)


def main(
    pairs: int = 20,
    lane: Annotated[list[str] | None, typer.Option()] = None,
    osu: Path | None = None,
    largest: int = LARGEST,
) -> None:
    if largest < max(SHOWN):
        sys.exit(f"--largest {largest}: expected at least {max(SHOWN)} bytes, the largest size shown")
    name = "osu_latency" if osu else "IMB PingPong"
    chosen_lanes = mpi_lanes("local", lane or ["mpich@shm", "mpich@tcp", "impi@tcp"])
    if without := [selection.name for selection, installed in chosen_lanes if not osu and installed.imb is None]:
        sys.exit(f"{without[0]} has no IMB-MPI1: choose other lanes, or name an osu_latency with --osu")
    print(f"| the project's own / {name} | ratio | 95 % interval | pairs |\n| --- | --- | --- | --- |")
    for selection, installed in chosen_lanes:
        side = Side(selection, installed, largest)
        measurements = interleaved(lambda s=side: own(s), lambda s=side: other(s, osu), pairs)  # type: ignore[misc]
        print(line(f"{selection.name}, time of a launch", [a[0] / b[0] for a, b in measurements], ""))
        for at, size in enumerate(SHOWN, start=1):
            values = [np.array([side[at] for side in sides]) for sides in zip(*measurements, strict=True)]
            ratio, low, high = spread_ratio(*values)
            what = f"{selection.name}, spread between launches at {size} B"
            interval_text = "- | -" if np.isnan(ratio) else f"{ratio:.3f} | {low:.3f} to {high:.3f}"
            print(f"| {what} | {interval_text} | {pairs} |")


if __name__ == "__main__":
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    typer.run(main)
