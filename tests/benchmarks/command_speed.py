# SPDX-License-Identifier: Apache-2.0
"""Compares the run time of commands in two checkouts of Fabricbench.

    PYTHONPATH=tests python -m benchmarks.command_speed OLD NEW [CAMPAIGN] [--pairs 20] [--command judge]

OLD and NEW are two checkouts. Both use this Python and its libraries. Each has its own cache of records, which the
first run of a command fills. ``--help`` and ``doctor`` run without a CAMPAIGN; ``table``, ``judge`` and ``report`` read
it. The runs of the two checkouts alternate. The ratios are NEW over OLD, for the user CPU time and for the elapsed
time. Other processes disturb the user CPU time least.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.paired_runs import interleaved, line

ALONE = ("--help", "doctor")
EXIT_STATUSES = range(5)


def seconds(checkout: Path, arguments: Sequence[str], cache: Path) -> Sequence[float]:
    """Runs a command in a checkout; returns its user CPU time and elapsed time in seconds."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "analysis"), "FABRICBENCH_CACHE": str(cache)}
    argv = [sys.executable, "-m", "fabricbench.cli", *arguments]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    result = subprocess.run(argv, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - start
    if result.returncode not in EXIT_STATUSES or "Traceback" in result.stderr:
        sys.exit(f"{checkout}: {' '.join(arguments)}: {result.stderr[-2000:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, elapsed


def commands(campaign: Path | None, output: Path) -> dict[str, list[str]]:
    """The arguments of each command by its name."""
    arguments = {name: [name] for name in ALONE}
    if campaign is not None:
        path = str(campaign.absolute())
        arguments |= {
            "table": ["table", path, "-f", "csv"],
            "judge": ["judge", path],
            "report": ["report", path, "-o", str(output)],
        }
    return arguments


def main(
    old: Path,
    new: Path,
    campaign: Annotated[Path | None, typer.Argument()] = None,
    pairs: int = 20,
    command: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    old, new = old.absolute(), new.absolute()
    for checkout in (old, new):
        if not (checkout / "analysis/fabricbench/cli").is_dir():
            sys.exit(f"{checkout}: no checkout of Fabricbench; expected a directory with analysis/fabricbench")
    with tempfile.TemporaryDirectory() as directory:
        caches = [Path(directory, name) for name in ("old", "new")]
        names = commands(campaign, Path(directory, "report.html"))
        if unknown_names := [name for name in command or () if name not in names]:
            sys.exit(f"unknown command '{unknown_names[0]}'; expected one of {', '.join(names)}")
        print("| new / old | ratio | 95 % interval | pairs |\n| --- | --- | --- | --- |")
        for name in command or names:
            first, second = (
                partial(seconds, checkout, names[name], cache)
                for checkout, cache in zip((old, new), caches, strict=True)
            )
            first(), second()  # fills both caches
            measurements = interleaved(first, second, pairs)
            for at, what in enumerate(("user CPU time", "elapsed time")):
                print(line(f"{name}, {what}", [b[at] / a[at] for a, b in measurements], ""))


if __name__ == "__main__":
    typer.run(main)
