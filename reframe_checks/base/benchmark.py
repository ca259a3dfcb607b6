# SPDX-License-Identifier: Apache-2.0
"""A launch that measures: attested against its lane's wire-up."""

import os

from reframe.core.builtins import fixture
from reframe.core.exceptions import ReframeError

from fabricbench.launch.facts import WireUp
from fabricbench.site.settings import FORECAST

from .launch import LaunchTest
from .wireup import WireUpLaunch


class Benchmark(LaunchTest):
    """The base of every leaf."""

    wireup = fixture(WireUpLaunch, scope="environment")

    def wrap(self) -> None:
        if not self.wireup.came_back and not self.is_dry_run():
            # A launch without it could never be attested, and would count as finished.
            raise ReframeError("the lane's wire-up never came back: repeat the command")
        super().wrap()
        # What ReFrame would still do in a dry run takes as long as all before it.
        self.skip_if(FORECAST in os.environ, "foreseen")

    def wireup_facts(self) -> WireUp | None:
        return self.wireup.measured()
