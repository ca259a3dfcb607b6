# SPDX-License-Identifier: Apache-2.0
"""Simulated rates at which healthy and slow nodes and pairs are named, with and without stalls."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from fabricbench.stats.node_pairs import NodePairs
from fabricbench.verdict.nodes import Matrix
from fabricbench.verdict.survey import SlowUnit, Survey, as_frame
from fabricbench.verdict.suspects import ALPHA, TOLERANCE
from verdict.simulated_node_pairs import NOISES, World, campaign, matrix


def names(found: Survey) -> set[tuple[str, str]]:
    return {(unit.suspect.kind, unit.suspect.node + unit.suspect.other) for unit in found.slow_units}


def often(world: World, campaigns: int, wrong: str, seed: int = 1) -> tuple[int, int]:
    """In how many campaigns the slow node 1 is named, and in how many any other that is ``wrong``."""
    rng = np.random.default_rng(seed)
    result = [names(campaign(world, rng)) for _ in range(campaigns)]
    return sum(("node", "n1") in one for one in result), sum(any(name != wrong for _, name in one) for one in result)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("nodes", "blocks", "campaigns"),
    [(2, 7, 200), (3, 6, 150), (4, 6, 150), (4, 30, 60), (8, 6, 100), (8, 15, 60), (16, 6, 40), (64, 6, 8)],
)
def test_a_healthy_machine_is_rarely_named(nodes: int, blocks: int, campaigns: int, noise: str) -> None:
    """No more campaigns than an error rate of ``ALPHA`` gives in 999 of 1000 runs; healthy nodes differ by 1 %."""
    false_alarms = often(World(nodes, blocks, noise, spread=0.01), campaigns, "")[1]
    assert false_alarms <= binom.ppf(0.999, campaigns, ALPHA)


@pytest.mark.parametrize("noise", NOISES)
def test_healthy_nodes_are_not_named_with_a_slow_node_and_a_slow_link(noise: str) -> None:
    rng = np.random.default_rng(2)
    world = World(8, 15, noise, slow={1: 3.0}, links={(4, 5): 3.0})
    false_alarms = sum(bool(names(campaign(world, rng)) - {("node", "n1"), ("pair", "n4n5")}) for _ in range(60))
    assert false_alarms <= binom.ppf(0.999, 60, ALPHA)


@pytest.mark.parametrize(
    ("noise", "blocks", "least"), [("log-normal", 15, 0.9), ("stalled values", 30, 0.8), ("stalled nodes", 30, 0.8)]
)
def test_a_node_that_is_half_as_slow_again_is_named(noise: str, blocks: int, least: float) -> None:
    """Among 8 nodes. So many that a rule with a lower power would fail in 19 of 20 runs."""
    detections, false_alarms = often(World(8, blocks, noise, slow={1: 1.5}), 60, "n1")
    assert detections >= binom.ppf(0.95, 60, least)
    assert false_alarms <= binom.ppf(0.999, 60, ALPHA)


def test_a_throttled_node_of_four_is_named_from_six_blocks() -> None:
    detections, _ = often(World(4, 6, slow={1: 2.0}), 60, "n1")
    assert detections >= 54


def test_a_small_difference_is_not_named_however_many_blocks_there_are() -> None:
    assert not any(names(campaign(World(6, 120, slow={1: 1.04}), np.random.default_rng(seed))) for seed in range(10))


def test_a_node_that_scatters_more_is_not_slow() -> None:
    rng = np.random.default_rng(4)
    false_alarms = sum(bool(names(campaign(World(8, 15, noisy={1: 5.0}), rng))) for _ in range(60))
    assert false_alarms <= binom.ppf(0.999, 60, ALPHA)


def test_the_untouched_node_of_a_stalling_campaign_is_not_named() -> None:
    """Four nodes, latencies of 8 us and 8 ms, one throttled: the scatter of such values says nothing."""
    for seed in range(40):
        result = campaign(World(4, 15, "stalled values", slow={2: 2.0}), np.random.default_rng(seed))
        assert names(result) <= {("node", "n2")}


@pytest.mark.parametrize("noise", NOISES)
def test_affected_blocks_are_counted_from_the_values(noise: str) -> None:
    result = campaign(World(6, 20, noise, slow={3: 1.6}), np.random.default_rng(5))
    rows = [one for one in result.slow_units if one.suspect.kind == "node"]
    assert rows
    for one in rows:
        assert (one.suspect.affected_blocks, one.suspect.blocks) == count_by_hand(result, one)


def count_by_hand(found: Survey, one: SlowUnit) -> tuple[int, int]:
    """By hand: in how many blocks the median of the node's pairs is ``TOLERANCE`` times that of the others or more."""
    (of,) = (matrix for matrix in found.matrices if matrix.key == one.matrix)
    pairs, node = of.pairs, of.names.index(one.suspect.node)
    sides = {"sending": [pairs.first], "receiving": [pairs.second], "either way": [pairs.first, pairs.second]}
    own = np.any([side == node for side in sides[one.suspect.role]], axis=0)
    without = (pairs.first != node) & (pairs.second != node)
    ordinary = pairs.slowness < math.log(30)
    slow_blocks = blocks = 0
    for block in range(of.blocks):
        mine, others = (pairs.slowness[ordinary & (pairs.block == block) & side] for side in (own, without))
        if len(mine) and len(others):
            blocks += 1
            slow_blocks += bool(np.median(mine) - np.median(others) >= math.log(TOLERANCE))
    return slow_blocks, blocks


