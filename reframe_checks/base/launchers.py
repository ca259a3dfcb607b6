# SPDX-License-Identifier: Apache-2.0
"""The launchers that start the ranks: the stack's own mpirun by its path, or Slurm's srun."""

import shlex
from dataclasses import dataclass, replace

from reframe.core.backends import getlauncher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job

from fabricbench.site.lane import Lane
from fabricbench.site.transports import Placement

SRUN_BINDING = {"core": "cores", "numa": "ldoms", "socket": "sockets"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The ranks of a launch on its nodes.

    ``placement``: None for the launcher's default. ``nodelist``: names of the nodes; empty if the launcher chooses.
    """

    nodes: int
    ranks: int
    binding: str = "none"
    placement: Placement | None = None
    nodelist: tuple[str, ...] = ()

    @property
    def per_node(self) -> int:
        """The largest number of ranks on a node."""
        return per_node(self.ranks, self.nodes)

    def filled_in(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Returns options with the names of the nodes and the number of ranks on each."""
        words = {
            "{hosts}": ",".join(self.nodelist),
            "{slots}": ",".join(f"{name}:{self.per_node}" for name in self.nodelist),
            "{per_node}": str(self.per_node),
        }
        for word, value in words.items():
            options = tuple(option.replace(word, value) for option in options)
        return options


class SlurmSteps(JobLauncher):
    """``srun`` with a number of ranks on a number of nodes; if one rank fails, Slurm ends the others.

    ReFrame's own srun launcher asks for srun's version in every test, which takes a minute if no Slurm answers.
    """

    def __init__(self, pmi: str, layout: Layout) -> None:
        binding = SRUN_BINDING.get(layout.binding)
        self.options = [
            *((f"--mpi={shlex.quote(pmi)}",) if pmi else ()),
            *(f"--nodes={layout.nodes}", f"--ntasks={layout.ranks}", f"--ntasks-per-node={layout.per_node}"),
            *((f"--nodelist={','.join(layout.nodelist)}",) if layout.nodelist else ()),
            *((f"--distribution={layout.placement}",) if layout.placement else ()),
            *((f"--cpu-bind={binding}",) if binding else ()),
            *("--kill-on-bad-exit=1", "--input=none"),
        ]

    def command(self, job: Job) -> list[str]:
        return ["srun"]


def per_node(ranks: int, nodes: int) -> int:
    """Returns the largest number of ranks on a node if they are spread evenly."""
    return -(-ranks // nodes)


def launcher_of(lane: Lane, layout: Layout) -> JobLauncher:
    """Returns ``srun`` with the PMI of the lane if the fabric uses it, else the launcher of the stack.

    The lane must be set up. Below MPI, one task on each node starts the server, the client, or both.
    """
    if lane.pmi is not None:
        tasks = layout if lane.stack.level == "mpi" else replace(layout, ranks=layout.nodes)
        return SlurmSteps(lane.pmi, tasks)
    assert lane.installed is not None
    stack = lane.stack
    launcher = getlauncher(stack.launcher if stack.level == "mpi" else "local")()
    options = (
        *(stack.hosts if layout.nodelist else ()),
        *(stack.placement.get(layout.placement, ()) if layout.placement else ()),
        *stack.binding.get(layout.binding, ()),
    )
    return _by_path(launcher, lane.installed.prefix, layout.filled_in(options))


def _by_path(launcher: JobLauncher, prefix: str, options: tuple[str, ...]) -> JobLauncher:
    """Replaces mpirun by its path, so that a stack that was removed does not start through another one on PATH."""
    launcher.options = [shlex.quote(option) for option in options]
    command = launcher.command

    def absolute(job: Job) -> list[str]:
        return [f"{prefix}/bin/mpirun" if word == "mpirun" else word for word in command(job)]

    launcher.command = absolute
    return launcher
