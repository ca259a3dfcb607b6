# SPDX-License-Identifier: Apache-2.0
"""Benchmarks without MPI: a server and a client, which ``fabricbench-client-server`` starts for each value."""

from reframe.core.builtins import run_after

from fabricbench.site.stacks import ADDRESS_WORD

from .benchmark import Benchmark
from .launch import SELDOM
from .sized import SizedMixin


class ClientServerBenchmark(Benchmark):
    """A server and a client of a user-level library.

    A leaf sets ``program_name`` and defines ``server_arguments``, ``client_arguments`` and ``values``. It runs on
    stacks with the program and on fabrics with one of its ``transports``. One leaf of each tool has
    ``records_lane_skip``: it is selected for every fabric, so that a lane that cannot run is recorded as one skip.
    """

    tags = SELDOM
    valid_prog_environs: list[str] = []
    transports: tuple[str, ...] = ("shm", "tcp", "verbs")

    @property
    def program_name(self) -> str:
        """The name of the program, as set-up records it."""
        raise NotImplementedError

    @property
    def records_lane_skip(self) -> bool:
        """Whether the check is selected for every fabric."""
        return False

    @run_after("init")
    def select_lanes(self) -> None:
        self.valid_prog_environs = [f"+userlevel +{self.program_name}"]
        every_fabric = self.records_lane_skip and self.message_class in (None, "small")
        self.valid_systems = ["+fabric"] if every_fabric else [f"+fabric +{name}" for name in self.transports]

    @property
    def address(self) -> str:
        """The address at which the server listens; ``fabricbench-client-server`` fills it in between nodes."""
        return ADDRESS_WORD if self.fabric.between_nodes else self.fabric.addresses[0]

    @property
    def interface(self) -> str:
        """The port at whose address the server listens between nodes."""
        return self.fabric.interface

    def server_arguments(self) -> list[str]:
        """Returns the arguments of the server; ``{port}``, ``{value}`` and ``{address}`` are filled in."""
        raise NotImplementedError

    def client_arguments(self) -> list[str]:
        """Returns the arguments of the client; ``{port}``, ``{value}`` and ``{address}`` are filled in."""
        raise NotImplementedError

    def values(self) -> list[str]:
        """Returns the replacements of ``{value}``; a server and a client run for each."""
        return [""]

    def runs(self) -> int:
        return sum(len(value.split("+")) for value in self.values())

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.program_name not in self.installed.programs:
            hint = f"install it, then: fabricbench setup --again {self.stack.name}"
            return f"{self.program_name} is not installed on this machine", hint
        if self.nodes > 1 and not self.fabric.between_nodes:
            reason = "only srun starts a server and its client on two nodes"
            return reason, "set launcher='srun' in the Scheduler of the fabric"
        return None

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-client-server"

    def arguments(self) -> list[str]:
        path = self.installed.programs[self.program_name]
        commands = [path, *self.server_arguments(), "::", path, *self.client_arguments()]
        return ["--each", ",".join(self.values()), *self.lane.link_options(self.interface), "--", *commands]


class SizedClientServerBenchmark(SizedMixin, ClientServerBenchmark):
    """A server and a client for each message size."""

    def values(self) -> list[str]:
        return [str(size) for size in self.sizes()]
