# SPDX-License-Identifier: Apache-2.0
"""The micro-benchmarks of this project, on every lane. They keep every sample."""

from collections.abc import Iterator
from dataclasses import replace

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected, OmittedSizes, joined_case
from fabricbench.parsers.tools.micro.description import MEASURED
from fabricbench.parsers.tools.micro.description import Benchmark as Described
from fabricbench.site.scale import COLLECTIVE, RANK_PAIRS, Breadth, ScaleRule

from .base import SELDOM, SizedBenchmark, scales
from .base.cores import SHARE_OF_MEMORY, node_memory
from .base.launchers import per_node
from .base.scale import scaled_limit

MOST_TO_ONE = 1024
"""The most ranks of a hot spot; with more, the target needs minutes and too much memory."""
HOT_SPOT = replace(COLLECTIVE, most_ranks=MOST_TO_ONE)
CONNECTIONS = MEASURED["multiconn"].default_amounts
MAIN_COLLECTIVES = ["allgather", "allreduce", "alltoall", "bcast"]
FURTHER_COLLECTIVES = ["gather", "reduce", "reduce_scatter", "scatter"]
COLLECTIVES = [*MAIN_COLLECTIVES, *FURTHER_COLLECTIVES]
EXCHANGES = ("allgather", "alltoall")
"""The collectives in which every rank receives something from every other."""


