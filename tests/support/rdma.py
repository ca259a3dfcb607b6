# SPDX-License-Identifier: Apache-2.0
"""Calls ``site/rdma/cluster.sh``, and the commands of users on its cluster of emulated machines."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.fake_site import REPOSITORY
from support.processes import alive, clean_environment, marked

SCRIPT = REPOSITORY / "site/rdma/cluster.sh"
RUN = Path("/run/fabricbench-rdma")
CAMPAIGNS = REPOSITORY / "build/rdma/test-campaigns"
"""A directory of the checkout, which the machines share."""
CHOSEN = "FABRICBENCH_TEST_RDMA"
LIMIT_SECONDS = 900

Done = subprocess.CompletedProcess[str]


def impossible() -> str:
    """Returns why the cluster cannot be tested now; empty if it can."""
    if os.environ.get(CHOSEN) != "yes":
        return f"{CHOSEN} is not set: make test-rdma"
    if os.geteuid() != 0:
        return "the cluster needs root"
    return "a cluster is up, and there is one on a machine: make rdma-down" if RUN.exists() else ""


def script(*words: str, **variables: str) -> Done:
    """Calls the script as ``make rdma-up`` does."""
    return _call([str(SCRIPT), *words], {**clean_environment(), **variables})


def left_over() -> list[str]:
    """Returns the existing processes, interfaces and files of a cluster."""
    processes = [f"process {pid}" for pid in marked("FABRICBENCH_RDMA=1") if alive(pid)]
    links = _call(["ip", "-o", "link"], dict(os.environ)).stdout.splitlines()
    files = [str(RUN)] if RUN.exists() else []
    return processes + [name for name in links if "fbrd" in name] + files


@dataclass(frozen=True)
class Site:
    """A folder of sites, and the commands of users with it."""

    root: Path

    def fabricbench(self, *arguments: str) -> Done:
        """Runs ``fabricbench`` as users type it."""
        environment = {
            **clean_environment(),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "FABRICBENCH_SITES": str(self.root / "site"),
        }
        return _call([sys.executable, "-m", "fabricbench.cli", *arguments], environment)


def _call(argv: Sequence[str], environment: dict[str, str]) -> Done:
    return subprocess.run(
        argv, env=environment, cwd=REPOSITORY, capture_output=True, text=True, errors="replace",
        timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
