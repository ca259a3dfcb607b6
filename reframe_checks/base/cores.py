# SPDX-License-Identifier: Apache-2.0
"""Cores and memory of the nodes that a launch spreads over; launches that need a core for each of their threads."""

import os
from collections.abc import Callable

import reframe as rfm
from reframe.core.builtins import variable
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import runtime

from fabricbench.errors import BadInput


def processors(partition: object) -> int:
    """Cores of a partition's nodes, as many as a launch takes: as ReFrame knows them, else of this machine."""
    info = getattr(partition, "processor", None)
    extras = getattr(partition, "extras", None) or {}
    return (getattr(info, "num_cores", None) or len(os.sched_getaffinity(0))) * extras.get("nodes", 1)


def node_memory_bytes(partition: object) -> int:
    """Memory of one of a partition's nodes: as the site declares it, else of this machine."""
    extras = getattr(partition, "extras", None) or {}
    return int(extras.get("memory_bytes") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


SHARE_OF_MEMORY = 0.8
"""Of a node, for what a benchmark holds: the rest is the system's and the stack's."""


def most_processors() -> int:
    """Cores of the largest partition's nodes."""
    return max(processors(partition) for partition in runtime().system.partitions)


def rank_counts(variable: str, expected: str, allowed: Callable[[int], bool]) -> list[int]:
    """Strong scaling: powers of two from 1 to the cores of the largest partition's nodes, or what ``variable`` names,
    numbers that are ``allowed``; ReframeError, saying what is ``expected``, where one is not."""
    asked = os.environ.get(variable)
    if not asked:
        return [2**k for k in range(most_processors().bit_length())]
    counts = sorted({int(word) if word.isascii() and word.isdecimal() else 0 for word in asked.split(",")})
    if not all(map(allowed, counts)):
        raise ReframeError(BadInput(f"'{asked}'", where=variable, expected=expected))
    return counts


class CoresMixin(rfm.RegressionTestPlugin):
    """Skips oversubscribed launches unless ``oversubscribe`` is set, and never times them.

    Must precede the base class in the MRO.
    """

    oversubscribe = variable(bool, value=False)

    @property
    def workers(self) -> int:
        """Threads of all ranks together."""
        return int(self.ranks)

    @property
    def oversubscribed(self) -> bool:
        return self.workers > processors(self.current_partition)

    def enter_lane(self) -> None:
        if self.oversubscribed:
            self.mode = "checked"
        super().enter_lane()

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        if self.oversubscribed and not self.oversubscribe:
            cores = processors(self.current_partition)
            hint = (
                f"use more or larger nodes; -S {type(self).__name__}.oversubscribe=1 attests it here, and times nothing"
            )
            return f"{self.workers} ranks or threads on {cores} cores", hint
        return None
