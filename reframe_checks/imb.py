# SPDX-License-Identifier: Apache-2.0
"""The Intel MPI Benchmarks, the real IMB-MPI1, wherever the stack can run it."""

from collections.abc import Iterator
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_before, variable

from fabricbench.core.launch import Expected

from .base import SizedBenchmark

TIMES = ("time", "time_min", "time_max")
METRICS = {
    "PingPong": ("latency", "bandwidth"),
    "Sendrecv": (*TIMES, "exchange_bandwidth"),
    "Exchange": (*TIMES, "exchange_bandwidth"),
}


class Imb(SizedBenchmark):
    """IMB-MPI1, its repetitions bounded by number and by volume."""

    tool = "imb"
    repetitions = variable(int, value=400)
    volume_mib = variable(int, value=16)
    sized: tuple[str, ...] = ()
    unsized: tuple[str, ...] = ()

    def benchmark_gap(self) -> tuple[str, str] | None:
        if self.installed.imb is None:
            stack = self.stack_facts["stack"]
            return f"no IMB-MPI1 runs on this {stack}", f"spack install intel-mpi-benchmarks ^{stack}"
        return None

    def program(self) -> str:
        return str(self.installed.imb)

    def arguments(self) -> list[str]:
        names = [*self.sized, *(self.unsized if self.messages == "small" else ())]
        bounds = ["-iter", f"{self.repetitions},{self.volume_mib}"]
        return [*names, "-npmin", str(self.ranks), "-msglen", f"{self.stagedir}/sizes", *bounds]

    @run_before("run")
    def write_sizes(self) -> None:
        Path(self.stagedir, "sizes").write_text("".join(f"{size}\n" for size in self.sizes()))

    def expected(self) -> Iterator[Expected]:
        for name in self.sized:
            for metric in METRICS.get(name, TIMES):
                sizes = tuple(size for size in self.sizes() if size or "bandwidth" not in metric)
                yield Expected(benchmark=name.lower(), metric=metric, msg_sizes_bytes=sizes)
        for name in self.unsized if self.messages == "small" else ():
            for metric in TIMES:
                yield Expected(benchmark=name.lower(), metric=metric)


@rfm.simple_test
class ImbPointToPoint(Imb):
    descr = "IMB-MPI1 PingPong, Sendrecv, Exchange"
    benchmark = "pt2pt"
    sized = ("PingPong", "Sendrecv", "Exchange")


@rfm.simple_test
class ImbCollectives(Imb):
    descr = "IMB-MPI1 Allreduce, Alltoall, Bcast, Allgather, Barrier"
    benchmark = "collectives"
    smallest_bytes = 4  # allreduce works on floats
    largest_bytes = 2**20
    sized = ("Allreduce", "Alltoall", "Bcast", "Allgather")
    unsized = ("Barrier",)
