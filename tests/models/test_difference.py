# SPDX-License-Identifier: Apache-2.0
"""Differences of two runs, and predictions on another network, with known numbers."""

import pytest

from fabricbench.models.difference import difference
from fabricbench.models.parts import Parts, RankParts, RunParts
from fabricbench.models.prediction import predicted_seconds, prediction_error
from models.known import LATENCY, PER_BYTE, known_curves, rank, some


def run(computation: float, **parts: float) -> RunParts:
    return RunParts(tuple(RankParts(number, computation, {"MPI_Recv": Parts(**parts)}) for number in range(2)))


def test_the_difference_is_the_sum_of_the_differences_of_the_parts() -> None:
    found = difference(run(2.0, latency=0.2, bandwidth=1.0, rest=0.1), run(1.5, latency=0.1, waiting=0.3))
    assert found.total == pytest.approx(1.4)
    assert found.parts.computation == pytest.approx(0.5)
    assert (found.parts.bandwidth, found.parts.waiting, found.parts.rest) == pytest.approx((1.0, -0.3, 0.1))
    assert found.explained == pytest.approx(1 - 0.1 / 1.4)


def test_equal_runs_have_nothing_to_explain() -> None:
    assert difference(run(1.0, latency=0.5), run(1.0, latency=0.5)).explained is None


def test_a_prediction_replaces_latency_and_bandwidth_and_keeps_the_remainder() -> None:
    seconds = LATENCY + 1000 * PER_BYTE + 3e-3
    launch = [rank(number, 1.0, some("MPI_Recv", seconds, late=2e-3)) for number in range(2)]
    slower = predicted_seconds(launch, known_curves(), known_curves(3.0))
    assert slower == pytest.approx(1.0 + 2 * (LATENCY + 1000 * PER_BYTE))
    assert predicted_seconds(launch, known_curves(), known_curves()) == pytest.approx(1.0)


def test_the_error_is_relative() -> None:
    assert prediction_error(1.1, 1.0) == pytest.approx(0.1)
    assert prediction_error(1.1, 0.0) is None