class Micro(SizedBenchmark):
    """A benchmark of ``fabricbench-micro``: its record defines the metrics and cases that it reports."""

    tool = "micro"
    iterations = variable(int, value=500)

    @property
    def amounts(self) -> tuple[int, ...]:
        """The values of the benchmark's amount, such as the lengths of a queue: by default those of the record."""
        return self.described.default_amounts

    @property
    def described(self) -> Described:
        """The record of the benchmark."""
        return MEASURED[self.benchmark]

    @property
    def scale_rule(self) -> ScaleRule:
        return RANK_PAIRS if self.described.ranks == "pairs" else COLLECTIVE

    def sizes(self) -> tuple[int, ...]:
        return tuple(size for size in super().sizes() if size % self.described.size_unit == 0)

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-micro"

    def arguments(self) -> list[str]:
        sizes = ["--sizes", ",".join(str(size) for size in self.sizes())] if self.described.sized else []
        return [self.benchmark, *sizes, "--iterations", str(self.iterations), *self.options()]

    def options(self) -> list[str]:
        """Returns further options of the benchmark."""
        amount = self.described.amount
        return [f"--{amount.key}", ",".join(map(str, self.amounts))] if amount else []

    def cases(self) -> Iterator[str]:
        """Yields the cases of a launch, as the benchmark writes them."""
        yield from self.described.cases(self.amounts)

    def expected(self) -> Iterator[Expected]:
        pairs = {"pairs": self.ranks // 2} if self.described.ranks == "pairs" and self.ranks > 2 else {}
        for case in (joined_case({**self.case, **pairs}, case) for case in self.cases()):
            for metric in self.described.metrics:
                sizes = self.full_sizes() if metric.bandwidth else self.sizes()
                sizes = sizes if self.described.sized else ()
                yield Expected(benchmark=self.benchmark, case=case, metric=metric.name, msg_sizes_bytes=sizes)


@rfm.simple_test
class MicroPingpong(Micro):
    descr = "half round trip of a blocking ping-pong between two ranks"
    benchmark = "pingpong"


@rfm.simple_test
class MicroWindow(Micro):
    descr = "windows of non-blocking messages, one way or both ways at once"
    tags = SELDOM
    pattern = parameter(["unidirectional", "bidirectional", "bothway"], loggable=True)
    largest_bytes = 2**20
    amounts = (1, 16, 64)

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

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.operation


class AnyCollective(Micro):
    """One collective per launch, so that attestation notices a collective that uses another transport."""

    descr = "a blocking collective, every rank's time"
    tags = SELDOM
    collective = parameter(COLLECTIVES, loggable=True)
    smallest_bytes = max(MEASURED[name].size_unit for name in COLLECTIVES)  # the same sizes for all collectives
    largest_bytes = 2**20
    iterations = 200

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.collective
        self.limit_seconds = scaled_limit(self.limit_seconds, self.ranks, exchanges=self.collective in EXCHANGES)

    @property
    def scale_rule(self) -> ScaleRule:
        return COLLECTIVE

    @property
    def largest_fitting_bytes(self) -> int:
        """The largest message that fits into the memory of a node."""
        room = SHARE_OF_MEMORY * node_memory(self.current_partition).bytes
        return int(room / self.described.held_by(self.ranks) / per_node(self.ranks, self.nodes))

    def sizes(self) -> tuple[int, ...]:
        return tuple(size for size in super().sizes() if size <= self.largest_fitting_bytes)

    def omitted_sizes(self) -> OmittedSizes | None:
        sizes = tuple(size for size in super().sizes() if size > self.largest_fitting_bytes)
        return OmittedSizes(msg_sizes_bytes=sizes, reason=self.why_too_large(sizes[0])) if sizes else None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if not self.full_sizes() and (omitted := self.omitted_sizes()):
            return omitted.reason, "use fewer ranks"
        return super().benchmark_skip()

    def why_too_large(self, size: int) -> str:
        """Returns the reason why messages of ``size`` bytes do not fit into a node."""
        required = self.described.held_by(self.ranks) * per_node(self.ranks, self.nodes) * size
        memory = node_memory(self.current_partition).megabytes
        return f"{size} B for {self.ranks} ranks take {required / 1e6:.0f} MB of a node, which has {memory}"


@rfm.simple_test
class MicroCollective(AnyCollective):
    """The collectives that applications use most, at every scale of the tier."""

    collective = parameter(MAIN_COLLECTIVES, loggable=True)
    at = parameter(scales(COLLECTIVE), loggable=True)


@rfm.simple_test
class MicroFurtherCollective(AnyCollective):
    """The other collectives, at the smallest and at the largest scale of the tier."""

    collective = parameter(FURTHER_COLLECTIVES, loggable=True)
    breadth: Breadth = "ends"
    at = parameter(scales(COLLECTIVE, "ends"), loggable=True)


@rfm.simple_test
class MicroBarrier(Micro):
    descr = "a barrier, every rank's time"
    at = parameter(scales(COLLECTIVE), loggable=True)
    tags = SELDOM
    benchmark = "barrier"
    messages = parameter(["small"])


@rfm.simple_test
class MicroPlogp(Micro):
    descr = "the parameters of P-LogP, from which those of LogGP are derived"
    tags = SELDOM
    benchmark = "plogp"
    iterations = 200


@rfm.simple_test
class MicroReuse(Micro):
    descr = "ping-pong over 1024 buffers, of which a part is reused"
    tags = SELDOM
    benchmark = "reuse"
    largest_bytes = 2**20
    step = 2
    iterations = 200


@rfm.simple_test
class MicroQueue(Micro):
    descr = "ping-pong with long queues of unexpected messages or posted receives"
    tags = SELDOM
    queue = parameter(["unexpected", "posted"], loggable=True)
    largest_bytes = 2**18
    step = 3
    iterations = 100
    amounts = (0, 1, 16, 256, 1024, 4096)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.queue


@rfm.simple_test
class MicroConnections(Micro):
    descr = "many connections of one rank pair at once"
    tags = SELDOM
    benchmark = "multiconn"
    largest_bytes = 2**17
    step = 3
    iterations = 50


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


@rfm.simple_test
class MicroHotspot(Micro):
    descr = "all ranks send to one rank at once"
    tags = SELDOM
    benchmark = "hotspot"
    largest_bytes = 2**20
    step = 2
    iterations = 200
    breadth: Breadth = "ends"
    at = parameter(scales(HOT_SPOT, "ends"), loggable=True)

    @property
    def scale_rule(self) -> ScaleRule:
        return HOT_SPOT
