# SPDX-License-Identifier: Apache-2.0
"""The lane of a test case: its fabric, its stack, its variables, and the skip if it cannot run here."""

import os
from functools import cache
from typing import Protocol

from reframe.core.builtins import variable
from reframe.core.runtime import runtime

from fabricbench.site.fabric import Fabric
from fabricbench.site.lane import Lane, LaneName
from fabricbench.site.settings import lanes_of
from fabricbench.site.stacks import Installed, Stack
from fabricbench.site.system import System, system_in
from fabricbench.site.transports import BINDINGS

from .leaf import LeafBase


class Named(Protocol):
    """A partition or an environment of ReFrame."""

    name: str


@cache
def system() -> System:
    """Returns the system of this ReFrame session, from the ``extras`` of its partitions."""
    partition, *_ = runtime().system.partitions
    carried = system_in(partition.extras)
    assert carried is not None, "reframe_checks/__init__.py ends ReFrame if there is none"
    return carried


@cache
def _lanes() -> dict[tuple[str, str], Lane]:
    return {(lane.fabric.name, LaneName.of(lane.name).environment): lane for lane in lanes_of(system())}


def fabrics() -> list[Fabric]:
    """Returns the fabrics that this ReFrame session uses."""
    return [fabric_of(partition) for partition in runtime().system.partitions]


def lanes() -> list[Lane]:
    """Returns the lanes of these fabrics."""
    names = {partition.name for partition in runtime().system.partitions}
    return [lane for (fabric, _), lane in _lanes().items() if fabric in names]


def gromacs_stacks() -> list[str]:
    """Returns the names of the stacks that have GROMACS; the quick tier profiles the kernels on these."""
    return sorted({lane.stack.name for lane in lanes() if lane.installed and lane.installed.gromacs})


def fabric_of(partition: Named) -> Fabric:
    """Returns the fabric of a partition."""
    return system().fabric(partition.name)


def node_cores(fabric: Fabric) -> int:
    """Returns the number of cores of one node: as the site declares it, else ReFrame's number, else this machine's."""
    partition = {one.name: one for one in runtime().system.partitions}[fabric.name]
    cores = fabric.nodes.cores or getattr(getattr(partition, "processor", None), "num_cores", None)
    return int(cores or len(os.sched_getaffinity(0)))


class LaneBase(LeafBase):
    """Gives a test case its lane."""

    binding: str = variable(str, value="", loggable=True)
    """The part of a node that each rank is bound to; empty for the fabric's default."""
    threaded = False
    """Whether ranks have threads of their own. Such ranks are not bound: the program places its threads."""

    @property
    def lane(self) -> Lane:
        """The stack on the fabric."""
        return _lanes()[self.current_partition.name, self.current_environ.name]

    @property
    def fabric(self) -> Fabric:
        """The fabric as the site declares it."""
        return self.lane.fabric

    @property
    def stack(self) -> Stack:
        """The stack as ``site/stacks.py`` declares it."""
        return self.lane.stack

    @property
    def installed(self) -> Installed:
        """The stack as set-up installed it. The lane is skipped if it is not set up."""
        installed = self.lane.installed
        assert installed is not None, f"{self.lane.name} is not set up"
        return installed

    @property
    def oversubscribed(self) -> bool:
        """Whether the launch has more ranks than its nodes have cores."""
        return False

    @property
    def rank_binding(self) -> str:
        """The part of a node that each rank is bound to: the check's if it is set, else the fabric's.

        ``none`` below MPI, for ranks with threads, and for oversubscribed launches unless the check sets one.
        """
        if self.stack.level != "mpi" or self.threaded or (self.oversubscribed and not self.binding):
            return "none"
        return self.binding or self.fabric.binding

    def lane_skip(self) -> tuple[str, str] | None:
        """Returns the reason why this lane cannot run here and a hint; None if it can."""
        return self.lane.unavailable or self._binding_skip()

    def _binding_skip(self) -> tuple[str, str] | None:
        part, stack = self.rank_binding, self.stack.name
        if part == "none":
            return None
        if part not in BINDINGS:
            return f"unknown binding '{part[:40]}'", f"choose one of {', '.join(BINDINGS)}"
        if self.oversubscribed:
            return f"more ranks than cores: not every rank can have a {part} of its own", "set no binding"
        if self.fabric.scheduler.launcher == "srun" or part in self.stack.binding:
            return None
        return (
            f"no options that bind each rank of {stack} to a {part}",
            f"add them to {stack} in site/stacks.py (binding)",
        )

    def lane_variables(self) -> dict[str, str]:
        """Returns the environment variables of the launch."""
        return self.lane.variables(oversubscribed=self.oversubscribed)
