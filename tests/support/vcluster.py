# SPDX-License-Identifier: Apache-2.0
"""Calls ``site/vcluster/cluster.sh``, and the commands of users on its cluster.

Commands run within this process, which saves the start of Python. Those that a test starts in the background, and those
of the acceptance walk, have processes of their own.
"""

import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from support.command import inside, reframe_inside
from support.fake_site import REPOSITORY
from support.processes import alive, clean_environment, marked, no_namespaces

SCRIPT = REPOSITORY / "site/vcluster/cluster.sh"
RUN = Path("/run/fabricbench-vcluster")
LIMIT_SECONDS = 300

Done = subprocess.CompletedProcess[str]


def impossible() -> str:
    """Returns why no cluster can run on this machine; empty if one can."""
    if RUN.exists():
        return "a cluster is up, and there is one on a machine: make vcluster-down"
    return no_namespaces("slurmctld", "slurmd", "munged", "ip", "tc", "unshare")


class Cluster:
    """The one cluster that a machine may have."""

    def __init__(self) -> None:
        self._running: dict[str, str] | None = None
        """The variables of the running cluster."""

    def up(self, **how: str) -> None:
        """Starts the cluster with the variables ``how``. Keeps a cluster of the same variables whose nodes are idle."""
        if how == self._running and self.script("status").returncode == 0:
            return
        if RUN.exists():
            self.down()
        result = self.script("up", **how)
        assert result.returncode == 0, result.stdout + result.stderr
        self._running = how

    def down(self) -> None:
        """Stops the cluster and everything on it."""
        self._running = None
        result = self.script("down")
        assert result.returncode == 0, result.stdout + result.stderr

    def script(self, *words: str, **variables: str) -> Done:
        """Calls the script as ``make vcluster-up`` does."""
        return _call([str(SCRIPT), *words], {**clean_environment(), **variables})

    def slurm(self, *words: str) -> str:
        """Runs a Slurm command that must succeed, and returns its output."""
        result = _call(list(words), {**os.environ, "SLURM_CONF": str(RUN / "slurm.conf")})
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def left_over(self) -> list[str]:
        """Returns the existing processes, namespaces, interfaces and files of a cluster."""
        processes = [f"process {pid}" for pid in marked("FABRICBENCH_VCLUSTER=1") if alive(pid)]
        spaces = _call(["ip", "netns", "list"], dict(os.environ)).stdout.splitlines()
        links = _call(["ip", "-o", "link"], dict(os.environ)).stdout.splitlines()
        files = [str(RUN)] if RUN.exists() else []
        return processes + [name for name in spaces + links if "fbvc" in name] + files


@dataclass(frozen=True)
class Site:
    """A folder of sites, and the commands of users with it."""

    root: Path

    @property
    def settings(self) -> Path:
        return self.root / "site/vcluster/settings.py"

    def change(self, old: str, new: str) -> None:
        """Replaces text in the settings, which must contain it."""
        text = self.settings.read_text()
        assert old in text
        self.settings.write_text(text.replace(old, new))

    def environment(self, campaign: Path | None = None) -> dict[str, str]:
        return {
            **clean_environment(),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "RFM_CONFIG_FILES": str(self.settings),
            "RFM_SYSTEM": "vcluster",
            "FABRICBENCH_SITES": str(self.root / "site"),
            **({"FABRICBENCH_CAMPAIGN": str(campaign)} if campaign else {}),
        }

    def reframe(self, campaign: Path, *arguments: str) -> Done:
        """Runs ``reframe -c reframe_checks … -r``."""
        return reframe_inside("-c", "reframe_checks", *arguments, "-r", environment=self._inside(campaign))

    def fabricbench(self, *arguments: str, **variables: str) -> Done:
        """Runs ``fabricbench`` with further ``variables``."""
        with chdir(REPOSITORY):
            return inside(*arguments, environment={**self._inside(), **variables})

    def _inside(self, campaign: Path | None = None) -> dict[str, str]:
        """The environment for commands within this process, in which only the first one executes the settings."""
        return {**self.environment(campaign), "SLURM_CONF": str(RUN / "slurm.conf")}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts ``fabricbench`` in the background."""
        return subprocess.Popen(
            [sys.executable, "-m", "fabricbench.cli", *arguments],
            env=self.environment(), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip


def _call(argv: list[str], environment: dict[str, str]) -> Done:
    return subprocess.run(
        argv, env=environment, cwd=REPOSITORY, capture_output=True, text=True, errors="replace",
        timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
