# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of every pair of nodes, one rank on each; they show slow nodes and slow links."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected, joined_case
from fabricbench.launch.record import Row
from fabricbench.launch.session import session
from fabricbench.site.scale import ONE_PER_NODE, ScaleRule

from .base import SELDOM, own_scale
from .base.lane import fabrics
from .base.scale import available_nodes
from .micro import Micro

MOST_NODE_PAIRS = 512
"""Node pairs that one launch measures: all pairs of 32 nodes. With more nodes each block measures further pairs."""
SECONDS_PER_NODE_PAIR = 2


class NodePairBenchmark(Micro):
    """A benchmark of the project of all nodes of a fabric.

    The rows of a node pair contain the names of nodes, which the scheduler chooses. So only the summary rows are
    expected; the parser checks that every node pair announced in the output is there.
    """

    family = "pairs"
    at = parameter(own_scale(), loggable=True)
    msg_size_bytes = variable(int, value=8, loggable=True)

    @run_after("init")
    def choose_tiers(self) -> None:
        """Adds the tier of ``make run`` if a fabric has several nodes."""
        self.tags = {*SELDOM, "quick"} if any(fabric.nodes.count > 1 for fabric in fabrics()) else SELDOM

    def adapt_to_lane(self) -> None:
        if self.chosen_scale is None:
            self.ranks = available_nodes(self.fabric)
        self.limit_seconds = max(self.limit_seconds, float(SECONDS_PER_NODE_PAIR * self.rounds * (self.ranks // 2)))

    def applies(self) -> bool:
        return self.fabric.nodes.count > 1

    def family_skip(self) -> tuple[str, str] | None:
        if not self.applies():
            return "the fabric has a single node, so no node pairs", "set Nodes(count=…) in the site's settings.py"
        return None

    @property
    def scale_rule(self) -> ScaleRule:
        return ONE_PER_NODE

    @property
    def rounds(self) -> int:
        """Number of rounds in one launch; each measures disjoint node pairs."""
        ranks = int(self.ranks)
        return min(ranks - 1 + ranks % 2, max(1, MOST_NODE_PAIRS // max(1, ranks // 2)))

    def sizes(self) -> tuple[int, ...]:
        return (self.msg_size_bytes,)

    def options(self) -> list[str]:
        return [*super().options(), "--rounds", str(self.rounds), "--block", str(session().block)]

    def expected(self) -> Iterator[Expected]:
        for case in self.cases():
            for metric in self.described.metrics:
                whole = joined_case(self.case, case)
                yield Expected(benchmark=self.benchmark, case=whole, metric=metric.name, msg_sizes_bytes=self.sizes())

    def reported_rows(self) -> tuple[Row, ...]:
        """Returns the rows of the summary; the campaign's table also has those of each node pair."""
        cases = {joined_case(self.case, case) for case in self.cases()}
        return tuple(row for row in self.record().rows if row.case in cases)


@rfm.simple_test
class PairLatency(NodePairBenchmark):
    descr = "ping-pong of every node pair, one pair after the other"
    benchmark = "pair_latency"
    messages = parameter(["small"], loggable=True)
    iterations = 200


@rfm.simple_test
class PairBandwidth(NodePairBenchmark):
    descr = "bandwidth of every node pair, alone and with disjoint pairs at once (bisection)"
    benchmark = "pair_bandwidth"
    messages = parameter(["large"], loggable=True)
    msg_size_bytes = 2**20
    iterations = 7
    window = variable(int, value=4)

    @property
    def amounts(self) -> tuple[int, ...]:
        return (self.window,)

    def options(self) -> list[str]:
        return [*super().options(), "--warmup", "2"]
