# SPDX-License-Identifier: Apache-2.0
"""Adjustment for many cells and several looks, and the minimum detectable effect."""

import numpy as np
import pytest

from fabricbench.stats.multiple import q_values
from fabricbench.stats.power import log_sigma, minimum_detectable_effect
from fabricbench.stats.sign import tail_p
from fabricbench.stats.spending import overall_error, schedule

# Benjamini & Hochberg (1995), the example of a clinical trial: 15 p-values, of which four are found at 0.05.
TEXTBOOK = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


def test_q_values_of_the_textbook_example() -> None:
    q = q_values(TEXTBOOK)
    assert sum(value <= 0.05 for value in q) == 4
    assert q[3] == pytest.approx(0.0095 * 15 / 4)
    assert q[5] == pytest.approx(0.0298 * 15 / 7)
    assert list(q) == sorted(q)


def test_q_values_follow_their_p_values() -> None:
    order = np.random.default_rng(5).permutation(len(TEXTBOOK))
    q, shuffled = q_values(TEXTBOOK), q_values([TEXTBOOK[i] for i in order])
    assert shuffled == tuple(q[i] for i in order)
    assert q_values([]) == ()
    assert q_values([0.03]) == (0.03,)
    assert q_values([0.03125] * 7) == pytest.approx([0.03125] * 7)


def test_one_look_is_the_plain_sign_test() -> None:
    (look,) = schedule((6,), 0.05).looks
    assert look.critical == 0
    assert [look.alpha, look.spent] == pytest.approx([2 / 64, 2 / 64])
    assert schedule((6,), 0.05).adjusted(2 / 64) == pytest.approx(2 / 64)


def test_the_standard_schedule() -> None:
    plan = schedule((8, 15, 30), 0.05)
    assert [look.critical for look in plan.looks] == [0, 3, 8]
    assert [round(look.spent, 4) for look in plan.looks] == [0.0078, 0.0391, 0.0484]
    assert "at  15 launches: 3 or fewer" in str(plan)
    assert [getattr(plan.last(n), "n", None) for n in (7, 8, 14, 99)] == [None, 8, 8, 30]
    assert [getattr(plan.following(n), "n", None) for n in (0, 8, 30)] == [8, 15, None]


@pytest.mark.parametrize("looks", [(), (1,), (3,)])
def test_a_schedule_may_be_unable_to_decide(looks: tuple[int, ...]) -> None:
    assert all(look.critical == -1 for look in schedule(looks, 0.05).looks)


@pytest.mark.parametrize("looks", [(8, 15, 30), (6, 10, 15, 20, 30), (12, 24)])
def test_the_spent_error_is_that_of_simulated_campaigns(looks: tuple[int, ...]) -> None:
    rng, runs = np.random.default_rng(6), 40_000
    plan = schedule(looks, 0.05)
    above = np.cumsum(rng.random((runs, looks[-1])) < 0.5, axis=1)
    rejections, smallest = np.zeros(runs, dtype=bool), np.ones(runs)
    for look in plan.looks:
        minority = np.minimum(above[:, look.n - 1], look.n - above[:, look.n - 1])
        rejections |= minority <= look.critical
        smallest = np.minimum(smallest, np.array([tail_p(look.n, k) for k in range(look.n)])[minority])
        assert rejections.mean() == pytest.approx(look.spent, abs=3 * np.sqrt(0.05 / runs))
    assert plan.looks[-1].spent <= 0.05
    for level in (0.01, 0.05, 0.2):
        adjusted = np.array([plan.adjusted(p) for p in np.unique(smallest)])[
            np.unique(smallest, return_inverse=True)[1]
        ]
        assert np.mean(adjusted <= level) <= level + 3 * np.sqrt(level / runs)


def test_a_p_value_over_the_looks_orders_as_the_p_value_does() -> None:
    levels = np.linspace(0.0, 1.0, 101)
    errors = [overall_error((8, 15, 30), float(level)) for level in levels]
    assert errors == sorted(errors)
    assert all(error >= level - 0.1 for error, level in zip(errors, levels, strict=True))
    assert errors[-1] == 1.0


@pytest.mark.parametrize("n", [6, 8, 9, 15, 30])
def test_robust_sigma_recovers_the_dispersion(n: int) -> None:
    rng = np.random.default_rng(7)
    result = [log_sigma(50.0 * np.exp(0.02 * rng.standard_normal(n))) for _ in range(2000)]
    assert np.mean([s for s in result if s is not None]) == pytest.approx(0.02, rel=0.05)


def test_robust_sigma_ignores_a_wild_launch_and_refuses_zeros() -> None:
    calm = [1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 9.0]
    assert (log_sigma(calm) or 1.0) < 0.03
    assert log_sigma([1.0, 0.0, 2.0]) is None
    assert log_sigma([1.0]) is None
    assert log_sigma([2.0, 2.0, 2.0]) == 0.0
    assert (log_sigma([1.0, 1.0, 1.0, 2.0]) or 0.0) > 0.1


@pytest.mark.parametrize(("n", "critical"), [(6, 0), (15, 3), (30, 8)])
def test_the_minimum_detectable_effect_is_found_four_times_in_five(n: int, critical: int) -> None:
    rng = np.random.default_rng(8)
    effect = minimum_detectable_effect(n, critical, 0.02)
    assert effect is not None
    launches = (1.0 + effect) * np.exp(0.02 * rng.standard_normal((20_000, n)))
    assert np.mean((launches < 1.0).sum(axis=1) <= critical) == pytest.approx(0.8, abs=0.01)


def test_a_schedule_that_cannot_decide_has_no_detectable_effect() -> None:
    assert minimum_detectable_effect(5, -1, 0.02) is None
