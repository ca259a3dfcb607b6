# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a dry run of a campaign on a site of many nodes with everything installed.

    PYTHONPATH=tests python -m benchmarks.dry_run [--nodes 1000] [--cores 64] [--tier acceptance]

The programs are empty files, because a dry run starts none of them. A real Slurm controller with these nodes answers
the dry run; machines that cannot run a controller do without. The exit status is 1 if the dry run takes over 60 s.
"""

import json
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import typer

from support import large_site, large_slurm

LIMIT_SECONDS = 60


def main(nodes: int = large_site.NODES, cores: int = large_site.CORES, tier: str = "acceptance") -> None:
    without = large_slurm.impossible()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with nullcontext() if without else large_slurm.controller(folder / "slurm", nodes, cores) as slurm:
            site = large_site.make(folder, nodes, cores, slurm=slurm)
            words = ("run", f"{folder}/campaign", "--system", "large", "--tier", tier, "--dry-run", "--format", "json")
            start = time.monotonic()
            result = site.fabricbench(*words)
            seconds = time.monotonic() - start
    if result.returncode:
        sys.exit(result.stderr)
    forecast = json.loads(result.stdout)
    block = sum(row["launches"] for row in forecast["launches"] if not row["once"])
    skips = sum(row["skips"] for row in forecast["skips"])
    last = forecast["totals"][-1]
    print(f"{nodes} nodes of {cores} cores: {block} launches a block, {skips} skips, listed in {seconds:.1f} s")
    print("{blocks} blocks: at most {hours_at_most} h, {node_hours_at_most} node-hours".format(**last))
    print(f"Slurm was not asked: {without}" if without else "a slurmctld with a generated slurm.conf was asked")
    sys.exit(seconds > LIMIT_SECONDS)


if __name__ == "__main__":
    typer.run(main)
