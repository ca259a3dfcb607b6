# SPDX-License-Identifier: Apache-2.0
"""A launch that measures; its traffic is attested against the wire-up of its lane."""

import os
from typing import TYPE_CHECKING

import reframe as rfm
from reframe.core.builtins import fixture
from reframe.core.exceptions import ReframeError

from fabricbench.launch.facts import WireUp
from fabricbench.launch.session import FORECAST

from .launch import LaunchTest
from .wireup import WireUpLaunch


class Benchmark(LaunchTest):
    """The base of every leaf."""

    wireup = fixture(WireUpLaunch, scope="environment")

    def start(self) -> None:
        if not self.wireup.completed and not self.is_dry_run():
            # Without the wire-up the launch could not be attested, and would still count as finished.
            raise ReframeError("the wire-up of the lane did not complete: repeat the command")
        super().start()
        # The rest of ReFrame's dry run takes as long as all before it.
        self.skip_if(FORECAST in os.environ, "forecast")

    def wireup_facts(self) -> WireUp | None:
        wireup: WireUpLaunch = self.wireup
        return wireup.traffic()

    def wireup_problem(self) -> str:
        wireup: WireUpLaunch = self.wireup
        return wireup.problem()


if TYPE_CHECKING:
    BenchmarkMixin = Benchmark
else:
    BenchmarkMixin = rfm.RegressionTestPlugin
"""The base of a mixin of benchmarks.

mypy reads it as Benchmark, whose attributes the mixin uses. ReFrame forbids two bases with a common variable, so at run
time it is ReFrame's empty plugin.
"""
