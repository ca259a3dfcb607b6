# SPDX-License-Identifier: Apache-2.0
"""Order-statistics intervals and sign tests: exact values, and coverage on synthetic launches."""

import numpy as np
import pytest

from fabricbench.stats.interval import interval_rank, median_interval
from fabricbench.stats.paired import paired_difference, paired_ratio
from fabricbench.stats.sign import sign_p, tail_p


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    [
        (6, 1, 0.969),
        (8, 1, 0.992),
        (9, 2, 0.961),
        (10, 2, 0.979),
        (12, 3, 0.961),
        (15, 4, 0.965),
        (30, 10, 0.957),
    ],
)
def test_ranks_and_coverage_of_95_percent(n: int, rank: int, coverage: float) -> None:
    result = median_interval(range(n), 0.95)
    assert (result.rank, result.low, result.high) == (rank, rank - 1, n - rank)
    assert result.confidence == pytest.approx(coverage, abs=5e-4)


@pytest.mark.parametrize(("n", "coverage"), [(2, 0.5), (3, 0.75), (5, 0.9375)])
def test_too_few_launches_give_the_widest_with_its_own_coverage(n: int, coverage: float) -> None:
    result = median_interval(range(n), 0.95)
    assert (result.low, result.high, result.confidence) == (0, n - 1, coverage)


def test_none_or_one_launch_has_no_interval() -> None:
    assert median_interval([], 0.95).estimate is None
    one = median_interval([3.0], 0.95)
    assert (one.estimate, one.low, one.confidence, one.n) == (3.0, None, None, 1)
    assert one.side(2.0) == 0


@pytest.mark.parametrize("n", [6, 9, 15])
def test_coverage_holds_for_skewed_launches(n: int) -> None:
    rng = np.random.default_rng(1)
    launches = np.sort(1.0 + rng.lognormal(0.0, 1.0, (4000, n)), axis=1)
    rank = interval_rank(n, 0.95)
    covered = np.mean((launches[:, rank - 1] <= 2.0) & (launches[:, n - rank] >= 2.0))
    confidence = median_interval(launches[0], 0.95).confidence
    assert covered == pytest.approx(confidence, abs=3 * np.sqrt(0.05 * 0.95 / 4000))


@pytest.mark.parametrize("n", [4, 7, 12])
def test_an_interval_excludes_the_bound_exactly_when_the_sign_test_rejects(n: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        values = rng.integers(0, 6, n).astype(float)
        result = median_interval(values, 0.9)
        assert result.confidence is not None
        rejects = sign_p(values, 3.0) <= (1 - result.confidence) * (1 + 1e-9)
        assert (result.side(3.0) != 0) == rejects


def test_sign_test_by_hand_and_ties_against_the_effect() -> None:
    assert sign_p([1, 2, 3, 4, 5, 6], 0.0) == pytest.approx(2 / 64)
    assert sign_p([1, 2, 3, 4, 5, -6], 0.0) == pytest.approx(2 * 7 / 64)
    assert sign_p([1, 2, 3, 4, 5, 0], 0.0) == sign_p([1, 2, 3, 4, 5, -6], 0.0)
    assert sign_p([0, 0, 0], 0.0) == 1.0
    assert sign_p([], 0.0) == 1.0
    assert tail_p(5, -1) == 0.0


def test_pairing_reduces_blocks_and_excludes_blocks_with_one_side() -> None:
    result = paired_ratio(
        {0: [2.0, 4.0, 9.0], 1: [6.0], 2: [1.0], 4: [5.0]}, {0: [2.0], 1: [2.0], 3: [1.0], 4: [0.0]}, 0.95
    )
    assert result.blocks == (0, 1)
    assert result.ratios == (2.0, 3.0)
    assert result.interval.estimate == 2.5


def test_pairing_cancels_effects_of_a_block() -> None:
    rng = np.random.default_rng(4)
    weather = np.exp(rng.normal(0.0, 0.5, 15))
    result = paired_ratio(
        {i: [1.1 * w * e] for i, (w, e) in enumerate(zip(weather, np.exp(rng.normal(0, 0.01, 15)), strict=True))},
        {i: [w] for i, w in enumerate(weather)},
        0.95,
    )
    assert result.interval.low is not None
    assert result.interval.high is not None
    assert 1.08 < result.interval.low < 1.1 < result.interval.high < 1.12


def test_differences_are_paired_by_block() -> None:
    result = paired_difference({0: [12.0], 1: [25.0, 27.0], 2: [3.0], 3: []}, {0: [10.0], 1: [20.0], 3: [1.0]}, 0.5)
    assert (result.blocks, result.differences) == ((0, 1), (2.0, 6.0))
    assert (result.interval.estimate, result.interval.low, result.interval.high) == (4.0, 2.0, 6.0)


def test_a_difference_that_is_not_finite_excludes_its_block() -> None:
    result = paired_difference({0: [np.inf], 1: [3.0]}, {0: [np.inf], 1: [5.0]}, 0.95)
    assert (result.blocks, result.differences) == ((1,), (-2.0,))


def test_the_interval_of_a_difference_has_its_stated_coverage() -> None:
    """Two lanes 3 us apart with noise of their own on a noise that they share: 500 campaigns of six blocks."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(500):
        shared = rng.normal(50.0, 20.0, 6)
        a, b = shared + 3.0 + rng.normal(0, 1, 6), shared + rng.normal(0, 1, 6)
        one, other = ({i: [float(v)] for i, v in enumerate(side)} for side in (a, b))
        interval = paired_difference(one, other, 0.95).interval
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 3.0 <= interval.high
    assert 0.94 <= covered / 500 <= 0.99
