# SPDX-License-Identifier: Apache-2.0
"""A launch that measures: attested against its lane's wire-up."""

from reframe.core.builtins import fixture

from fabricbench.core.launch import WireUp

from .launch import LaunchTest
from .wireup import WireUpLaunch


class Benchmark(LaunchTest):
    """The base of every leaf."""

    wireup = fixture(WireUpLaunch, scope="environment")

    def wireup_facts(self) -> WireUp | None:
        return self.wireup.measured()
