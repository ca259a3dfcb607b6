# SPDX-License-Identifier: Apache-2.0
"""Scales: the number of nodes of a launch and of the ranks on each, and the scales that a tier measures."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fabricbench.errors import BadInput

_TEXT = re.compile(r"([1-9]\d{0,6})x([1-9]\d{0,6})", re.ASCII)
EXAMPLE = "NODESxRANKS_PER_NODE, as in 4x8,16x1"

Breadth = Literal["every", "ends", "ends_between_nodes", "smallest"]
"""Which scales of a tier a check measures: all of them; the smallest and the largest; all on a fabric of one node, and
the smallest and the largest on a fabric of several nodes; or in every tier the one of the tier ``quick``."""


@dataclass(frozen=True, slots=True, order=True)
class Scale:
    """A number of nodes and of ranks on each of them, written ``4x8``."""

    nodes: int
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """Number of ranks on all nodes."""
        return self.nodes * self.ranks_per_node

    def __str__(self) -> str:
        return f"{self.nodes}x{self.ranks_per_node}"


def scale_text(nodes: int, ranks: int) -> str:
    """Returns ``4x8`` for 32 ranks on 4 nodes; ``7 ranks`` if the nodes do not have equally many."""
    return f"{ranks} ranks" if ranks % nodes else str(Scale(nodes, ranks // nodes))


def scales_of(texts: Iterable[str], where: str = "--scale") -> tuple[Scale, ...]:
    """Returns the scales in lists such as ``4x8,16x1``, each once, in their order.

    Raises BadInput, with ``where``, for a text that is not a scale.
    """
    scales: dict[Scale, None] = {}
    for text in (word for words in texts for word in words.split(",")):
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput(f"'{text[:40]}' is not a scale", where=where, expected=EXAMPLE)
        scales[Scale(int(match[1]), int(match[2]))] = None
    return tuple(scales)


def scale_of(text: str, where: str = "--scale") -> Scale:
    """Returns the scale written ``4x8``; raises BadInput for another text."""
    scales = scales_of([text], where)
    if len(scales) != 1:
        raise BadInput(f"'{text[:40]}' is not one scale", where=where, expected="one scale, as in 4x8")
    return scales[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRule:
    """The scales that a benchmark supports.

    ``least_ranks``, ``most_ranks``: limits of the number of ranks, ``most_ranks`` only for the choice of a tier.
    ``even``: rank pairs need an even number of ranks. ``power_of_two``: of ranks. ``one_per_node``: one rank on each
    node. ``quick_ranks``: on a fabric of one node, the quick tier takes the largest power of two up to this.
    """

    least_ranks: int = 1
    most_ranks: int = 2**31 - 1
    even: bool = False
    power_of_two: bool = False
    one_per_node: bool = False
    quick_ranks: int = 0

    def objection(self, scale: Scale) -> str:
        """Returns what the benchmark needs and ``scale`` does not have; empty if it supports the scale."""
        ranks = scale.ranks
        if self.one_per_node and scale.ranks_per_node != 1:
            return f"one rank on each node, not {scale.ranks_per_node}"
        if ranks < self.least_ranks:
            return f"at least {self.least_ranks} ranks, not {ranks}"
        if self.even and ranks % 2:
            return f"an even number of ranks, not {ranks}"
        if self.power_of_two and ranks.bit_count() != 1:
            return f"a power of two of ranks, not {ranks}"
        return ""

    def fitting(self, nodes: int, cores: int) -> Scale | None:
        """Returns the scale on ``nodes`` nodes with the most ranks on each, up to ``cores``; None if there is none."""
        counts = (1,) if self.one_per_node else range(min(cores, self.most_ranks // nodes), 0, -1)
        scales = (Scale(nodes, count) for count in counts)
        return next((scale for scale in scales if not self.objection(scale)), None)


RANK_PAIRS = ScaleRule(least_ranks=2, even=True)
COLLECTIVE = ScaleRule(least_ranks=2)
ONE_PER_NODE = ScaleRule(least_ranks=2, one_per_node=True)


def tier_scales(tier: str, nodes: int, cores: int, rule: ScaleRule, breadth: Breadth = "every") -> tuple[Scale, ...]:
    """Returns the scales that a tier measures on a fabric of ``nodes`` nodes with ``cores`` cores each, in order.

    On several nodes: ``quick`` two nodes with one rank each; ``standard`` powers of two of nodes, with one rank on each
    and with one on each core; ``acceptance`` these and all nodes, even if ``rule`` excludes them, so that the launch is
    skipped with its reason. On one node: powers of two of ranks up to the cores; ``quick`` one of them.
    """
    if breadth == "smallest":
        tier, breadth = "quick", "every"
    within = _on_one_node(tier, cores, rule) if nodes == 1 else _between_nodes(tier, nodes, cores, rule)
    if breadth == "every" or (breadth == "ends_between_nodes" and nodes == 1):
        return within
    crossing = [scale for scale in within if scale.nodes > 1 or nodes == 1]
    supported = [scale for scale in within if not rule.objection(scale)]
    largest = max(supported, key=lambda scale: (scale.ranks, scale.nodes))
    return tuple(sorted({*crossing[:1], largest}))


def _on_one_node(tier: str, cores: int, rule: ScaleRule) -> tuple[Scale, ...]:
    counts = [2**k for k in range(max(cores, 1).bit_length()) if rule.least_ranks <= 2**k <= rule.most_ranks]
    counts = counts or [rule.least_ranks]
    if tier == "quick":
        counts = [max((count for count in counts if count <= rule.quick_ranks), default=counts[0])]
    return tuple(Scale(1, count) for count in counts)


def _between_nodes(tier: str, nodes: int, cores: int, rule: ScaleRule) -> tuple[Scale, ...]:
    if tier == "quick":
        return (Scale(2, 1),)
    scales: set[Scale] = set()
    for count in (2**k for k in range(nodes.bit_length())):
        single, full = Scale(count, 1), rule.fitting(count, cores)
        scales |= {single} if not rule.objection(single) else set()
        scales |= {full} if full else set()
    if tier == "acceptance":
        scales |= {Scale(nodes, 1), rule.fitting(nodes, cores) or Scale(nodes, 1 if rule.one_per_node else cores)}
    return tuple(sorted(scales))
