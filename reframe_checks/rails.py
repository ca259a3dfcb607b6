# SPDX-License-Identifier: Apache-2.0
"""Several ports on a node: one port, large messages striped over all ports, or each process on its own port."""

from collections.abc import Sequence

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.site.stacks import ONE_PORT, RAIL_POLICIES

from .base import SELDOM, processors
from .base.benchmark import BenchmarkMixin
from .base.lane import fabrics
from .micro import MicroPingpong, MicroWindow


def rank_pair_counts() -> list[int]:
    """Returns 1 and the numbers of ports of the fabrics: with a rank pair per port, every port can be busy."""
    return sorted({1, *(fabric.rail_count for fabric in fabrics())})


class Rails(BenchmarkMixin):
    """A benchmark of the project with each rail policy of the stack (Liu et al. 2004, IV.B.3)."""

    family = "rails"
    rails = parameter(RAIL_POLICIES, loggable=True)
    pairs = parameter(rank_pair_counts(), loggable=True)

    @run_after("init")
    def use_rails(self) -> None:
        self.tags, self.ranks = SELDOM, 2 * self.pairs
        self.case = {"rails": self.rails} | ({"pairs": self.pairs} if self.pairs > 1 else {})

    @property
    def spread_nodes(self) -> int:
        """Two nodes, or one, also for several rank pairs, which then share the ports of the same two nodes."""
        return min(2, super().spread_nodes)

    def applies(self) -> bool:
        return self.fabric.rail_count > 1

    def family_skip(self) -> tuple[str, str] | None:
        if not self.applies():
            return "the fabric has one port", "name all ports in the site's settings.py: Fabric(ports=[…])"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        stack, settings = self.stack.name, self.rail_settings.get(self.rails)
        if self.port:
            return f"the rail policy rails={self.rails} selects the ports", "set no port"
        if settings is None:
            return f"no settings for rails={self.rails} with {stack}", f"add them to {stack} in site/stacks.py"
        if not self.fabric.ports and any("{port" in value for value in settings.values()):
            return f"{stack} needs the ports' names", "name them in the site's settings.py: Fabric(ports=[…])"
        if self.ranks > (cores := processors(self.current_partition)):
            return f"{self.ranks} ranks on {cores} cores", "use nodes with two cores for each port"
        return None

    @property
    def selected_port(self) -> str:
        """The first port, for the policy of one port between nodes; empty if the stack cannot select a port."""
        first = "".join(self.fabric.ports[:1])
        return first if self.rails == ONE_PORT and self.supports_port_selection and self.nodes > 1 else ""

    @property
    def rail_policy(self) -> tuple[str, Sequence[str]]:
        return self.rails, self.fabric.ports


@rfm.simple_test
class RailsPingpong(Rails, MicroPingpong):
    descr = "the project's own ping-pong with each rail policy"


@rfm.simple_test
class RailsWindow(Rails, MicroWindow):
    descr = "windows of messages with each rail policy"
