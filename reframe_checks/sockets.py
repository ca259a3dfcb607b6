# SPDX-License-Identifier: Apache-2.0
"""TCP through the kernel's sockets: latency, one stream, several streams, and flows over two networks."""

import socket
from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected
from fabricbench.site.stacks import ADDRESS_WORD

from .base import ClientServerBenchmark, SizedClientServerBenchmark


@rfm.simple_test
class QperfTcp(SizedClientServerBenchmark):
    """qperf measures each size for at least one second, so a launch has three sizes."""

    descr = "qperf: latency and bandwidth of a TCP connection"
    tool = program_name = "qperf"
    transports = ("tcp",)
    test = parameter(["tcp_lat", "tcp_bw"], loggable=True)
    seconds = variable(int, value=1)
    small_sizes = variable(str, value="1,256,16384")
    large_sizes = variable(str, value="65536,524288,4194304")

    @property
    def records_lane_skip(self) -> bool:
        return bool(self.test == "tcp_lat")

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = "pingpong" if self.test == "tcp_lat" else "stream"

    def sizes(self) -> tuple[int, ...]:
        return tuple(map(int, (self.small_sizes if self.messages == "small" else self.large_sizes).split(",")))

    def server_arguments(self) -> list[str]:
        return ["-lp", "{port}"]

    def client_arguments(self) -> list[str]:
        how = ["-uu", "-vvs", "-vvu", "-e", "6", "-t", str(self.seconds), "-m", "{value}"]
        return [self.address, "-lp", "{port}", *how, self.test, "quit"]

    def expected(self) -> Iterator[Expected]:
        for metric in ("latency", "bandwidth") if self.test == "tcp_lat" else ("stream_bandwidth",):
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())


class Iperf3(ClientServerBenchmark):
    """iperf3 for one second; the bytes received count."""

    tool = program_name = "iperf3"
    transports = ("tcp",)
    seconds = variable(int, value=1)
    streams = parameter([1], loggable=True)
    limit_seconds = 60.0

    @run_after("init")
    def count_streams(self) -> None:
        self.case = {"streams": self.streams}

    @property
    def interface(self) -> str:
        """The port that the value names: the values are ports between nodes, and addresses on one node."""
        return "{value}"

    def servers(self) -> list[str]:
        """Returns where servers listen: on ports of the server's node, or on addresses of the one node."""
        return [self.fabric.interface] if self.fabric.between_nodes else [self.address]

    def values(self) -> list[str]:
        return self.servers()

    def _server(self) -> str:
        return ADDRESS_WORD if self.fabric.between_nodes else "{value}"

    def server_arguments(self) -> list[str]:
        return ["-s", "-1", "-B", self._server(), "-p", "{port}"]

    def client_arguments(self) -> list[str]:
        return ["-c", self._server(), "-p", "{port}", "-J", "-t", str(self.seconds), "-P", str(self.streams)]

    def expected(self) -> Iterator[Expected]:
        n = self.streams
        for k in range(1, n + 1):
            yield Expected(benchmark=self.benchmark, case=f"flow={k} streams={n}", metric="flow_bandwidth")
        for metric in ("stream_bandwidth", "fairness"):
            yield Expected(benchmark=self.benchmark, case=f"streams={n}", metric=metric)


@rfm.simple_test
class TcpStreams(Iperf3):
    descr = "iperf3: one TCP stream and several at once, and the fairness among them"
    benchmark = "stream"
    streams = parameter([1, 2, 4, 8], loggable=True)

    @property
    def records_lane_skip(self) -> bool:
        return bool(self.streams == 1)


@rfm.simple_test
class TcpTogether(Iperf3):
    """Flows to the first two ports or addresses of the fabric, each alone and then both at once, in one launch."""

    descr = "iperf3: flows over two networks, alone and at once"
    benchmark = "together"
    streams = parameter([1, 4], loggable=True)

    def servers(self) -> list[str]:
        return list((self.fabric.ports if self.fabric.between_nodes else self.fabric.addresses)[:2])

    def values(self) -> list[str]:
        first, second = self.servers()
        return [first, second, f"{first}+{second}"]

    def benchmark_skip(self) -> tuple[str, str] | None:
        if len(self.servers()) < 2:
            what, field = ("port", "ports") if self.fabric.between_nodes else ("address", "addresses")
            reason = f"the fabric {self.fabric.name} has one {what}, and flows over two networks need two"
            return reason, f"name a second one in the site's settings.py: Fabric({field}=[…])"
        local = self.current_partition.scheduler.registered_name == "local" and not self.fabric.between_nodes
        for address in self.servers() if local else ():
            if not usable(address):
                return f"{address} is not an address of this machine", "correct it in the site's settings.py"
        return super().benchmark_skip()

    def expected(self) -> Iterator[Expected]:
        n = self.streams
        for k in (1, 2):
            for run in ("alone", "together"):
                case = f"flow={k} run={run} streams={n}"
                yield Expected(benchmark=self.benchmark, case=case, metric="flow_bandwidth")
        for metric in ("stream_bandwidth", "fairness"):
            yield Expected(benchmark=self.benchmark, case=f"run=together streams={n}", metric=metric)


def usable(address: str) -> bool:
    """Whether a server can listen on ``address`` on this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.bind((address, 0))
    except OSError:
        return False
    return True
