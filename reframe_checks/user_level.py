# SPDX-License-Identifier: Apache-2.0
"""Libraries below MPI: send and receive, RDMA write and read, and atomics, by the benchmarks of each library."""

from collections.abc import Iterator

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected
from fabricbench.parsers.tools import perftest, ucx_perftest

from .base import ClientServerBenchmark, SizedClientServerBenchmark, SizedMixin
from .micro import CONNECTIONS

WARMUP = 10
"""As in UCX's handshake in site/stacks.py: its processes synchronise at every doubling of the warm-up."""


@rfm.simple_test
class FiPingpong(SizedClientServerBenchmark):
    descr = "libfabric's fi_pingpong: half round trip on reliable datagrams"
    tool = program_name = "fi_pingpong"
    benchmark = "pingpong"
    records_lane_skip = True
    iterations = variable(int, value=500)
    large_iterations = variable(int, value=20)

    def sizes(self) -> tuple[int, ...]:
        """Returns 0 and the powers of four: each size starts libfabric again, which takes long."""
        return tuple(size for size in super().sizes() if size.bit_length() % 2 or not size)

    def _both(self) -> list[str]:
        count = self.large_iterations if self.messages == "large" else self.iterations
        return ["-e", "rdm", "-I", str(count), "-S", "{value}"]

    def server_arguments(self) -> list[str]:
        return [*self._both(), "-B", "{port}"]

    def client_arguments(self) -> list[str]:
        return [*self._both(), "-P", "{port}", self.address]

    def expected(self) -> Iterator[Expected]:
        yield Expected(benchmark="pingpong", metric="latency", msg_sizes_bytes=self.sizes())
        yield Expected(benchmark="pingpong", metric="bandwidth", msg_sizes_bytes=self.full_sizes())


@rfm.simple_test
class LibfabricConnections(SizedMixin, ClientServerBenchmark):
    """The benchmark of ``MicroConnections`` with endpoints in place of communicators, between two processes."""

    descr = "many connections at once, each a pair of libfabric endpoints"
    tool = "micro"
    benchmark = "multiconn"
    program_name = "fabricbench-endpoints"
    largest_bytes = 2**17
    step = 3
    iterations = variable(int, value=50)
    connections = variable(typ.List[int], value=list(CONNECTIONS))

    def benchmark_skip(self) -> tuple[str, str] | None:
        if super().benchmark_skip() is None:
            return None
        hint = "on Debian: apt-get install libfabric-dev, then: fabricbench setup --again libfabric"
        return f"{self.program_name} was not built because libfabric's headers were missing", hint

    def _both(self) -> list[str]:
        sizes, numbers = (",".join(map(str, values)) for values in (self.sizes(), self.connections))
        return ["--sizes", sizes, "--iterations", str(self.iterations), "--connections", numbers]

    def server_arguments(self) -> list[str]:
        return ["listen", self.address, "{port}", *self._both()]

    def client_arguments(self) -> list[str]:
        return ["connect", self.address, "{port}", *self._both()]

    def expected(self) -> Iterator[Expected]:
        for case in (f"connections={count}" for count in self.connections):
            for metric in ("normalised_latency", "message_rate", "bandwidth"):
                sizes = self.full_sizes() if metric == "bandwidth" else self.sizes()
                yield Expected(benchmark=self.benchmark, case=case, metric=metric, msg_sizes_bytes=sizes)


class Ucx(SizedClientServerBenchmark):
    """``ucx_perftest`` on UCP, with the transports in the lane's ``UCX_TLS``."""

    tool = program_name = "ucx_perftest"
    test = parameter(list(ucx_perftest.TESTS), loggable=True)
    iterations = variable(int, value=500)
    large_iterations = variable(int, value=20)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = ucx_perftest.TESTS[self.test].benchmark

    def server_arguments(self) -> list[str]:
        return ["-p", "{port}"]

    def client_arguments(self) -> list[str]:
        count = self.large_iterations if self.message_class == "large" else self.iterations
        how_many = ["-n", str(count), "-w", str(WARMUP)]
        return ["-t", self.test, *how_many, "-s", "{value}", "-f", "-v", "-p", "{port}", self.address]

    def expected(self) -> Iterator[Expected]:
        for metric in ucx_perftest.TESTS[self.test].metrics:
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())


