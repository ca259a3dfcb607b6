# SPDX-License-Identifier: Apache-2.0
"""Arranges the values of all node pairs of a campaign in matrices, one for each metric of a lane."""

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.launch.table import usable
from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro import node_pairs as micro_node_pairs
from fabricbench.site.lane import LaneNamed
from fabricbench.stats.modes import Modes, modes
from fabricbench.stats.node_pairs import Effects, Floats, NodePairs, estimate_effects

BENCHMARKS = micro_node_pairs.BENCHMARKS

LEAST_BLOCKS = 6
"""The least number of values whose median has a 95 % interval; with fewer blocks no node or node pair is selected."""


@dataclass(frozen=True, slots=True, order=True)
class MatrixKey(LaneNamed):
    """The quantity in a matrix: a metric of one case, apart from the node pair, on one lane."""

    system: str
    stack: str
    fabric: str
    variant: str
    benchmark: str
    case: str
    metric: str
    msg_size_bytes: int
    nodes: int

    @property
    def words(self) -> str:
        """The quantity as text: ``bandwidth concurrency=alone window=4 at 1048576 bytes``."""
        return " ".join(part for part in (self.metric, self.case, f"at {self.msg_size_bytes} bytes") if part)


@dataclass(frozen=True)
class Matrix:
    """One value for each node pair and block; ``names`` holds the names of the nodes by number."""

    key: MatrixKey
    names: tuple[str, ...]
    pairs: NodePairs

    @property
    def blocks(self) -> int:
        """The number of blocks with any value."""
        return len(np.unique(self.pairs.block))

    @cached_property
    def modes(self) -> Modes:
        """The stalled values.

        With fewer than ``LEAST_BLOCKS`` blocks a pair's ordinary value is unknown, and no value stalls.
        """
        if self.blocks >= LEAST_BLOCKS:
            return modes(self.pairs)
        level = float(np.median(self.pairs.slowness))
        return Modes(np.zeros(len(self.pairs.slowness), dtype=bool), level, float("nan"))

    @cached_property
    def effects(self) -> Effects:
        """The effects of nodes and of pairs, without stalled values."""
        return estimate_effects(self.pairs, self.modes.stalled)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles in which a node can be slow."""
        return ("sending", "receiving") if self.pairs.directed else ("either way",)

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return METRICS[self.key.metric].unit

    def value(self, slowness: float) -> float:
        """Returns the metric's value, in its unit, for a logarithmic slowness."""
        return float(np.exp(slowness if METRICS[self.key.metric].better == "lower" else -slowness))


def matrices(table: pl.DataFrame) -> list[Matrix]:
    """Returns the matrices of a campaign in order. The value of a block is the median of its values."""
    rows = usable(table).filter(pl.col("benchmark").is_in(BENCHMARKS) & pl.col("msg_size_bytes").is_not_null())
    columns = ("system", "stack", "fabric", "variant", "benchmark", "case", "metric", "msg_size_bytes", "nodes")
    values: dict[MatrixKey, dict[tuple[str, str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for *parts, block, value in rows.select(*columns, "block", "value").iter_rows():
        key = MatrixKey(*parts)
        case = case_parts(key.case)
        if value > 0 and {"from", "to"} <= case.keys():
            one, other = case.pop("from"), case.pop("to")
            if not _directed(key.metric):
                one, other = sorted((one, other))
            values[replace(key, case=canonical_case(case))][one, other, block].append(value)
    return [_matrix(key, values[key]) for key in sorted(values)]


def _directed(metric: str) -> bool:
    """Returns whether a metric has a direction; a round trip does not show which direction is slow."""
    return metric != "latency"


def _matrix(key: MatrixKey, values: dict[tuple[str, str, int], list[float]]) -> Matrix:
    names = sorted({name for one, other, _ in values for name in (one, other)}, key=natural)
    number = {name: at for at, name in enumerate(names)}
    entries = sorted((number[one], number[other], block, values[one, other, block]) for one, other, block in values)
    sign = 1.0 if METRICS[key.metric].better == "lower" else -1.0
    slowness: Floats = sign * np.log([float(np.median(entry[3])) for entry in entries])
    first, second, block = (np.array([entry[at] for entry in entries], dtype=np.int64) for at in range(3))
    return Matrix(key, tuple(names), NodePairs(len(names), first, second, block, slowness, _directed(key.metric)))


def natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key that puts n2 before n10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)]
