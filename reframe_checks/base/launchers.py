# SPDX-License-Identifier: Apache-2.0
"""The launchers that start the ranks: the stack's own mpirun by its path, or Slurm's srun."""

import shlex

from reframe.core.backends import getlauncher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job

from fabricbench.site.lane import Lane

SRUN_BINDING = {"core": "cores", "numa": "ldoms", "socket": "sockets"}


class SlurmSteps(JobLauncher):
    """``srun`` with a number of ranks on a number of nodes; if one rank fails, Slurm ends the others.

    ReFrame's own srun launcher asks for srun's version in every test, which takes a minute if no Slurm answers.
    """

    def __init__(self, pmi: str, nodes: int, ranks: int, binding: str) -> None:
        self.options = [
            *((f"--mpi={shlex.quote(pmi)}",) if pmi else ()),
            *(f"--nodes={nodes}", f"--ntasks={ranks}", f"--ntasks-per-node={per_node(ranks, nodes)}"),
            # Consecutive ranks share a node, so that ranks i and i + n/2 are on different nodes.
            *(("--distribution=block",) if nodes > 1 else ()),
            *((f"--cpu-bind={SRUN_BINDING[binding]}",) if binding in SRUN_BINDING else ()),
            *("--kill-on-bad-exit=1", "--input=none"),
        ]

    def command(self, job: Job) -> list[str]:
        return ["srun"]


def per_node(ranks: int, nodes: int) -> int:
    """Returns the largest number of ranks on a node if they are spread evenly."""
    return -(-ranks // nodes)


def launcher_of(lane: Lane, nodes: int, ranks: int, binding: str) -> JobLauncher:
    """Returns ``srun`` with the PMI of the lane if the fabric uses it, else the launcher of the stack.

    The lane must be set up. Below MPI, one task on each node starts the server, the client, or both.
    """
    if lane.pmi is not None:
        return SlurmSteps(lane.pmi, nodes, ranks if lane.stack.level == "mpi" else nodes, binding)
    assert lane.installed is not None
    launcher = getlauncher(lane.stack.launcher if lane.stack.level == "mpi" else "local")()
    return _by_path(launcher, lane.installed.prefix, lane.stack.binding.get(binding, ()))


def _by_path(launcher: JobLauncher, prefix: str, options: tuple[str, ...]) -> JobLauncher:
    """Replaces mpirun by its path, so that a stack that was removed does not start through another one on PATH."""
    launcher.options = [shlex.quote(option) for option in options]
    command = launcher.command

    def absolute(job: Job) -> list[str]:
        return [f"{prefix}/bin/mpirun" if word == "mpirun" else word for word in command(job)]

    launcher.command = absolute
    return launcher
