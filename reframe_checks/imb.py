# SPDX-License-Identifier: Apache-2.0
"""IMB-MPI1 of the Intel MPI Benchmarks, on every stack that can run it."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb import TABLES
from fabricbench.site.scale import COLLECTIVE, Breadth

from .base import SELDOM, scales
from .base.imb import Imb
from .base.scale import scaled_limit

EXCHANGES = ("Alltoall", "Alltoallv", "Allgather", "Allgatherv")
"""The collectives in which every rank receives something from every other."""


class ImbMpi1(Imb):
    """The base of the leaves below."""

    tool = "imb"
    suite = "IMB-MPI1"
    tables = TABLES
    repetitions = 200
    large_repetitions = 20


@rfm.simple_test
class ImbPointToPoint(ImbMpi1):
    descr = "IMB-MPI1 PingPong, Sendrecv, Exchange"
    benchmark = "pt2pt"
    names = ("PingPong", "Sendrecv", "Exchange")


@rfm.simple_test
class ImbPairs(ImbMpi1):
    descr = "IMB-MPI1 PingPing, and PingPong and PingPing with a named source or any source"
    benchmark = "pairs"
    tags = SELDOM
    names = (
        *("PingPongSpecificSource", "PingPongAnySource"),
        *("PingPing", "PingPingSpecificSource", "PingPingAnySource"),
    )
    repetitions = 200
    large_repetitions = 20  # up to 4 MiB


@rfm.simple_test
class ImbWindows(ImbMpi1):
    """A launch of their own: messages of a window may share segments, so only their bytes can be attested."""

    descr = "IMB-MPI1 Uniband, Biband"
    benchmark = "windows"
    tags = SELDOM
    names = ("Uniband", "Biband")
    case = {"window": 64}
    repetitions = 20
    large_repetitions = 4
    largest_bytes = 2**20

    def arguments(self) -> list[str]:
        return [*super().arguments(), "-window_size", str(self.case["window"])]


class AnyCollective(ImbMpi1):
    """One collective per launch, so that attestation notices a collective that uses another transport."""

    collective = parameter(loggable=True)
    smallest_bytes = 4  # allreduce works on floats
    largest_bytes = 2**20

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.collective.lower()
        self.names = (self.collective,)
        self.limit_seconds = scaled_limit(self.limit_seconds, self.ranks, exchanges=self.collective in EXCHANGES)


@rfm.simple_test
class ImbCollective(AnyCollective):
    """The collectives that applications use most, at every scale of the tier."""

    descr = "an IMB-MPI1 collective"
    collective = parameter(["Allreduce", "Alltoall", "Bcast", "Allgather"], loggable=True)
    at = parameter(scales(COLLECTIVE), loggable=True)


@rfm.simple_test
class ImbFurtherCollective(AnyCollective):
    """The other collectives, at the smallest and at the largest scale of the tier."""

    descr = "an IMB-MPI1 collective that is not in the quick tier"
    tags = SELDOM
    breadth: Breadth = "ends"
    at = parameter(scales(COLLECTIVE, "ends"), loggable=True)
    collective = parameter(
        [
            *("Allgatherv", "Alltoallv", "Gather", "Gatherv", "Scatter", "Scatterv"),
            *("Reduce", "Reduce_scatter", "Reduce_scatter_block"),
        ],
        loggable=True,
    )
    repetitions = 200
    large_repetitions = 20


@rfm.simple_test
class ImbReduceLocal(ImbMpi1):
    """The reduction without communication; only the barriers in between can be attested."""

    descr = "IMB-MPI1 Reduce_local"
    benchmark = "reduce_local"
    tags = SELDOM
    messages = parameter([None])
    names = ("Reduce_local",)
    smallest_bytes = 4
    largest_bytes = 2**20


@rfm.simple_test
class ImbBarrier(ImbMpi1):
    descr = "IMB-MPI1 Barrier"
    benchmark = "barrier"
    at = parameter(scales(COLLECTIVE), loggable=True)
    messages = parameter(["small"])
    names = ("Barrier",)
