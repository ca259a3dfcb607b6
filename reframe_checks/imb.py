# SPDX-License-Identifier: Apache-2.0
"""IMB-MPI1 of the Intel MPI Benchmarks, the real one, wherever the stack can run it."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb import TABLES

from .base import SELDOM
from .base.imb import Imb


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
    descr = "IMB-MPI1 PingPing, and PingPong and PingPing that name their source or take any"
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
    """On their own: messages of a window may share segments, so that mostly bytes attest them."""

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


@rfm.simple_test
class ImbCollective(ImbMpi1):
    """One collective a launch: a stack may send one of them another way than the rest, which must not hide it."""

    descr = "an IMB-MPI1 collective"
    collective = parameter(["Allreduce", "Alltoall", "Bcast", "Allgather"], loggable=True)
    smallest_bytes = 4  # allreduce works on floats
    largest_bytes = 2**20

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.collective.lower()
        self.names = (self.collective,)


@rfm.simple_test
class ImbFurtherCollective(ImbCollective):
    descr = "an IMB-MPI1 collective beyond the quick tier's"
    tags = SELDOM
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
    """The reduction alone, without communication: the barriers between are all that can be attested."""

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
    messages = parameter(["small"])
    names = ("Barrier",)
