# SPDX-License-Identifier: Apache-2.0
"""Stalled values form a mode; slow nodes, slow pairs and heavy tails do not."""

import numpy as np
import pytest

from fabricbench.stats.contrasts import node_contrasts, pair_contrasts, stall_counts
from fabricbench.stats.modes import modes
from fabricbench.stats.node_pairs import NodePairs, numbered
from verdict.simulated_node_pairs import NOISES, STALL, World, matrix


def simulated(world: World, seed: int = 1, *, latency: bool = False) -> NodePairs:
    return matrix(world, np.zeros(world.nodes), np.random.default_rng(seed), latency=latency).pairs


@pytest.mark.parametrize("noise", NOISES[2:])
@pytest.mark.parametrize(("nodes", "blocks"), [(4, 6), (4, 30), (8, 15), (64, 6)])
@pytest.mark.parametrize("latency", [False, True])
def test_stalls_are_a_mode(noise: str, nodes: int, blocks: int, latency: bool) -> None:
    pairs = simulated(World(nodes, blocks, noise, slow={1: 1.5}), latency=latency)
    result = modes(pairs)
    assert result.bimodal
    assert result.share == pytest.approx(np.mean(pairs.slowness > STALL / 2), abs=0.03)
    assert result.fast == pytest.approx(0, abs=0.3)
    assert result.slow == pytest.approx(STALL, abs=0.5)


@pytest.mark.parametrize("noise", NOISES[:2])
@pytest.mark.parametrize("cv", [0.1, 0.5])
def test_scatter_and_heavy_tails_are_not_a_mode(noise: str, cv: float) -> None:
    assert not any(
        modes(simulated(World(nodes, 15, noise, cv=cv), seed)).bimodal for nodes in (3, 4, 16) for seed in range(10)
    )


def test_nodes_and_node_pairs_that_are_always_slow_do_not_stall() -> None:
    assert not modes(simulated(World(4, 15, slow={2: 20.0}))).bimodal
    assert not modes(simulated(World(6, 15, links={(0, 1): 20.0, (1, 0): 20.0}))).bimodal


def test_contrasts_of_nodes_are_medians_of_their_pairs_and_of_the_rest() -> None:
    pairs = simulated(World(5, 3))
    nothing = np.zeros(len(pairs.slowness), dtype=bool)
    result = node_contrasts(pairs, nothing)
    of_block = pairs.block == 1
    own = of_block & (pairs.second == 3)
    rest = of_block & (pairs.first != 3) & (pairs.second != 3)
    at = (result.unit == 3 + 5) & (result.group == 1 + 3)
    assert result.value[at] == pytest.approx([np.median(pairs.slowness[own]) - np.median(pairs.slowness[rest])])
    assert len(result.unit) == 5 * 2 * 3


def test_contrasts_of_pairs_are_against_the_other_pairs_of_both_nodes() -> None:
    pairs = simulated(World(5, 3))
    place = numbered(pairs)[2]
    result = pair_contrasts(pairs, np.zeros(len(place), dtype=bool), place)
    entry = (pairs.block == 2) & (pairs.first == 1) & (pairs.second == 4)
    of_block = (pairs.block == 2) & ~entry
    sides = [np.median(pairs.slowness[of_block & side]) for side in (pairs.first == 1, pairs.second == 4)]
    at = (result.unit == place[entry][0]) & (result.group == 2)
    assert result.value[at] == pytest.approx(pairs.slowness[entry] - sum(sides))
    assert result.least[at] == pytest.approx(pairs.slowness[entry] - max(sides))


def test_only_blocks_with_all_partners_of_a_node_are_compared() -> None:
    """Of five nodes one rests in each round, so of four rounds one node has four partners and the others three."""
    full = simulated(World(5, 2), latency=True)
    mask = (full.first + full.second) % 5 != full.block  # a round is left out of each block
    pairs = NodePairs(5, full.first[mask], full.second[mask], full.block[mask], full.slowness[mask], False)
    result = node_contrasts(pairs, np.zeros(mask.sum(), dtype=bool))
    resting = {(node, block) for block in (0, 1) for node in range(5) if (2 * node) % 5 == block}
    assert {(int(u), int(g)) for u, g in zip(result.unit, result.group, strict=True)} == resting
    assert (stall_counts(pairs, np.zeros(mask.sum(), dtype=bool)) >= 0).sum() == len(resting)
