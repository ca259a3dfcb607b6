# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes, one rank on each: which node, or which way between two, is slower than the others."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable
from reframe.core.runtime import runtime

from fabricbench.launch.facts import Expected, joined_case
from fabricbench.launch.record import Row

from .base import SELDOM
from .micro import Micro

MOST_PAIRS = 512
"""Pairs that one launch measures: all of 32 nodes; of more, further rounds in every further block."""
SECONDS_PER_PAIR = 2


def _several_nodes() -> bool:
    return any(int(partition.extras.get("nodes", 1)) > 1 for partition in runtime().system.partitions)


class Pairs(Micro):
    """An own benchmark of all nodes of a fabric. Its rows by pair have names of nodes, which the scheduler chooses;
    so the launch must have what the pairs come to, and the parser demands every pair that the output promises."""

    family = "pairs"
    msg_size_bytes = variable(int, value=8, loggable=True)

    @run_after("init")
    def belong_to_quick(self) -> None:
        """``make run`` has time for it where there is something to find."""
        self.tags = {*SELDOM, "quick"} if _several_nodes() else SELDOM

    def meet_lane(self) -> None:
        self.ranks = int(self.fabric_facts["nodes"])
        self.limit_seconds = max(self.limit_seconds, float(SECONDS_PER_PAIR * self.rounds * (self.ranks // 2)))

    def applies(self) -> bool:
        return int(self.fabric_facts["nodes"]) > 1

    def family_skip(self) -> tuple[str, str] | None:
        if not self.applies():
            return "a single node has no pairs", "say how many there are: fabric(…, nodes=4) in the site's settings.py"
        return None

    @property
    def rounds(self) -> int:
        """Rounds of disjoint pairs in one launch."""
        return min(self.ranks - 1 + self.ranks % 2, max(1, MOST_PAIRS // max(1, self.ranks // 2)))

    def sizes(self) -> tuple[int, ...]:
        return (self.msg_size_bytes,)

    def options(self) -> list[str]:
        block = self.fabric_facts["session"]["block"]
        return [*super().options(), "--rounds", str(self.rounds), "--block", str(block)]

    def expected(self) -> Iterator[Expected]:
        for case in self.cases():
            for metric in self.described.metrics:
                whole = joined_case(self.case, case)
                yield Expected(benchmark=self.benchmark, case=whole, metric=metric.name, msg_sizes_bytes=self.sizes())

    def shown(self) -> tuple[Row, ...]:
        """ReFrame's list has what the pairs come to; the pairs are in the campaign's table."""
        cases = {joined_case(self.case, case) for case in self.cases()}
        return tuple(row for row in self.record().rows if row.case in cases)


@rfm.simple_test
class PairLatency(Pairs):
    descr = "ping-pong of every pair of nodes, one pair after the other"
    benchmark = "pair_latency"
    messages = parameter(["small"], loggable=True)
    iterations = 200


@rfm.simple_test
class PairBandwidth(Pairs):
    descr = "bandwidth of every pair of nodes, alone and with disjoint pairs at once: bisection"
    benchmark = "pair_bandwidth"
    messages = parameter(["large"], loggable=True)
    msg_size_bytes = 2**20
    iterations = 7
    window = variable(int, value=4)

    @property
    def amounts(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.window,)

    def options(self) -> list[str]:
        return [*super().options(), "--warmup", "2"]
