# SPDX-License-Identifier: Apache-2.0
"""The project's own micro-benchmarks: every sample kept, on every lane."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import variable

from fabricbench.core.launch import Expected

from .base import SizedBenchmark


class Micro(SizedBenchmark):
    """``fabricbench-micro``: latencies from every sample, bandwidth from their median."""

    tool = "micro"
    iterations = variable(int, value=500)

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-micro"

    def arguments(self) -> list[str]:
        sizes = ",".join(str(size) for size in self.sizes())
        return [self.benchmark, "--sizes", sizes, "--iterations", str(self.iterations)]

    def expected(self) -> Iterator[Expected]:
        for metric in ("latency", "latency_mean"):
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())
        sizes = tuple(size for size in self.sizes() if size)
        yield Expected(benchmark=self.benchmark, metric="bandwidth", msg_sizes_bytes=sizes)


@rfm.simple_test
class MicroPingpong(Micro):
    descr = "half round trip of a blocking ping-pong between two ranks"
    benchmark = "pingpong"
