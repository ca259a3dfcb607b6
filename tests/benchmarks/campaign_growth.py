# SPDX-License-Identifier: Apache-2.0
"""Measures how time and memory of table, judge and report grow with the launches of a campaign on many nodes.

    PYTHONPATH=tests python -m benchmarks.campaign_growth [--nodes 1000] [--cores 64] [--launches 4]

The campaign is synthetic (``support.large_campaign``): files and fields of a real run, without one. Each command runs
on n, 2n and 4n launches; ``table, first`` computes all records, the others find them in the cache. The last column is
the cost of 4n launches over that of n: at most 4 if it is linear, up to 16 if it is quadratic.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer

from support import large_campaign

COMMANDS = {
    "table, first": ("table", "-f", "csv", "-o", "table.csv"),
    "table": ("table", "-f", "csv", "-o", "table.csv"),
    "judge": ("judge",),
    "report": ("report", "-o", "report.html"),
}
STATUSES = range(5)
"""Exit statuses of commands that ended; those of ``judge`` depend on the verdicts."""


@dataclass(frozen=True, slots=True)
class Cost:
    """User CPU time in seconds and the largest resident memory in bytes of one command."""

    seconds: float
    memory_bytes: int


def measure(campaign: Path, command: tuple[str, ...], cache: Path) -> Cost:
    """Runs a command of ``fabricbench`` on the campaign."""
    name, *options = command
    argv = [sys.executable, "-m", "fabricbench.cli", name, str(campaign), *options]
    with (cache.parent / "output").open("w+") as output:
        environment = {**os.environ, "FABRICBENCH_CACHE": str(cache)}
        process = subprocess.Popen(argv, stdout=output, stderr=output, env=environment, cwd=cache.parent)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in STATUSES:
            output.seek(0)
            sys.exit(f"fabricbench {name}: exit status {process.returncode}: {output.read()[-500:]}")
    return Cost(usage.ru_utime, usage.ru_maxrss * 1024)


def costs(folder: Path, nodes: int, cores: int, launches: int) -> dict[str, Cost]:
    """Returns the cost of each command on a new campaign."""
    campaign = large_campaign.make(folder / f"of-{launches}", nodes, cores, launches)
    cache = folder / f"cache-{launches}"
    return {name: measure(campaign, command, cache) for name, command in COMMANDS.items()}


def size_text(campaign: Path, nodes: int, cores: int) -> str:
    """Returns the files and bytes that one timed launch of a campaign keeps."""
    launch = next(campaign.glob("launches/*/*/*/*/MicroCollective*"))
    sizes = [path.stat().st_size for path in launch.iterdir()]
    each = sum(sizes) / 1000 / (nodes * cores / 64)
    files = len(list(launch.glob("host.*"))) / nodes
    return f"A launch keeps {files:g} file for each node and {each:.1f} KB for 64 ranks"


def main(nodes: int = 1000, cores: int = 64, launches: int = 4) -> None:
    numbers = [launches, 2 * launches, 4 * launches]
    with tempfile.TemporaryDirectory() as name:
        of = [costs(Path(name), nodes, cores, number) for number in numbers]
        print(f"{nodes} nodes of {cores} ranks. {size_text(Path(name, f'of-{launches}'), nodes, cores)}.\n")
    columns = [f"{number} launches" for number in numbers]
    print(f"| command, user CPU time in s, memory in MB | {' | '.join(columns)} | ratio |")
    print("| --- " * (len(numbers) + 2) + "|")
    for command in COMMANDS:
        seconds = [one[command].seconds for one in of]
        memory = [one[command].memory_bytes / 1e6 for one in of]
        print(f"| {command}, s | {' | '.join(f'{one:.2f}' for one in seconds)} | {seconds[-1] / seconds[0]:.2f} |")
        print(f"| {command}, MB | {' | '.join(f'{one:.0f}' for one in memory)} | {memory[-1] / memory[0]:.2f} |")


if __name__ == "__main__":
    typer.run(main)
