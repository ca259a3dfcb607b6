# SPDX-License-Identifier: Apache-2.0
"""Launches whose received messages are delayed."""

import os
from pathlib import Path

from reframe.core.builtins import parameter, run_after
from reframe.core.exceptions import ReframeError

from fabricbench.errors import BadInput
from fabricbench.launch import injection
from fabricbench.launch.facts import Injection
from fabricbench.site.profilers import Profiler, is_static, profiler_of

from .benchmark import BenchmarkMixin


def _chosen_levels() -> tuple[str, ...]:
    try:
        return injection.levels_of(os.environ.get(injection.LEVELS, "").split())
    except BadInput as error:
        raise ReframeError(f"{injection.LEVELS}: {error}") from None


LEVELS = _chosen_levels()
"""The levels of injected delays, such as ``latency=5us``. Checks with delays are defined only if there are any."""


class InjectedMixin(BenchmarkMixin):
    """Delays the messages of the launch by one of the levels; its values never count as timed ones.

    Must precede the base class in the MRO. The level is part of the case, ``latency=5us``.
    """

    level = parameter(LEVELS, loggable=True)

    @run_after("init")
    def set_mode(self) -> None:
        self.mode = "injected"

    @run_after("init")
    def add_level_to_case(self) -> None:
        name, _, delay = self.level.partition("=")
        self.case = {**self.case, name: delay}

    @property
    def injection(self) -> Injection | None:
        return injection.injection_of(self.level)

    @property
    def injecting_library(self) -> Profiler:
        """The library that delays the messages, this project's profiler."""
        return profiler_of(self.installed, "own")

    def lane_variables(self) -> dict[str, str]:
        return super().lane_variables() | {injection.INJECT: self.level}

    def preloaded_libraries(self) -> list[str]:
        return [*super().preloaded_libraries(), *self.injecting_library.libraries]

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        if self.oversubscribed:
            return "more ranks than cores: a delay would include the waiting for a core", "use more or larger nodes"
        if is_static(Path(self.program())):
            return f"{self.program()} is a static program: no delay can be injected", "link it dynamically"
        library = self.injecting_library
        return (library.problem, library.hint) if library.problem else None

    @property
    def launch_id(self) -> str:
        """The id, unlike that of the timed launch of the same benchmark."""
        return f"{super().launch_id} injected"
