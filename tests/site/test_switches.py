# SPDX-License-Identifier: Apache-2.0
"""Nodes near and far by their switches: blocks use different nodes; a request that cannot be met has a reason."""

from itertools import pairwise

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.switches import nodes_at, objection, switches_of, within
from fabricbench.site.transports import DISTANCES, Distance

SWITCHES = switches_of("leaf1=n[1-4] leaf2=n[5-8] leaf3=n9", "here")
AT = {node: name for name, nodes in SWITCHES.items() for node in nodes}


def test_the_text_of_the_switches() -> None:
    assert SWITCHES == {"leaf1": ("n1", "n2", "n3", "n4"), "leaf2": ("n5", "n6", "n7", "n8"), "leaf3": ("n9",)}
    assert switches_of("", "here") == {}


@pytest.mark.parametrize("word", ["leaf1", "=n1", "leaf1=", "leaf1=n[x]"])
def test_another_text_is_an_error(word: str) -> None:
    with pytest.raises(BadInput, match="is not a switch; expected switches with their nodes"):
        switches_of(word, "here")


def test_only_nodes_of_the_pool_count() -> None:
    assert within(SWITCHES, ("n9", "n2", "n1", "n20")) == {"leaf1": ("n2", "n1"), "leaf3": ("n9",)}


@pytest.mark.parametrize(
    ("count", "distance", "reason"),
    [
        (4, "near", ""),
        (5, "near", "no switch has 5 nodes of the fabric, the largest has 4"),
        (3, "far", ""),
        (4, "far", "4 nodes need 4 switches, those of the fabric are on 3"),
    ],
)
def test_what_is_not_possible(count: int, distance: Distance, reason: str) -> None:
    assert objection(SWITCHES, count, distance) == reason


@pytest.mark.parametrize("count", [1, 2, 4])
def test_near_nodes_are_on_one_switch_and_change(count: int) -> None:
    chosen = [nodes_at(SWITCHES, count, "near", block, 7) for block in range(12)]
    assert all(len({AT[node] for node in nodes}) == 1 and len(set(nodes)) == count for nodes in chosen)
    covered = {node for nodes in chosen for node in nodes}
    assert covered >= {*SWITCHES["leaf1"], *SWITCHES["leaf2"]}
    assert any(one != other for one, other in pairwise(chosen))


@pytest.mark.parametrize("count", [2, 3])
def test_far_nodes_are_on_different_switches_and_cover_all(count: int) -> None:
    chosen = [nodes_at(SWITCHES, count, "far", block, 7) for block in range(12)]
    assert all(len({AT[node] for node in nodes}) == len(nodes) == count for nodes in chosen)
    assert {node for nodes in chosen for node in nodes} == set(AT)


def test_the_choice_depends_on_its_arguments_only() -> None:
    for distance in DISTANCES:
        assert nodes_at(SWITCHES, 2, distance, 5, 1) == nodes_at(dict(SWITCHES), 2, distance, 5, 1)
    assert len({nodes_at(SWITCHES, 2, "far", 0, seed) for seed in range(8)}) > 1
