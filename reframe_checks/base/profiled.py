# SPDX-License-Identifier: Apache-2.0
"""Launches with an MPI profiler in each rank."""

from collections.abc import Iterator
from pathlib import Path

from reframe.core.builtins import run_after, variable

from fabricbench.launch.facts import Expected, canonical_case
from fabricbench.site.profilers import Profiler, ProfilerName, is_static, profiler_of

from .benchmark import BenchmarkMixin

METRICS = ("mpi_share", "parallel_efficiency", "load_balance", "communication_efficiency")
"""The metrics of each profile that requirements may use."""


class ProfiledMixin(BenchmarkMixin):
    """Loads a profiler into the ranks of the launch, which is then never timed.

    Must precede the base class in the MRO. ``profiler``: ``tau`` or ``own``; empty for TAU where the stack has it, else
    this project's. ``separate_waiting``: this project's profiler puts a barrier in front of collectives, as TAU does.
    """

    profiler: str = variable(str, value="", loggable=True)
    separate_waiting: bool = variable(bool, value=False)

    @run_after("init")
    def set_mode(self) -> None:
        self.mode = "profiled"

    @property
    def chosen_profiler(self) -> Profiler:
        """The profiler of the launch."""
        return profiler_of(self.installed, self.profiler)

    @property
    def profiler_name(self) -> ProfilerName | None:
        return self.chosen_profiler.name

    def lane_variables(self) -> dict[str, str]:
        profiler = self.chosen_profiler
        barrier = {"FABRICBENCH_PROFILE_SYNC": "1"} if self.separate_waiting and profiler.is_own else {}
        return super().lane_variables() | profiler.launch_variables(self.stagedir) | barrier

    def preloaded_libraries(self) -> list[str]:
        return [*super().preloaded_libraries(), *self.chosen_profiler.libraries]

    def tool_versions(self) -> dict[str, str]:
        profiler = self.chosen_profiler
        return super().tool_versions() | ({} if profiler.is_own else {"tau": profiler.version})

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        if self.oversubscribed:
            return "more ranks than cores: their waiting times mean nothing", "use more or larger nodes"
        if is_static(Path(self.program())):
            return f"{self.program()} is a static program: no profiler can be loaded", "link it dynamically"
        profiler = self.chosen_profiler
        return (profiler.problem, profiler.hint) if profiler.problem else None

    @property
    def launch_id(self) -> str:
        """The id, unlike that of the timed launch of the same benchmark."""
        return f"{super().launch_id} profiled"

    def planned(self) -> tuple[Expected, ...]:
        case = canonical_case(self.case)
        return tuple(Expected(benchmark=self.benchmark, case=case, metric=metric) for metric in METRICS)

    def expected(self) -> Iterator[Expected]:
        yield from super().expected()
        for metric in METRICS:
            yield Expected(benchmark=self.benchmark, metric=metric)
