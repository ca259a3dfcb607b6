# SPDX-License-Identifier: Apache-2.0
"""The Intel MPI Benchmarks, the real IMB-MPI1, wherever the stack can run it."""

from collections.abc import Iterator
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, variable

from fabricbench.core.launch import Expected

from .base import SizedBenchmark

TIMES = ("time", "time_min", "time_max")
METRICS = {
    "PingPong": ("latency", "bandwidth"),
    "Sendrecv": (*TIMES, "exchange_bandwidth"),
    "Exchange": (*TIMES, "exchange_bandwidth"),
}


class Imb(SizedBenchmark):
    """IMB-MPI1 with a fixed number of repetitions, so that the bytes that it moves are known."""

    tool = "imb"
    repetitions = variable(int, value=400)
    large_repetitions = variable(int, value=40)
    names: tuple[str, ...] = ()

    def benchmark_gap(self) -> tuple[str, str] | None:
        if self.installed.imb is None:
            stack = self.stack_facts["stack"]
            return f"no IMB-MPI1 runs on this {stack}", f"spack install intel-mpi-benchmarks ^{stack}"
        return None

    def program(self) -> str:
        return str(self.installed.imb)

    def arguments(self) -> list[str]:
        repetitions = self.large_repetitions if self.messages == "large" else self.repetitions
        bounds = ["-iter", str(repetitions), "-iter_policy", "off"]
        return [*self.names, "-npmin", str(self.ranks), "-msglen", f"{self.stagedir}/sizes", *bounds]

    @run_before("run")
    def write_sizes(self) -> None:
        Path(self.stagedir, "sizes").write_text("".join(f"{size}\n" for size in self.sizes()))

    def expected(self) -> Iterator[Expected]:
        for name in self.names:
            for metric in METRICS.get(name, TIMES):
                sizes = tuple(size for size in self.sizes() if size or "bandwidth" not in metric)
                yield Expected(benchmark=name.lower(), metric=metric, msg_sizes_bytes=sizes)


@rfm.simple_test
class ImbPointToPoint(Imb):
    descr = "IMB-MPI1 PingPong, Sendrecv, Exchange"
    benchmark = "pt2pt"
    names = ("PingPong", "Sendrecv", "Exchange")
    large_repetitions = 20  # up to 4 MiB


@rfm.simple_test
class ImbCollective(Imb):
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
class ImbBarrier(Imb):
    descr = "IMB-MPI1 Barrier"
    benchmark = "barrier"
    messages = parameter(["small"])
    names = ("Barrier",)

    def expected(self) -> Iterator[Expected]:
        for metric in TIMES:
            yield Expected(benchmark=self.benchmark, metric=metric)
