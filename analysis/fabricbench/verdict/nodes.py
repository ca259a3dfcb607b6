# SPDX-License-Identifier: Apache-2.0
"""Which nodes, and which pairs of nodes, are slower than the others: from the rows of all pairs to names."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from fabricbench.core.launch import canonical_case, case_parts, lane_name
from fabricbench.core.metrics import METRICS
from fabricbench.core.table import usable
from fabricbench.stats.pairs import Effects, Floats, Pairs, Split, direction, split

BENCHMARKS = ("pair_latency", "pair_bandwidth")

MARGIN = 1.1
"""A slow-down that is worth a look."""

LEAST_Z = 6.0
"""An effect must be so many of its errors. At 5, four noisy nodes of which nothing is wrong were named too often."""

LEAST_BLOCKS = 6
"""The fewest values whose median has an interval of 95 %."""

LEAST_SEEN = 0.75
"""Share of an effect's blocks that must show it: what comes and goes is load, not a node."""

MOST_PAIRS, MOST_SHARE = 3, 0.1
"""With more slow pairs than either, they are a property of the network and not single links."""


class MatrixKey(NamedTuple):
    """What was measured of every pair: a metric of one case, beside the pair, on one lane."""

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
    def lane(self) -> str:
        """``stack@fabric`` or ``stack@fabric:variant``."""
        return lane_name(self.stack, self.fabric, self.variant)

    @property
    def words(self) -> str:
        """``bandwidth concurrency=alone window=4 at 1048576 bytes``."""
        return " ".join(part for part in (self.metric, self.case, f"at {self.msg_size_bytes} bytes") if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """A node (``other`` is empty), or a way from one to another, that is slower by a factor of ``slowdown``.

    ``role``: what the node is slow at. ``z``: the slow-down's logarithm in its errors; ``seen`` in so many ``blocks``.
    """

    kind: Literal["node", "pair", "direction"]
    node: str
    other: str
    role: str
    slowdown: float
    z: float
    seen: int
    blocks: int
    where: MatrixKey


@dataclass(frozen=True)
class Matrix:
    """One value per pair and block; ``names`` of nodes by number."""

    key: MatrixKey
    names: tuple[str, ...]
    pairs: Pairs

    @property
    def blocks(self) -> int:
        """In how many blocks anything was measured."""
        return len(np.unique(self.pairs.block))

    @cached_property
    def split(self) -> Split:
        """Effects of nodes and of pairs."""
        return split(self.pairs, float(np.log(MARGIN)))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is slow: nodes before pairs, the slowest first."""
        if len(self.names) == 2:
            return tuple(self._one_way())
        return (*self._ordered(self._nodes()), *(self._ordered(self._slow_pairs()) if not self.network else ()))

    @property
    def network(self) -> int:
        """How many pairs are slow, where they are so many that the network is what they have in common; else 0."""
        if len(self.names) == 2:
            return 0
        slow = len(_named(self.split.pairs))
        return slow if slow > max(MOST_PAIRS, MOST_SHARE * len(self.split.first)) else 0

    def _nodes(self) -> Iterator[Finding]:
        roles = ("sending", "receiving") if self.pairs.directed else ("either way",)
        for at in _named(self.split.nodes):
            name = self.names[at % len(self.names)]
            yield self._finding("node", name, "", roles[at // len(self.names)], self.split.nodes, at)

    def _slow_pairs(self) -> Iterator[Finding]:
        role = "one way" if self.pairs.directed else "either way"
        for at in _named(self.split.pairs):
            one, other = self.names[self.split.first[at]], self.names[self.split.second[at]]
            yield self._finding("pair", one, other, role, self.split.pairs, at)

    def _one_way(self) -> Iterator[Finding]:
        """Between two nodes."""
        if not self.pairs.directed:
            return
        forth, back = (self._by_block(first) for first in (0, 1))
        blocks = sorted(forth.keys() & back.keys())
        if not blocks:
            return
        ways = [np.array([way[block] for block in blocks]) for way in (forth, back)]
        for one, (a, b) in enumerate((ways, ways[::-1])):
            effect = direction(a, b, float(np.log(MARGIN)))
            for at in _named(effect):
                yield self._finding("direction", self.names[one], self.names[1 - one], "one way", effect, at)

    def _by_block(self, first: int) -> dict[int, float]:
        at = self.pairs.first == first
        return dict(zip(self.pairs.block[at].tolist(), self.pairs.slowness[at].tolist(), strict=True))

    def _finding(
        self, kind: Literal["node", "pair", "direction"], node: str, other: str, role: str, effects: Effects, at: int
    ) -> Finding:
        slowdown, z = float(np.exp(effects.effect[at])), float(effects.z[at])
        return Finding(kind, node, other, role, slowdown, z, int(effects.seen[at]), int(effects.blocks[at]), self.key)

    @staticmethod
    def _ordered(found: Iterable[Finding]) -> list[Finding]:
        return sorted(found, key=lambda finding: -finding.slowdown)


def matrices(table: pl.DataFrame) -> list[Matrix]:
    """Every metric of every pair, in order; a block's value is the median of those it has."""
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
            values[key._replace(case=canonical_case(case))][one, other, block].append(value)
    return [_matrix(key, values[key]) for key in sorted(values)]


def notes(found: Sequence[Matrix]) -> list[str]:
    """What the names do not say: too few blocks, two nodes, a network that is slow in many places; each once."""
    said: list[str] = []
    for matrix in found:
        lane = matrix.key.lane
        if matrix.blocks < LEAST_BLOCKS:
            said.append(f"{lane}: nothing is named before {LEAST_BLOCKS} blocks, there are {matrix.blocks}")
        if len(matrix.names) == 2:
            said.append(f"{lane}: of two nodes only the direction can be told, not which of them is slow")
        if slow := matrix.network:
            pairs = len(matrix.split.first)
            said.append(
                f"{lane}: {slow} of {pairs} pairs are slower than their nodes explain ({matrix.key.words}): "
                "look at the network's layout, not at single links"
            )
    return list(dict.fromkeys(said))


SCHEMA = pl.Schema(
    {
        "kind": pl.String,
        "node": pl.String,
        "other": pl.String,
        "role": pl.String,
        "slowdown": pl.Float64,
        "z": pl.Float64,
        "seen": pl.Int64,
        "blocks": pl.Int64,
        "lane": pl.String,
        "benchmark": pl.String,
        "case": pl.String,
        "metric": pl.String,
        "msg_size_bytes": pl.Int64,
    }
)


def as_frame(found: Sequence[Matrix]) -> pl.DataFrame:
    """A row per finding; ``other`` is empty of a node."""
    rows = [
        (f.kind, f.node, f.other, f.role, round(f.slowdown, 4), round(f.z, 2), f.seen, f.blocks, f.where.lane,
         f.where.benchmark, f.where.case, f.where.metric, f.where.msg_size_bytes)
        for matrix in found for f in matrix.findings
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("kind", "node", maintain_order=True)


def _directed(metric: str) -> bool:
    """Of a round trip nobody can say which way was slow."""
    return metric != "latency"


def _matrix(key: MatrixKey, values: dict[tuple[str, str, int], list[float]]) -> Matrix:
    names = sorted({name for one, other, _ in values for name in (one, other)}, key=natural)
    number = {name: at for at, name in enumerate(names)}
    entries = sorted((number[one], number[other], block, values[one, other, block]) for one, other, block in values)
    sign = 1.0 if METRICS[key.metric].better == "lower" else -1.0
    slowness: Floats = sign * np.log([float(np.median(entry[3])) for entry in entries])
    first, second, block = (np.array([entry[at] for entry in entries], dtype=np.int64) for at in range(3))
    return Matrix(key, tuple(names), Pairs(len(names), first, second, block, slowness, _directed(key.metric)))


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts n2 before n10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)]


def _named(effects: Effects) -> list[int]:
    """Those beyond margin and errors, in enough blocks."""
    enough = (effects.blocks >= LEAST_BLOCKS) & (effects.seen >= LEAST_SEEN * effects.blocks)
    large = (effects.effect >= np.log(MARGIN)) & (effects.z >= LEAST_Z)
    return [int(at) for at in np.flatnonzero(enough & large)]
