# SPDX-License-Identifier: Apache-2.0
"""Effects of nodes and of pairs: known effects are recovered for any number of nodes."""

from dataclasses import replace

import numpy as np
import pytest

from fabricbench.stats.node_pairs import NodePairs, estimate_effects, group_medians

HALF_RATE = float(np.log(2.0))


def node_pairs(
    nodes: int,
    *,
    slow: dict[int, float] | None = None,
    links: dict[tuple[int, int], float] | None = None,
    directed: bool = True,
    blocks: int = 6,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> NodePairs:
    """All pairs in every block, at the slower node's rate, with a level of each block's own."""
    entries = []
    for block in range(blocks):
        for one in range(nodes):
            for other in range(nodes):
                if one != other and (directed or one < other):
                    value = max((slow or {}).get(one, 0.0), (slow or {}).get(other, 0.0)) + 0.3 * block
                    value += (links or {}).get((one, other), 0.0)
                    entries.append((one, other, block, value + (noise * rng.standard_normal() if rng else 0.0)))
    first, second, block_of, slowness = (np.array(column) for column in zip(*entries, strict=True))
    return NodePairs(nodes, first, second, block_of, slowness, directed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 33])
def test_a_slow_node_is_an_effect_of_the_node(nodes: int, directed: bool) -> None:
    result = estimate_effects(node_pairs(nodes, slow={1: HALF_RATE}, directed=directed))
    expected = np.zeros(nodes * (1 + directed))
    expected[1::nodes] = HALF_RATE
    assert result.nodes == pytest.approx(expected, abs=1e-9)
    assert result.pairs == pytest.approx(0, abs=1e-9)
    assert result.typical == pytest.approx(result.ordinary + HALF_RATE * ((result.first == 1) | (result.second == 1)))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 33])
def test_a_slow_link_is_an_effect_of_the_node_pair(nodes: int, directed: bool) -> None:
    result = estimate_effects(node_pairs(nodes, links={(0, 1): HALF_RATE}, directed=directed))
    assert result.nodes == pytest.approx(0, abs=1e-9)
    slow = (result.first == 0) & (result.second == 1)
    assert result.pairs == pytest.approx(np.where(slow, HALF_RATE, 0.0), abs=1e-9)


def test_a_node_that_is_slow_at_sending_alone() -> None:
    result = estimate_effects(node_pairs(5, links={(2, other): HALF_RATE for other in range(5)}))
    assert result.nodes == pytest.approx(np.eye(10)[2] * HALF_RATE, abs=1e-9)


def test_two_slow_nodes_and_a_slow_link_among_noise() -> None:
    rng = np.random.default_rng(7)
    slow, links = {3: HALF_RATE, 9: np.log(1.5)}, {(0, 1): HALF_RATE, (1, 0): HALF_RATE}
    result = estimate_effects(node_pairs(16, slow=slow, links=links, noise=0.05, rng=rng))
    worst = np.argsort(-result.nodes)[:4]
    assert {int(node) % 16 for node in worst} == {3, 9}
    assert result.nodes[worst[:2]] == pytest.approx(HALF_RATE, abs=0.1)
    most = np.argsort(-result.pairs)[:2]
    assert {(int(result.first[at]), int(result.second[at])) for at in most} == {(0, 1), (1, 0)}


def test_node_pairs_measured_once_contribute_to_their_nodes() -> None:
    """Some rounds of many in every block: no pair comes again, each node does."""
    rng = np.random.default_rng(8)
    full = node_pairs(32, slow={4: HALF_RATE}, blocks=1, noise=0.03, rng=rng)
    block = (full.first + full.second) % 31 // 4  # the circle's rounds, four a block
    result = estimate_effects(NodePairs(32, full.first, full.second, block, full.slowness, True))
    assert np.flatnonzero(result.nodes > np.log(1.1)).tolist() == [4, 36]


def test_stalled_entries_do_not_count() -> None:
    """Except those of a pair that has no others, so that it keeps a place on the map."""
    measured = node_pairs(5, slow={1: HALF_RATE}, blocks=8)
    never = (measured.first == 2) & (measured.second == 3)
    stalled = (measured.block + measured.first + measured.second) % 3 == 0
    slowness = measured.slowness + 7.0 * (stalled | never)
    result = estimate_effects(replace(measured, slowness=slowness), stalled | never)
    assert result.nodes == pytest.approx(np.eye(10)[1] * HALF_RATE + np.eye(10)[6] * HALF_RATE, abs=1e-9)
    assert result.pairs == pytest.approx(7.0 * ((result.first == 2) & (result.second == 3)), abs=1e-9)


def test_medians_of_groups() -> None:
    rng = np.random.default_rng(10)
    values, group = rng.standard_normal(50), np.concatenate([np.arange(7), rng.integers(0, 7, 43)])
    assert group_medians(values, group) == pytest.approx([np.median(values[group == at]) for at in range(7)])
