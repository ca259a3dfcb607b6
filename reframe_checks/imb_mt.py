# SPDX-License-Identifier: Apache-2.0
"""IMB-MT of the Intel MPI Benchmarks, in which several threads of each rank communicate at once."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_mt import TABLES

from .base import SELDOM
from .base.cores import most_processors
from .base.imb import Imb
from .base.threads import ThreadsMixin

MOST_THREADS = 4
WINDOW = 64


class ImbMt(ThreadsMixin, Imb):
    """The base of the leaves below.

    ``threads`` is the number of threads of each rank; 0 stands for one per core, at most four. One thread shows the
    cost of MPI_THREAD_MULTIPLE alone.
    """

    tool = "imb_mt"
    suite = "IMB-MT"
    tables = TABLES
    tags = SELDOM
    threads = 0
    largest_bytes = 2**20

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        if self.installed.imb_mt_problem:
            stack = self.stack.name
            hint = f"use a {stack} with MPI_THREAD_MULTIPLE, then run: fabricbench setup --again {stack}"
            return f"IMB-MT does not run on this {stack}: {self.installed.imb_mt_problem}", hint
        return None

    @run_after("init")
    def choose_threads(self) -> None:
        self.threads = self.threads or min(MOST_THREADS, max(1, most_processors() // self.ranks))
        self.case = {**self.case, "threads": self.threads}

    def arguments(self) -> list[str]:
        sizes = ",".join(map(str, self.sizes()))
        counts = ["-count", sizes, "-repeat", str(self.count), "-warmup", str(self.count // 10)]
        return [*self.names, "-thread_level", "multiple", "-datatype", "char", *counts]


@rfm.simple_test
class ImbMtPointToPoint(ImbMt):
    descr = "IMB-MT PingPongMT, PingPingMT, SendRecvMT, ExchangeMT"
    benchmark = "pt2pt"
    names = ("PingPongMT", "PingPingMT", "SendRecvMT", "ExchangeMT")


@rfm.simple_test
class ImbMtWindows(ImbMt):
    descr = "IMB-MT UniBandMT, BiBandMT"
    benchmark = "windows"
    names = ("UniBandMT", "BiBandMT")
    case = {"window": WINDOW}
    repetitions = 20
    large_repetitions = 4

    def arguments(self) -> list[str]:
        return [*super().arguments(), "-window_size", str(WINDOW)]


@rfm.simple_test
class ImbMtCollective(ImbMt):
    """Three collectives in one launch. Each moves at least a quarter of the payload, so attestation notices if one of
    them uses another transport."""

    descr = "IMB-MT BcastMT, ReduceMT, AllReduceMT"
    benchmark = "collectives"
    names = ("BcastMT", "ReduceMT", "AllReduceMT")


@rfm.simple_test
class ImbMtBarrier(ImbMt):
    descr = "IMB-MT BarrierMT"
    benchmark = "barriermt"
    messages = parameter(["small"])
    names = ("BarrierMT",)
