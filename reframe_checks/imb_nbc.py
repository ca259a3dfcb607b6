# SPDX-License-Identifier: Apache-2.0
"""IMB-NBC of the Intel MPI Benchmarks: nonblocking collectives, with and without overlapping computation."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_nbc import TABLES
from fabricbench.site.scale import COLLECTIVE, Breadth

from .base import SELDOM, scales
from .base.imb import Imb
from .base.scale import scaled_limit

KINDS = {
    "bcast_scatter": ("Ibcast", "Iscatter", "Iscatterv"),
    "gather": ("Igather", "Igatherv"),
    "allgather": ("Iallgather", "Iallgatherv"),
    "alltoall": ("Ialltoall",),
    "alltoallv": ("Ialltoallv",),
    "reduce": ("Ireduce",),
    "allreduce_scatter": ("Iallreduce", "Ireduce_scatter"),
}
"""The collectives of each launch. They share a launch only if they move equally many bytes and stacks move hardly more:
if one uses another transport, at most two thirds of the payload remain, and the launch is refuted."""


class ImbNbc(Imb):
    """The base of the leaves below, which run at the smallest and at the largest scale of the tier."""

    tool = "imb_nbc"
    breadth: Breadth = "ends"
    at = parameter(scales(COLLECTIVE, "ends"), loggable=True)
    suite = "IMB-NBC"
    tables = TABLES
    tags = SELDOM
    smallest_bytes = 4  # reductions work on floats
    largest_bytes = 2**20

    def measure(self, collectives: tuple[str, ...]) -> None:
        """The benchmarks with computation, and those without (``_pure``)."""
        self.names = tuple(name for each in collectives for name in (each, f"{each}_pure"))
        exchanges = any(name.startswith(("Iall", "Ialltoall")) for name in collectives)
        self.limit_seconds = scaled_limit(self.limit_seconds, self.ranks, exchanges=exchanges)


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
