# SPDX-License-Identifier: Apache-2.0
"""The binomial distribution and the median agree with SciPy and NumPy."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from fabricbench.stats.binomial import at_most, chance_for, chances
from fabricbench.stats.median import median


@pytest.mark.parametrize("n", [0, 1, 2, 6, 30, 59])
def test_the_binomial_tail_at_one_half(n: int) -> None:
    counts = range(-1, n + 2)
    assert [at_most(k, n) for k in counts] == pytest.approx(binom.cdf(counts, n, 0.5), rel=1e-14)
    assert chances(n) == pytest.approx(binom.pmf(range(n + 1), n, 0.5), rel=1e-13)


def test_the_sum_of_integers_is_exact() -> None:
    assert at_most(0, 6) == 1 / 64
    assert at_most(1500, 3000) == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(("least", "n"), [(1, 1), (6, 6), (5, 6), (23, 30), (900, 1000)])
def test_chance_for_is_the_quantile_of_the_beta_distribution(least: int, n: int) -> None:
    assert chance_for(least, n, 0.8) == pytest.approx(beta.ppf(0.8, least, n - least + 1), rel=1e-12)


@pytest.mark.parametrize("count", range(1, 10))
def test_median_is_that_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).lognormal(0.0, 5.0, count)
    assert median(values) == np.median(values)


def test_median_of_nothing_and_of_nan() -> None:
    assert math.isnan(median([]))
    assert math.isnan(median([1.0, math.nan, 2.0]))
