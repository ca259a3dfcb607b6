# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that come as server and client and know no MPI: ``fabricbench-pair`` starts them, value by value."""

from reframe.core.builtins import run_after

from .benchmark import Benchmark
from .launch import SELDOM
from .sized import SizedMixin


class PairBenchmark(Benchmark):
    """A leaf names the ``program_name``, ``server_arguments``, ``client_arguments`` and ``values``.

    It asks for environments that have the program and for fabrics of one of its ``transports``; only what
    ``speaks_for_lane`` asks for every fabric, so that a lane that cannot be is one named skip and not many.
    """

    tags = SELDOM
    valid_prog_environs: list[str] = []
    program_name = ""
    transports: tuple[str, ...] = ("shm", "tcp", "verbs")
    speaks_for_lane = False

    @run_after("init")
    def ask_for_lanes(self) -> None:
        self.valid_prog_environs = [f"+userlevel +{self.program_name}"]
        first = self.speaks_for_lane and self.message_class in (None, "small")
        self.valid_systems = ["+fabric"] if first else [f"+fabric +{name}" for name in self.transports]

    @property
    def address(self) -> str:
        """Where the server listens."""
        return str(self.fabric_facts["addresses"][0])

    def server_arguments(self) -> list[str]:
        raise NotImplementedError

    def client_arguments(self) -> list[str]:
        raise NotImplementedError

    def values(self) -> list[str]:
        """What ``{value}`` stands for, a server and client each."""
        return [""]

    def runs(self) -> int:
        return sum(len(value.split("+")) for value in self.values())

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.program_name not in self.installed.programs:
            stack = self.stack_facts["stack"]
            return f"no {self.program_name} on this machine", f"install it, then: fabricbench setup --again {stack}"
        return None

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-pair"

    def arguments(self) -> list[str]:
        path = self.installed.programs[self.program_name]
        both = [path, *self.server_arguments(), "::", path, *self.client_arguments()]
        return ["--each", ",".join(self.values()), "--", *both]


class SizedPairBenchmark(SizedMixin, PairBenchmark):
    """A pair over message sizes, a server and client for each."""

    def values(self) -> list[str]:
        return [str(size) for size in self.sizes()]
