# SPDX-License-Identifier: Apache-2.0
"""The project's own micro-benchmarks: every sample kept, on every lane."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.core.launch import Expected, joined_case

from .base import SizedBenchmark
from .base.cores import most_processors

SYNCS = ("lock", "fence", "post-start")
SIDES = ("sender", "receiver")
SHARES = (100, 75, 50, 25, 0)
QUEUED = (0, 1, 16, 256, 1024, 4096)
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
WINDOWS = (1, 16, 64)
SELDOM = {"standard", "acceptance"}


class Micro(SizedBenchmark):
    """``fabricbench-micro``: ``metrics`` at every size and in every case, those of ``rates`` at sizes above 0."""

    tool = "micro"
    iterations = variable(int, value=500)
    metrics: tuple[str, ...] = ("latency",)
    rates: tuple[str, ...] = ()
    paired = True

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-micro"

    def arguments(self) -> list[str]:
        sizes = ",".join(str(size) for size in self.sizes())
        return [self.benchmark, "--sizes", sizes, "--iterations", str(self.iterations), *self.options()]

    def options(self) -> list[str]:
        """What the benchmark is told beside that."""
        return []

    def cases(self) -> Iterator[str]:
        """The cases of a launch as the benchmark varies them."""
        yield ""

    def expected(self) -> Iterator[Expected]:
        full = tuple(size for size in self.sizes() if size)
        pairs = {"pairs": self.ranks // 2} if self.paired and self.ranks > 2 else {}
        for case in (joined_case({**self.case, **pairs}, case) for case in self.cases()):
            for metrics, sizes in ((self.metrics, self.sizes()), (self.rates, full)):
                for metric in metrics:
                    yield Expected(benchmark=self.benchmark, case=case, metric=metric, msg_sizes_bytes=sizes)


@rfm.simple_test
class MicroPingpong(Micro):
    descr = "half round trip of a blocking ping-pong between two ranks"
    benchmark = "pingpong"
    metrics = ("latency", "latency_mean")
    rates = ("bandwidth",)


@rfm.simple_test
class MicroWindow(Micro):
    descr = "windows of non-blocking messages, one way or both ways at once"
    tags = SELDOM
    pattern = parameter(["unidirectional", "bidirectional", "bothway"], loggable=True)
    largest_bytes = 2**20
    metrics = ("message_rate",)
    rates = ("bandwidth", "bandwidth_mean")

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.pattern

    def options(self) -> list[str]:
        return ["--window", ",".join(map(str, WINDOWS))]

    def cases(self) -> Iterator[str]:
        yield from (f"window={count}" for count in WINDOWS)


@rfm.simple_test
class MicroOneSided(Micro):
    descr = "one-sided transfers, with every way of synchronising"
    tags = SELDOM
    operation = parameter(["put", "get"], loggable=True)
    largest_bytes = 2**20
    step = 2
    iterations = 200
    metrics = ("latency", "latency_mean", "message_rate")
    rates = ("bandwidth",)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.operation

    def cases(self) -> Iterator[str]:
        yield from (f"sync={sync}" for sync in SYNCS)


@rfm.simple_test
class MicroCollective(Micro):
    """One collective a launch, as with IMB: none of them hides another."""

    descr = "a blocking collective, every rank's time"
    paired = False
    tags = SELDOM
    collective = parameter(
        ["allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter"], loggable=True
    )
    smallest_bytes = 4  # reductions work on floats
    largest_bytes = 2**20
    iterations = 200
    metrics = ("time", "time_min", "time_max")

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.collective


@rfm.simple_test
class MicroBarrier(Micro):
    descr = "a barrier, every rank's time"
    tags = SELDOM
    benchmark = "barrier"
    messages = parameter(["small"])

    def arguments(self) -> list[str]:
        return [self.benchmark, "--iterations", str(self.iterations)]

    def expected(self) -> Iterator[Expected]:
        for metric in ("time", "time_min", "time_max"):
            yield Expected(benchmark=self.benchmark, metric=metric)


@rfm.simple_test
class MicroPlogp(Micro):
    descr = "the parameters of P-LogP, from which LogGP's follow"
    tags = SELDOM
    benchmark = "plogp"
    iterations = 200
    metrics = ("round_trip", "send_overhead", "receive_overhead", "gap")


@rfm.simple_test
class MicroReuse(Micro):
    descr = "ping-pong over 1024 buffers, some of them used again"
    tags = SELDOM
    benchmark = "reuse"
    largest_bytes = 2**20
    step = 2
    iterations = 200
    metrics = ("latency", "latency_ratio")

    def options(self) -> list[str]:
        return ["--reuse", ",".join(map(str, SHARES))]

    def cases(self) -> Iterator[str]:
        yield from (f"reuse={share}" for share in SHARES)


@rfm.simple_test
class MicroQueue(Micro):
    descr = "ping-pong past long queues of unexpected messages or posted receives"
    tags = SELDOM
    queue = parameter(["unexpected", "posted"], loggable=True)
    largest_bytes = 2**18
    step = 3
    iterations = 100
    metrics = ("latency", "latency_ratio")

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.queue

    def options(self) -> list[str]:
        return ["--queued", ",".join(map(str, QUEUED))]

    def cases(self) -> Iterator[str]:
        tags = ("equal", "different", "wildcard") if self.benchmark == "posted" else ("equal", "different")
        yield from (f"queued={queued} tags={tag}" for queued in QUEUED for tag in tags)


@rfm.simple_test
class MicroConnections(Micro):
    descr = "many connections of one pair at once"
    tags = SELDOM
    benchmark = "multiconn"
    largest_bytes = 2**17
    step = 3
    iterations = 50
    metrics = ("normalised_latency", "message_rate")
    rates = ("bandwidth",)

    def options(self) -> list[str]:
        return ["--connections", ",".join(map(str, CONNECTIONS))]

    def cases(self) -> Iterator[str]:
        yield from (f"connections={count}" for count in CONNECTIONS)


@rfm.simple_test
class MicroOverlap(Micro):
    descr = "computation beside a transfer: what is hidden"
    tags = SELDOM
    beside = parameter(["overlap", "progress"], loggable=True)
    step = 2
    iterations = 100

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.beside
        self.metrics = ("overlap",) if self.beside == "overlap" else ("progress", "progress_tested")

    def cases(self) -> Iterator[str]:
        yield from (f"side={side}" for side in SIDES)


@rfm.simple_test
class MicroHotspot(Micro):
    descr = "all ranks to one at once"
    paired = False
    tags = SELDOM
    benchmark = "hotspot"
    largest_bytes = 2**20
    step = 2
    iterations = 200
    metrics = ("latency", "message_rate")
    rates = ("bandwidth",)

    @run_after("init")
    def fill_the_node(self) -> None:
        self.ranks = max(self.ranks, most_processors())
