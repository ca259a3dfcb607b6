# SPDX-License-Identifier: Apache-2.0
"""Cores and memory of the nodes of a fabric, and checks that need a core for each of their threads."""

import os
from collections.abc import Callable
from functools import cache

from reframe.core.builtins import variable
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import runtime

from fabricbench.errors import BadInput
from fabricbench.site.memory import Memory, machine_memory, memory_here

from .benchmark import BenchmarkMixin
from .lane import Named, fabric_of, node_cores

SLURM_JOB = "SLURM_JOB_ID"
"""Variable that is set inside an allocation of Slurm."""
SHARE_OF_MEMORY = 0.8
"""The share of a node's memory for the data of a benchmark; the rest is for the system and the stack."""


def processors(partition: Named) -> int:
    """Returns the number of cores of all nodes of a fabric."""
    fabric = fabric_of(partition)
    return node_cores(fabric) * fabric.nodes.count


@cache
def node_memory(partition: Named) -> Memory:
    """Returns the memory of one node: as the site declares it, else that of this machine.

    Launches on this machine, and in the allocation of Slurm in which this process runs, are limited by the memory of
    its control groups and of the job.
    """
    fabric = fabric_of(partition)
    declared = Memory(fabric.nodes.memory_bytes) if fabric.nodes.memory_bytes else None
    if fabric.scheduler.is_local or SLURM_JOB in os.environ:
        here = memory_here()
        return min(declared, here) if declared and here.limit else declared or here
    return declared or machine_memory()


def most_processors() -> int:
    """Returns the number of cores of the largest partition."""
    return max(processors(partition) for partition in runtime().system.partitions)


def rank_counts(variable: str, expected: str, allowed: Callable[[int], bool]) -> list[int]:
    """Returns the numbers of ranks in the environment ``variable``; none if it is not set.

    Raises ReframeError, with ``expected`` in its message, if a number in it is not ``allowed``.
    """
    text = os.environ.get(variable)
    if not text:
        return []
    counts = sorted({int(word) if word.isascii() and word.isdecimal() else 0 for word in text.split(",")})
    if not all(map(allowed, counts)):
        raise ReframeError(BadInput(f"'{text}'", where=variable, expected=expected))
    return counts


class CoresMixin(BenchmarkMixin):
    """Skips oversubscribed launches unless ``oversubscribe`` is set, and never times them.

    Must precede the base class in the MRO.
    """

    oversubscribe: bool = variable(bool, value=False)
    worker_noun = "ranks or threads"

    @property
    def workers(self) -> int:
        """Number of threads of all ranks together."""
        return self.ranks

    @property
    def cores(self) -> int:
        """Number of cores of the nodes of the launch."""
        return node_cores(self.fabric) * self.nodes

    @property
    def oversubscribed(self) -> bool:
        return self.workers > self.cores

    @property
    def may_oversubscribe(self) -> bool:
        return True

    def configure_job(self) -> None:
        if self.oversubscribed:
            self.mode = "checked"
        super().configure_job()

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        if self.oversubscribed and (hint := self.oversubscription_hint()):
            return f"{self.workers} {self.worker_noun} on {self.cores} cores", hint
        return None

    def oversubscription_hint(self) -> str:
        """Returns how to avoid or to allow an oversubscribed launch; empty if it is allowed."""
        option = f"-S {type(self).__name__}.oversubscribe=1"
        hint = f"use more or larger nodes; {option} runs and attests it without timing"
        return "" if self.oversubscribe else hint
