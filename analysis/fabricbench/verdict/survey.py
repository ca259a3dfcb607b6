# SPDX-License-Identifier: Apache-2.0
"""Selects the slow nodes and node pairs of a campaign, over all its matrices, and adds notes on their limits."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

import polars as pl

from fabricbench.verdict.nodes import LEAST_BLOCKS, Matrix, MatrixKey, matrices
from fabricbench.verdict.suspects import ALPHA, MatrixTests, Suspect

OF_NODES, OF_PAIRS, OF_STALLS = 0.7, 0.15, 0.15
"""Shares of ``ALPHA`` for tests of nodes, pairs and stalls. Tests of nodes have most of it, because a node has few
peers and its p-values cannot be very small; the peers of a pair are all other pairs.
"""


@dataclass(frozen=True, slots=True)
class SlowUnit:
    """A slow node or node pair, beyond chance. ``p``: adjusted for all tests of the campaign, at most ``ALPHA``."""

    suspect: Suspect
    p: float
    matrix: MatrixKey


@dataclass(frozen=True)
class Survey:
    """All matrices of a campaign, which are tested together."""

    matrices: tuple[Matrix, ...]

    @cached_property
    def tests(self) -> tuple[MatrixTests, ...]:
        """The tests of each matrix."""
        return tuple(MatrixTests(matrix) for matrix in self.matrices)

    @cached_property
    def slow_units(self) -> tuple[SlowUnit, ...]:
        """The slow nodes and node pairs: in each matrix nodes, then pairs, then nodes that stall, the slowest first.

        Definition: a p-value is multiplied by the number of tests of its kind in all matrices of the campaign, and
        divided by the kind's share of alpha (Bonferroni's method). A suspect with at most ``ALPHA`` is selected.
        Error: the probability that a campaign selects any unit with healthy nodes and pairs is at most ``ALPHA``,
        whatever the dependence between tests.
        """
        numbered = list(enumerate(self.tests))
        nodes = [(at, one) for at, tests in numbered for one in tests.nodes]
        pairs = [(at, one) for at, tests in numbered for one in tests.pairs]
        stalls = [(at, one) for at, tests in numbered for one in tests.stalls]
        result = [
            *self._significant(nodes, self._of_nodes, OF_NODES),
            *self._significant(pairs, sum(tests.of_pairs for tests in self.tests), OF_PAIRS),
            *self._significant(stalls, sum(tests.of_stalls for tests in self.tests), OF_STALLS),
        ]
        return tuple(unit for _, unit in sorted(result, key=lambda item: item[0]))

    def of(self, matrix: Matrix) -> tuple[SlowUnit, ...]:
        """Returns the slow units of one matrix."""
        return tuple(unit for unit in self.slow_units if unit.matrix == matrix.key)

    @property
    def decidable(self) -> bool:
        """Whether the blocks suffice to select a node that is the slowest in every block of some matrix."""
        return any(tests.of_nodes and self._least_blocks(tests) <= tests.matrix.blocks for tests in self.tests)

    @property
    def notes(self) -> list[str]:
        """Limits of the survey, each once: too few blocks, two nodes, a slow network, stalls."""
        return list(dict.fromkeys(line for tests in self.tests for line in self._notes(tests)))

    @property
    def _of_nodes(self) -> int:
        return sum(tests.of_nodes for tests in self.tests)

    def _significant(self, suspects: list[tuple[int, Suspect]], tests: int, share: float) -> list[tuple[int, SlowUnit]]:
        """Returns the slow units of one kind, the slowest first, each with the number of its matrix."""
        adjusted = [(at, one, one.p * tests / share) for at, one in suspects]
        units = [(at, SlowUnit(one, p, self.matrices[at].key)) for at, one, p in adjusted if p <= ALPHA]
        return sorted(units, key=lambda numbered: -(numbered[1].suspect.slowdown or 0.0))

    def _least_blocks(self, tests: MatrixTests) -> int:
        """Returns the least number of blocks after which the slowest node, or direction, can be selected."""
        nodes = len(tests.matrix.names)
        return max(LEAST_BLOCKS, ceil(log(max(1, self._of_nodes) / (ALPHA * OF_NODES), nodes) - 1e-9))

    def _notes(self, tests: MatrixTests) -> Iterator[str]:
        matrix = tests.matrix
        lane, nodes, blocks = matrix.key.lane, len(matrix.names), matrix.blocks
        tests_of_nodes = self._of_nodes
        if blocks < LEAST_BLOCKS:
            yield f"{lane}: no node or pair is named before {LEAST_BLOCKS} blocks; this campaign has {blocks}"
        elif tests.of_nodes and (least := self._least_blocks(tests)) > blocks:
            yield (
                f"{lane}: {blocks} blocks are too few to name a node: with {nodes} nodes and {tests_of_nodes} tests of "
                f"nodes in the campaign, being the slowest in every block may be chance; {least} blocks are enough"
            )
        if nodes == 2:
            yield f"{lane}: two nodes show which direction is slow, not which node"
        if slow := tests.network:
            yield (
                f"{lane}: {slow} of {len(matrix.effects.first)} pairs are slower than their nodes explain "
                f"({matrix.key.words}): look at the network's layout, not at single links"
            )
        if matrix.modes.bimodal:
            fast, stalled = (
                f"{matrix.value(mode):.4g} {matrix.unit}" for mode in (matrix.modes.fast, matrix.modes.slow)
            )
            yield (
                f"{lane}: {matrix.modes.share:.0%} of the values stall ({matrix.key.words}): two modes, with medians "
                f"{fast} and {stalled}; the slow mode does not count for the speed of a node"
            )


SCHEMA = pl.Schema(
    {
        "kind": pl.String,
        "node": pl.String,
        "other": pl.String,
        "role": pl.String,
        "slowdown": pl.Float64,
        "p": pl.Float64,
        "seen": pl.Int64,
        "blocks": pl.Int64,
        "stalled": pl.Float64,
        "stalled_others": pl.Float64,
        "lane": pl.String,
        "benchmark": pl.String,
        "case": pl.String,
        "metric": pl.String,
        "msg_size_bytes": pl.Int64,
    }
)


def survey(table: pl.DataFrame) -> Survey:
    """Returns the survey of all node pairs in a campaign's long table."""
    return Survey(tuple(matrices(table)))


def as_frame(campaign_survey: Survey) -> pl.DataFrame:
    """Returns one row for each slow unit; ``other`` is empty for nodes, ``slowdown`` for stalls."""
    rows = [
        (one.kind, one.node, one.other, one.role, None if one.slowdown is None else round(one.slowdown, 4),
         float(f"{unit.p:.3g}"), one.affected_blocks, one.blocks,
         round(one.stall_share, 4), round(one.others_stall_share, 4),
         unit.matrix.lane, unit.matrix.benchmark, unit.matrix.case, unit.matrix.metric,
         unit.matrix.msg_size_bytes)
        for unit in campaign_survey.slow_units for one in (unit.suspect,)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("kind", "node", maintain_order=True)
