# SPDX-License-Identifier: Apache-2.0
"""How long the dry run of a campaign takes for a site of many nodes on which everything is installed.

    PYTHONPATH=tests python -m benchmarks.dry_run [--nodes 1000] [--cores 64] [--tier acceptance]

The programs are empty files: a dry run starts none of them.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import typer

from support import large_site


def main(nodes: int = large_site.NODES, cores: int = large_site.CORES, tier: str = "acceptance") -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = large_site.make(Path(folder), nodes, cores)
        words = ("run", f"{folder}/campaign", "--system", "large", "--tier", tier, "--dry-run", "--format", "json")
        start = time.monotonic()
        done = site.fabricbench(*words)
        seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    block = sum(row["launches"] for row in found["launches"] if not row["once"])
    gaps = sum(row["gaps"] for row in found["gaps"])
    print(f"{nodes} nodes of {cores} cores: {block} launches a block, {gaps} gaps, listed in {seconds:.1f} s")


if __name__ == "__main__":
    typer.run(main)
