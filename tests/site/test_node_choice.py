# SPDX-License-Identifier: Apache-2.0
"""The rule that chooses nodes: it covers every node, uses them equally often, and mixes partners."""

from collections import Counter
from itertools import combinations
from math import ceil

import pytest

from fabricbench.site.hostlist import expand
from fabricbench.site.node_choice import chosen_nodes

RECORDED = [("n2", "n3"), ("n1", "n4"), ("n2", "n3"), ("n1", "n4")]
"""Two of four nodes in the first blocks, with seed 0."""


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(1, count + 1))


@pytest.mark.parametrize(("count", "of"), [(2, 4), (2, 5), (3, 7), (4, 16), (16, 16), (1, 3), (512, 1000)])
def test_the_first_blocks_cover_every_node(count: int, of: int) -> None:
    used = Counter(name for block in range(ceil(of / count)) for name in chosen_nodes(names(of), count, block, 7))
    assert set(used) == set(names(of))


@pytest.mark.parametrize(("count", "of"), [(2, 5), (3, 7), (4, 16)])
def test_nodes_are_used_equally_often(count: int, of: int) -> None:
    used = Counter(name for block in range(30) for name in chosen_nodes(names(of), count, block, 7))
    assert max(used.values()) - min(used.values()) <= 0.25 * max(used.values())


def test_partners_change() -> None:
    pairs = {pair for block in range(30) for pair in combinations(chosen_nodes(names(8), 2, block, 7), 2)}
    assert len(pairs) > 15


def test_the_choice_depends_on_its_arguments_only() -> None:
    """The values are those of the rule ``rotation-1``; another choice needs another name of the rule."""
    assert [chosen_nodes(names(4), 2, block, 0) for block in range(4)] == RECORDED
    assert chosen_nodes(names(4), 4, 3, 0) == names(4)
    assert any(chosen_nodes(names(4), 2, block, 1) != nodes for block, nodes in enumerate(RECORDED))


@pytest.mark.parametrize("count", [0, 5])
def test_more_nodes_than_there_are(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} of 4 nodes"):
        chosen_nodes(names(4), count, 0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("n1", ("n1",)),
        ("n[1-3,7],login", ("n1", "n2", "n3", "n7", "login")),
        ("n[08-10]", ("n08", "n09", "n10")),
        ("r[1-2]n[1-2]-ib", ("r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib")),
        ("n[a-b]", ()),
        ("n[1-999999999]", ()),
    ],
)
def test_host_lists(text: str, expected: tuple[str, ...]) -> None:
    assert expand(text) == expected
