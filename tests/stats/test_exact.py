# SPDX-License-Identifier: Apache-2.0
"""Exact tests over blocks: against enumeration, and ranks with ties and margins."""

from itertools import product

import numpy as np
import pytest

from fabricbench.stats.exact import GRID, count_p, majority_p, rank_sum_p, ranks

SIZES = np.array([4, 4, 3, 5])


@pytest.mark.parametrize("found", [[4, 4, 3, 5], [4, 3, 3, 5], [2, 2, 2, 2], [1, 1, 1, 1]])
def test_rank_sums_against_enumeration(found: list[int]) -> None:
    def score(of: tuple[int, ...]) -> int:
        return sum((2 * rank - 1) * GRID // (2 * size) for rank, size in zip(of, SIZES.tolist(), strict=True))

    every = [score(of) for of in product(*(range(1, size + 1) for size in SIZES.tolist()))]
    expected = np.mean(np.array(every) >= score(tuple(found)))
    assert rank_sum_p(np.array(found), SIZES) == pytest.approx(expected, rel=1e-12)


def test_the_slowest_of_every_block_has_the_least_p() -> None:
    assert rank_sum_p(np.full(6, 4), np.full(6, 4)) == pytest.approx(4.0**-6)
    assert rank_sum_p(np.full(20, 64), np.full(20, 64)) == pytest.approx(64.0**-20)
    assert rank_sum_p(np.full(6, 1), np.full(6, 4)) == 1.0


def test_counts_against_enumeration() -> None:
    peers = [np.array([3, 0, 0, 1]), np.array([2, 2, 0, 0]), np.array([1, 0, 0, 0, 3])]
    result = np.array([3, 2, 1])
    expected = np.mean([sum(ranks_) >= 6 for ranks_ in product(*(counts.tolist() for counts in peers))])
    assert count_p(result, peers) == pytest.approx(expected, rel=1e-12)


def test_a_difference_within_the_margin_is_not_counted() -> None:
    values = np.array([1.0, 1.04, 1.2, 5.0, 7.0, 7.0])
    result, sizes = ranks(values, np.array([0, 0, 0, 3, 3, 3]), 0.05)
    assert result.tolist() == [1, 1, 3, 1, 2, 2]
    assert sizes.tolist() == [3] * 6


def test_the_p_value_of_a_majority_of_blocks() -> None:
    assert majority_p(6, 6) == pytest.approx(1 / 64)
    assert majority_p(0, 6) == 1.0


@pytest.mark.parametrize("tails", ["normal", "cauchy"])
def test_p_values_of_exchangeable_units_are_valid(tails: str) -> None:
    """Of 4,000 units of no effect at most a share of p has a p-value of p or less, whatever the distribution."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((500, 8, 8)) if tails == "normal" else rng.standard_cauchy((500, 8, 8))
    p_values = []
    for campaign in values:
        result, sizes = ranks(campaign.reshape(-1), np.repeat(np.arange(8), 8), 1e-9)
        p_values += [rank_sum_p(result[unit::8], sizes[unit::8]) for unit in range(8)]
    for level in (0.3, 0.1, 0.01):
        expected = level * len(p_values)
        assert np.sum(np.array(p_values) <= level) <= expected + 4 * np.sqrt(expected)