@pytest.mark.parametrize("noise", NOISES[2:])
def test_two_modes_are_named_as_stalls(noise: str) -> None:
    result = campaign(World(8, 15, noise), np.random.default_rng(6))
    assert result.slow_units == ()
    (note,) = [note for note in result.notes if "(latency at 8 bytes)" in note]
    assert "of the values stall (latency at 8 bytes): two modes, with medians 1." in note or "medians 0.9" in note
    assert "us and 1" in note or "us and 9" in note
    assert not campaign(World(8, 15), np.random.default_rng(6)).notes


def test_a_node_that_stalls_more_often_is_named_as_such() -> None:
    rng = np.random.default_rng(7)
    stalling = dict.fromkeys(range(8), 0.05) | {1: 0.5}
    result = [campaign(World(8, 15, stalling=stalling), rng) for _ in range(40)]
    assert sum(names(one) == {("stalls", "n1")} for one in result) >= 32
    assert sum(bool(names(one) - {("stalls", "n1")}) for one in result) <= binom.ppf(0.999, 40, ALPHA)
    row = as_frame(result[0]).row(0, named=True)
    assert row["slowdown"] is None
    assert row["stalled"] == pytest.approx(0.5, abs=0.25)
    assert row["stalled_others"] < 0.3


def test_one_stalling_node_pair_is_not_a_slow_node() -> None:
    """Stalls of one link are in the values of two nodes, but not in most of their pairs."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        of = matrix(World(5, 15), np.zeros(5), rng, latency=True)
        bad = (of.pairs.first == 0) & (of.pairs.second == 1) & (rng.random(len(of.pairs.block)) < 0.7)
        of.pairs.slowness[bad] += math.log(1000)
        assert not {kind for kind, _ in names(Survey((of,)))} & {"stalls", "node"}


def test_two_nodes_without_directions_cannot_be_decided() -> None:
    """A round trip between two nodes has no direction that could be compared."""
    rng = np.random.default_rng(4)
    result = Survey((matrix(World(2, 30, slow={1: 3.0}), np.zeros(2), rng, latency=True),))
    assert (result.decidable, names(result)) == (False, set())


def test_a_note_reports_too_few_blocks() -> None:
    """Three nodes, four lanes: by chance a node is the slowest in six blocks with 3^-6, and there are 60 tests."""
    rng = np.random.default_rng(9)
    one = campaign(World(3, 6, slow={1: 3.0}), rng)
    assert one.decidable
    assert ("node", "n1") in names(one)
    lanes = [(name, campaign(World(3, 6, slow={1: 3.0}), rng)) for name in "abcd"]
    together = Survey(tuple(of_lane(matrix_, name) for name, result in lanes for matrix_ in result.matrices))
    assert not together.decidable
    assert not names(together)
    assert together.notes[0] == (
        "a@gige: 6 blocks are too few to name a node: with 3 nodes and 60 tests of nodes in the campaign, being the "
        "slowest in every block may be chance; 7 blocks are enough"
    )


def test_some_rounds_of_many_in_each_block() -> None:
    """40 nodes, 3 of their 39 rounds in each of 8 blocks: no pair is tested, each node is; nothing healthy is named."""
    rng = np.random.default_rng(11)
    worlds = World(40, 8, slow={1: 1.5}), World(40, 8)
    result = [[names(few_rounds(world, rng)) for world in worlds] for _ in range(20)]
    assert sum(slow == {("node", "n1")} for slow, _ in result) >= 18
    assert sum(bool(healthy) for _, healthy in result) <= binom.ppf(0.999, 20, ALPHA)


def few_rounds(world: World, rng: np.random.Generator) -> Survey:
    """Rounds of the circle method, three in a block: round r of n nodes has the pairs of sum r, modulo n - 1."""
    matrices = []
    for of in campaign(world, rng).matrices:
        pairs, last = of.pairs, world.nodes - 1
        total = np.where(pairs.second == last, 2 * pairs.first, pairs.first + pairs.second)
        total = np.where(pairs.first == last, 2 * pairs.second, total) % last
        at = total // 3 == pairs.block
        rounds = NodePairs(
            world.nodes, pairs.first[at], pairs.second[at], pairs.block[at], pairs.slowness[at], pairs.directed
        )
        matrices.append(Matrix(of.key, of.names, rounds))
    return Survey(tuple(matrices))


def of_lane(of: Matrix, stack: str) -> Matrix:
    return Matrix(replace(of.key, stack=stack), of.names, of.pairs)


def test_p_is_adjusted_for_all_tests() -> None:
    """The p-value of a node that is the slowest in all blocks, times 20 tests, over the share of nodes in alpha."""
    result = campaign(World(4, 6, cv=0.01, slow={1: 3.0}), np.random.default_rng(10))
    p_values = [unit.p for unit in result.slow_units]
    assert len(p_values) == 5
    assert p_values == pytest.approx([20 * 4.0**-6 / 0.7] * 5)