@rfm.simple_test
class UcxPerftest(Ucx):
    descr = "UCX: send and receive, put, get"
    test = parameter([name for name, test in ucx_perftest.TESTS.items() if not test.atomic], loggable=True)

    @property
    def records_lane_skip(self) -> bool:
        return bool(self.test == "tag_lat")

    @run_after("init")
    def choose_sizes(self) -> None:
        # An empty put or get moves no data.
        self.empty = self.test == "tag_lat"


@rfm.simple_test
class UcxAtomic(Ucx):
    descr = "UCX: atomics on 8 bytes of the peer"
    test = parameter([name for name, test in ucx_perftest.TESTS.items() if test.atomic], loggable=True)
    messages = parameter(["small"])

    def sizes(self) -> tuple[int, ...]:
        return (8,)


class IbBenchmark(SizedClientServerBenchmark):
    """The programs ``ib_*`` of perftest, one for each test. They need an RDMA device."""

    tool = "perftest"
    transports = ("verbs",)
    test = parameter(list(perftest.TESTS), loggable=True)
    iterations = variable(int, value=1000)

    @property
    def program_name(self) -> str:
        return perftest.TESTS[self.test].program

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = perftest.TESTS[self.test].benchmark

    def server_arguments(self) -> list[str]:
        how = perftest.TESTS[self.test].options
        common = ["-n", str(self.iterations), "-s", "{value}", "-F", "-p", "{port}"]
        return [*common, *self.lane.fabric_options, *how]

    def client_arguments(self) -> list[str]:
        return [*self.server_arguments(), self.address]

    def expected(self) -> Iterator[Expected]:
        for metric in perftest.TESTS[self.test].metrics:
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())


@rfm.simple_test
class Perftest(IbBenchmark):
    descr = "verbs: send and receive, RDMA write and read"
    empty = False
    test = parameter([name for name, test in perftest.TESTS.items() if not test.atomic], loggable=True)

    @property
    def records_lane_skip(self) -> bool:
        return bool(self.test == "send_lat")


@rfm.simple_test
class IbvRcPingpong(SizedClientServerBenchmark):
    descr = "rdma-core's ibv_rc_pingpong: half round trip on a reliable connection"
    tool = program_name = "ibv_rc_pingpong"
    benchmark = "pingpong"
    transports = ("verbs",)
    empty = False
    iterations = variable(int, value=1000)

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.fabric.rdma_cm:
            return "ibv_rc_pingpong connects without the RDMA connection manager, which the fabric needs", ""
        return super().benchmark_skip()

    def server_arguments(self) -> list[str]:
        adapter, colon, number = self.fabric.adapter_port.partition(":")
        device = ["-d", adapter, "-i", number] if colon else []
        gid = [] if self.fabric.gid_index is None else ["-g", str(self.fabric.gid_index)]
        return ["-n", str(self.iterations), "-s", "{value}", "-p", "{port}", *device, *gid]

    def client_arguments(self) -> list[str]:
        return [*self.server_arguments(), self.address]

    def expected(self) -> Iterator[Expected]:
        for metric in ("latency", "bandwidth"):
            yield Expected(benchmark="pingpong", metric=metric, msg_sizes_bytes=self.sizes())


@rfm.simple_test
class PerftestAtomic(IbBenchmark):
    descr = "verbs: atomics on 8 bytes of the peer"
    test = parameter([name for name, test in perftest.TESTS.items() if test.atomic], loggable=True)
    messages = parameter(["small"])

    def sizes(self) -> tuple[int, ...]:
        return (8,)
