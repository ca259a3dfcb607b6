# SPDX-License-Identifier: Apache-2.0
"""IMB-NBC of the Intel MPI Benchmarks: nonblocking collectives, alone and with computation meanwhile."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_nbc import TABLES

from .base import SELDOM
from .base.imb import Imb

KINDS = {
    "bcast_scatter": ("Ibcast", "Iscatter", "Iscatterv"),
    "gather": ("Igather", "Igatherv"),
    "allgather": ("Iallgather", "Iallgatherv"),
    "alltoall": ("Ialltoall",),
    "alltoallv": ("Ialltoallv",),
    "reduce": ("Ireduce",),
    "allreduce_scatter": ("Iallreduce", "Ireduce_scatter"),
}
"""Collectives that share a launch must move equally many bytes, and the stacks were seen to move hardly more: one that
goes another way leaves at most two thirds of the payload, and the launch is refuted. The others are alone."""


class ImbNbc(Imb):
    """The base of the leaves below."""

    tool = "imb_nbc"
    suite = "IMB-NBC"
    tables = TABLES
    tags = SELDOM
    smallest_bytes = 4  # reductions work on floats
    largest_bytes = 2**20

    def measure(self, collectives: tuple[str, ...]) -> None:
        """Each with and without computation."""
        self.names = tuple(name for each in collectives for name in (each, f"{each}_pure"))


@rfm.simple_test
class ImbNonblocking(ImbNbc):
    descr = "IMB-NBC, nonblocking collectives of one kind"
    kind = parameter(list(KINDS), loggable=True)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.kind
        self.measure(KINDS[self.kind])


@rfm.simple_test
class ImbIbarrier(ImbNbc):
    descr = "IMB-NBC Ibarrier"
    benchmark = "ibarrier"
    messages = parameter(["small"])

    @run_after("init")
    def choose(self) -> None:
        self.measure(("Ibarrier",))
