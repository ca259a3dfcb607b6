# SPDX-License-Identifier: Apache-2.0
"""Several ports on a node: one of them, large messages striped over all, or each process bound to its own."""

from collections.abc import Sequence

import reframe as rfm
from reframe.core.builtins import parameter, run_after
from reframe.core.runtime import runtime

from fabricbench.site.stacks import ONE_PORT, RAILS

from .base import SELDOM, processors
from .micro import MicroPingpong, MicroWindow


def pair_counts() -> list[int]:
    """A single pair of processes, and as many pairs as the widest fabric has ports: binding shows with several."""
    return sorted({1, *(int(partition.extras.get("rails", 1)) for partition in runtime().system.partitions)})


class Rails(rfm.RegressionTestPlugin):
    """An own benchmark under each of the stack's settings for several ports (Liu et al. 2004, IV.B.3)."""

    family = "rails"
    rails = parameter(RAILS, loggable=True)
    pairs = parameter(pair_counts(), loggable=True)

    @run_after("init")
    def use_rails(self) -> None:
        self.tags, self.ranks = SELDOM, 2 * self.pairs
        self.case = {"rails": self.rails} | ({"pairs": self.pairs} if self.pairs > 1 else {})

    def applies(self) -> bool:
        return int(self.fabric_facts["rails"]) > 1

    def family_skip(self) -> tuple[str, str] | None:
        if not self.applies():
            return "this fabric has one port", "say how many it has: fabric(…, rails=2) in the site's settings.py"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        stack, facts = self.stack_facts["stack"], self.fabric_facts
        settings = self.rails_settings.get(self.rails)
        if self.port:
            return f"rails={self.rails} says which ports are used", "ask for no port"
        if settings is None:
            return f"no settings for rails={self.rails} with {stack}", f"add them to {stack} in site/stacks.py"
        if not facts["ports"] and any("{port" in value for value in settings.values()):
            return f"{stack} wants the ports' names", "name them: fabric(…, ports=[…]) in the site's settings.py"
        if self.ranks > (cores := processors(self.current_partition)):
            return f"{self.ranks} ranks on {cores} cores", "run it on nodes with two cores for every port"
        return None

    @property
    def asked_port(self) -> str:
        """The first, where one port is used, the stack can be told which, and other nodes can see it."""
        first = "".join(self.fabric_facts["ports"][:1])
        return first if self.rails == ONE_PORT and self.names_one_port and self.nodes > 1 else ""

    @property
    def way(self) -> tuple[str, Sequence[str]]:
        """Its settings are what is compared."""
        return self.rails, self.fabric_facts["ports"]


@rfm.simple_test
class RailsPingpong(Rails, MicroPingpong):
    descr = "the own ping-pong over one port, or several striped or bound"


@rfm.simple_test
class RailsWindow(Rails, MicroWindow):
    descr = "windows of messages over one port, or several striped or bound"
