# SPDX-License-Identifier: Apache-2.0
"""Scales: their text, the rules of benchmarks, and the scales that each tier measures."""

from dataclasses import replace

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.scale import (
    COLLECTIVE,
    ONE_PER_NODE,
    RANK_PAIRS,
    Breadth,
    Scale,
    ScaleRule,
    scale_of,
    scales_of,
    tier_scales,
)

ANY = ScaleRule()
POWERS = ScaleRule(power_of_two=True)


def words(tier: str, nodes: int, cores: int, rule: ScaleRule, breadth: Breadth = "every") -> str:
    return " ".join(map(str, tier_scales(tier, nodes, cores, rule, breadth)))


def test_lists_of_scales() -> None:
    assert scales_of(["4x8,16x1", "4x8"]) == (Scale(4, 8), Scale(16, 1))
    assert (Scale(4, 8).ranks, str(Scale(4, 8))) == (32, "4x8")


@pytest.mark.parametrize("text", ["", "4", "4x", "x8", "0x1", "1x0", "4X8", "4x8x2", "-1x2", "٤x8", "12345678x1"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(BadInput, match="is not a scale; expected NODESxRANKS_PER_NODE"):
        scales_of([text])


def test_a_list_is_not_one_scale() -> None:
    with pytest.raises(BadInput, match=r"MicroBarrier\.scale: '2x1,4x1' is not one scale"):
        scale_of("2x1,4x1", where="MicroBarrier.scale")


@pytest.mark.parametrize(
    ("rule", "scale", "objection"),
    [
        (COLLECTIVE, Scale(1, 1), "at least 2 ranks, not 1"),
        (RANK_PAIRS, Scale(3, 1), "an even number of ranks, not 3"),
        (POWERS, Scale(3, 4), "a power of two of ranks, not 12"),
        (ONE_PER_NODE, Scale(4, 2), "one rank on each node, not 2"),
        (POWERS, Scale(4, 4), ""),
        (RANK_PAIRS, Scale(3, 2), ""),
    ],
)
def test_a_rule_says_what_a_scale_lacks(rule: ScaleRule, scale: Scale, objection: str) -> None:
    assert rule.objection(scale) == objection


@pytest.mark.parametrize(
    ("tier", "rule", "expected"),
    [
        ("quick", COLLECTIVE, "2x1"),
        ("standard", COLLECTIVE, "1x6 2x1 2x6 4x1 4x6"),
        ("acceptance", COLLECTIVE, "1x6 2x1 2x6 4x1 4x6 5x1 5x6"),
        ("standard", ANY, "1x1 1x6 2x1 2x6 4x1 4x6"),
        ("standard", POWERS, "1x1 1x4 2x1 2x4 4x1 4x4"),
        ("acceptance", POWERS, "1x1 1x4 2x1 2x4 4x1 4x4 5x1 5x6"),
        ("acceptance", ONE_PER_NODE, "2x1 4x1 5x1"),
    ],
)
def test_five_nodes_of_six_cores(tier: str, rule: ScaleRule, expected: str) -> None:
    """All nodes are in the tier acceptance, even where the rule excludes them: the skip names the reason."""
    assert words(tier, 5, 6, rule) == expected


@pytest.mark.parametrize(
    ("tier", "rule", "expected"),
    [
        ("quick", COLLECTIVE, "1x2"),
        ("standard", COLLECTIVE, "1x2 1x4"),
        ("acceptance", POWERS, "1x1 1x2 1x4"),
        ("quick", replace(POWERS, quick_ranks=8), "1x4"),
        ("quick", replace(POWERS, quick_ranks=2), "1x2"),
    ],
)
def test_one_node_of_six_cores(tier: str, rule: ScaleRule, expected: str) -> None:
    assert words(tier, 1, 6, rule) == expected


def test_one_core_still_has_the_least_ranks() -> None:
    assert words("standard", 1, 1, COLLECTIVE) == "1x2"
    assert words("standard", 1, 1, POWERS) == "1x1"
    assert words("standard", 2, 1, COLLECTIVE) == "2x1"


@pytest.mark.parametrize(
    ("tier", "nodes", "breadth", "expected"),
    [
        ("standard", 5, "ends", "2x1 4x6"),
        ("acceptance", 5, "ends", "2x1 5x6"),
        ("standard", 1, "ends", "1x2 1x4"),
        ("standard", 1, "ends_between_nodes", "1x2 1x4"),
        ("standard", 5, "ends_between_nodes", "2x1 4x6"),
        ("acceptance", 5, "smallest", "2x1"),
    ],
)
def test_breadth(tier: str, nodes: int, breadth: Breadth, expected: str) -> None:
    assert words(tier, nodes, 6, COLLECTIVE, breadth) == expected


def test_a_limit_of_ranks_has_fewer_ranks_on_each_node() -> None:
    rule = replace(COLLECTIVE, most_ranks=1024)
    largest = tier_scales("acceptance", 1000, 64, rule)
    assert max(scale.ranks for scale in largest) == 1024
    assert Scale(1000, 1) in largest


def test_the_number_of_scales_grows_with_the_logarithm_of_the_nodes() -> None:
    assert len(tier_scales("standard", 1000, 64, COLLECTIVE)) == 19
    assert len(tier_scales("standard", 1000, 64, COLLECTIVE, "ends")) == 2
