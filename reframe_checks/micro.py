# SPDX-License-Identifier: Apache-2.0
"""The micro-benchmarks of this project, on every lane. They keep every sample."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected, LeftOut, joined_case

from .base import SELDOM, SizedBenchmark
from .base.cores import SHARE_OF_MEMORY, node_memory_bytes, processors
from .base.launchers import per_node

MOST_TO_ONE = 1024
"""The most ranks of a hot spot; with more, the target needs minutes and too much memory."""
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Micro(SizedBenchmark):
    """One benchmark of ``fabricbench-micro``.

    It measures ``metrics`` at every size, and ``rates`` at sizes above 0. ``varied`` is an option and its values; each
    value is a case. ``paired`` says that the ranks form pairs.
    """

    tool = "micro"
    iterations = variable(int, value=500)
    metrics: tuple[str, ...] = ("latency",)
    rates: tuple[str, ...] = ()
    varied: tuple[str, tuple[int, ...]] | None = None
    paired = True

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-micro"

    def arguments(self) -> list[str]:
        sizes = ",".join(str(size) for size in self.sizes())
        return [self.benchmark, "--sizes", sizes, "--iterations", str(self.iterations), *self.options()]

    def options(self) -> list[str]:
        """Returns further options of the benchmark."""
        if self.varied is None:
            return []
        option, values = self.varied
        return [f"--{option}", ",".join(map(str, values))]

    def cases(self) -> Iterator[str]:
        """Yields the cases of a launch, as the benchmark writes them."""
        if self.varied is None:
            yield ""
            return
        option, values = self.varied
        yield from (f"{option}={value}" for value in values)

    def expected(self) -> Iterator[Expected]:
        pairs = {"pairs": self.ranks // 2} if self.paired and self.ranks > 2 else {}
        for case in (joined_case({**self.case, **pairs}, case) for case in self.cases()):
            for metrics, sizes in ((self.metrics, self.sizes()), (self.rates, self.full_sizes())):
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
    varied = ("window", (1, 16, 64))

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.pattern


@rfm.simple_test
class MicroOneSided(Micro):
    descr = "one-sided transfers, with each kind of synchronisation"
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
        yield from ("sync=lock", "sync=fence", "sync=post-start")


@rfm.simple_test
class MicroCollective(Micro):
    """One collective per launch, so that attestation notices a collective that uses another transport."""

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

    @property
    def blocks(self) -> int:
        """Number of messages that a rank holds at once (``apps/micro/benchmarks/collectives.cpp``)."""
        sent_on = {"allreduce": 2, "bcast": 2, "reduce": 2, "alltoall": 2 * self.ranks}
        return int(sent_on.get(self.collective, self.ranks + 1))

    @property
    def largest_fitting_bytes(self) -> int:
        """The largest message that fits into the memory of a node."""
        room = SHARE_OF_MEMORY * node_memory_bytes(self.current_partition)
        return int(room / self.blocks / per_node(self.ranks, self.nodes))

    def sizes(self) -> tuple[int, ...]:
        return tuple(size for size in super().sizes() if size <= self.largest_fitting_bytes)

    def left_out(self) -> LeftOut | None:
        sizes = tuple(size for size in super().sizes() if size > self.largest_fitting_bytes)
        return LeftOut(msg_sizes_bytes=sizes, reason=self.why_too_large(sizes[0])) if sizes else None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.full_sizes():
            return super().benchmark_skip()
        return self.why_too_large(next(size for size in super().sizes() if size)), "use fewer ranks"

    def why_too_large(self, size: int) -> str:
        """Returns the reason why messages of ``size`` bytes do not fit into a node."""
        held = self.blocks * per_node(self.ranks, self.nodes) * size
        memory = node_memory_bytes(self.current_partition)
        return f"{size} B for {self.ranks} ranks take {held / 1e6:.0f} MB of a node, which has {memory / 1e6:.0f} MB"


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
    descr = "the parameters of P-LogP, from which those of LogGP are derived"
    tags = SELDOM
    benchmark = "plogp"
    iterations = 200
    metrics = ("round_trip", "send_overhead", "receive_overhead", "gap")


@rfm.simple_test
class MicroReuse(Micro):
    descr = "ping-pong over 1024 buffers, of which a part is reused"
    tags = SELDOM
    benchmark = "reuse"
    largest_bytes = 2**20
    step = 2
    iterations = 200
    metrics = ("latency", "latency_ratio")
    varied = ("reuse", (100, 75, 50, 25, 0))


@rfm.simple_test
class MicroQueue(Micro):
    descr = "ping-pong with long queues of unexpected messages or posted receives"
    tags = SELDOM
    queue = parameter(["unexpected", "posted"], loggable=True)
    largest_bytes = 2**18
    step = 3
    iterations = 100
    metrics = ("latency", "latency_ratio")
    varied = ("queued", (0, 1, 16, 256, 1024, 4096))

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.queue

    def cases(self) -> Iterator[str]:
        tags = ("equal", "different", "wildcard") if self.benchmark == "posted" else ("equal", "different")
        yield from (f"{case} tags={tag}" for case in super().cases() for tag in tags)


@rfm.simple_test
class MicroConnections(Micro):
    descr = "many connections of one rank pair at once"
    tags = SELDOM
    benchmark = "multiconn"
    largest_bytes = 2**17
    step = 3
    iterations = 50
    metrics = ("normalised_latency", "message_rate")
    rates = ("bandwidth",)
    varied = ("connections", CONNECTIONS)


@rfm.simple_test
class MicroOverlap(Micro):
    descr = "computation during a transfer, and how much of the transfer it hides"
    tags = SELDOM
    beside = parameter(["overlap", "progress"], loggable=True)
    step = 2
    iterations = 100

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.beside
        self.metrics = ("overlap",) if self.beside == "overlap" else ("progress", "progress_tested")

    def cases(self) -> Iterator[str]:
        yield from ("side=sender", "side=receiver")


@rfm.simple_test
class MicroHotspot(Micro):
    descr = "all ranks send to one rank at once"
    paired = False
    tags = SELDOM
    benchmark = "hotspot"
    largest_bytes = 2**20
    step = 2
    iterations = 200
    metrics = ("latency", "message_rate")
    rates = ("bandwidth",)

    def adapt_to_lane(self) -> None:
        self.ranks = max(self.ranks, min(MOST_TO_ONE, processors(self.current_partition)))
