# SPDX-License-Identifier: Apache-2.0
"""Simulated campaigns of all node pairs, for the error rate and the power of findings; without a table, for speed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabricbench.stats.node_pairs import NodePairs
from fabricbench.verdict.nodes import Matrix, MatrixKey
from fabricbench.verdict.survey import Survey
from verdict.synthetic_node_pairs import ALONE, AT_ONCE

STALL = float(np.log(1000.0))
"""8 us and 8 ms."""

NOISES = ("log-normal", "heavy tails", "stalled values", "stalled nodes")
"""Log-normal: CV 10 %. Heavy tails: Student's t of 2 degrees of freedom times 0.1. Stalled values: log-normal, and each
value is of the slow mode with a probability of a quarter. Stalled nodes: a node loses its time slice in a block with a
probability that makes a quarter of all values stall, and then in all of its pairs."""

SHARE = 0.25


@dataclass(frozen=True)
class World:
    """What a campaign is drawn from: factors of ``slow`` nodes and of one way between two nodes, ``links``.

    A pair has the time of its slower node. ``cv``: of a value. ``spread``: of healthy nodes' own speeds, which stay.
    ``stalling``: probability that a node stalls in a block, in place of that of the others. ``noisy``: nodes whose
    values scatter by this factor more.
    """

    nodes: int
    blocks: int
    noise: str = "log-normal"
    cv: float = 0.1
    spread: float = 0.0
    slow: Mapping[int, float] = field(default_factory=dict)
    links: Mapping[tuple[int, int], float] = field(default_factory=dict)
    stalling: Mapping[int, float] = field(default_factory=dict)
    noisy: Mapping[int, float] = field(default_factory=dict)


def campaign(world: World, rng: np.random.Generator, *, latency: bool = True) -> Survey:
    """One lane with bandwidth alone and at once and, unless told otherwise, latency."""
    own = world.spread * rng.standard_normal(world.nodes)
    matrices_ = [matrix(world, own, rng, case=case) for case in (ALONE, AT_ONCE)]
    return Survey((*matrices_, *([matrix(world, own, rng, latency=True)] if latency else [])))


def matrix(
    world: World, own: NDArray[np.float64], rng: np.random.Generator, *, latency: bool = False, case: str = ALONE
) -> Matrix:
    """All pairs in every block; ``own``: what healthy nodes add, shape (nodes)."""
    shape = (world.blocks, world.nodes, world.nodes)
    slow = np.ones(world.nodes)
    slow[list(world.slow)] = list(world.slow.values())
    level = np.log(np.maximum.outer(slow, slow)) + np.add.outer(own, own)
    for (one, other), factor in world.links.items():
        level[one, other] += np.log(factor)
    loud = np.ones(world.nodes)
    loud[list(world.noisy)] = list(world.noisy.values())
    values = level + _noise(world, shape, rng) * np.maximum.outer(loud, loud)
    values += 0.1 * rng.standard_normal((world.blocks, 1, 1))
    values += STALL * _stalled(world, shape, rng)
    mask = np.triu(np.ones(shape[1:], dtype=bool), 1) if latency else ~np.eye(world.nodes, dtype=bool)
    ones, others = np.nonzero(mask)
    block = np.repeat(np.arange(world.blocks), len(ones))
    first, second = np.tile(ones, world.blocks), np.tile(others, world.blocks)
    key = MatrixKey(
        "s", "mpich", "gige", "", "pair_latency" if latency else "pair_bandwidth", "" if latency else case,
        "latency" if latency else "bandwidth", 8 if latency else 2**20, world.nodes,
    )  # fmt: skip
    names = tuple(f"n{at}" for at in range(world.nodes))
    return Matrix(key, names, NodePairs(world.nodes, first, second, block, values[block, first, second], not latency))


def _noise(world: World, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    scatter = rng.standard_t(2, shape) if world.noise == "heavy tails" else rng.standard_normal(shape)
    result: NDArray[np.float64] = float(np.sqrt(np.log1p(world.cv**2))) * scatter
    return result


def _stalled(world: World, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
    if world.noise == "stalled values":
        return rng.random(shape) < SHARE
    chance = np.full(world.nodes, 1 - np.sqrt(1 - SHARE) if world.noise == "stalled nodes" else 0.0)
    chance[list(world.stalling)] = list(world.stalling.values())
    of_nodes = rng.random(shape[:2]) < chance
    stalled: NDArray[np.bool_] = of_nodes[:, :, None] | of_nodes[:, None, :]
    return stalled
