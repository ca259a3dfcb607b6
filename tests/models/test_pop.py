# SPDX-License-Identifier: Apache-2.0
"""The efficiencies of POP on runs with known computation and waiting."""

import pytest

from fabricbench.models.parts import Parts, RankParts, RunParts
from fabricbench.models.pop import efficiencies


def test_known_efficiencies() -> None:
    ranks = (
        RankParts(0, 6.0, {"MPI_Recv": Parts(waiting=2.0, bandwidth=2.0)}),
        RankParts(1, 8.0, {"MPI_Recv": Parts(bandwidth=2.0)}),
    )
    found = efficiencies(RunParts(ranks))
    assert found is not None
    assert (found.load_balance, found.communication_efficiency, found.parallel_efficiency) == pytest.approx(
        (7 / 8, 0.8, 0.7)
    )
    assert found.serialisation_efficiency == (1.0, 1.0)
    assert found.transfer_efficiency == pytest.approx((0.8, 0.8))
    assert (found.imbalance_loss, found.serialisation_loss, found.transfer_loss) == pytest.approx((0.1, 0.0, 0.2))


def test_undivided_time_makes_intervals_and_the_additive_form_adds_up() -> None:
    ranks = (
        RankParts(0, 6.0, {"MPI_Allreduce": Parts(waiting=1.0, undivided=2.0, latency=1.0)}),
        RankParts(1, 4.0, {"MPI_Allreduce": Parts(waiting=6.0)}),
    )
    found = efficiencies(RunParts(ranks))
    assert found is not None
    assert found.serialisation_efficiency == pytest.approx((0.6, 0.6))
    assert found.transfer_efficiency == pytest.approx((1.0, 1.0))
    losses = found.imbalance_loss + found.serialisation_loss + found.transfer_loss
    assert losses == pytest.approx(1 - found.parallel_efficiency)


def test_the_limits_of_the_ideal_time_give_both_ends() -> None:
    found = efficiencies(RunParts((RankParts(0, 6.0, {"MPI_Recv": Parts(undivided=2.0, latency=2.0)}),)))
    assert found is not None
    assert found.serialisation_efficiency == pytest.approx((0.75, 1.0))
    assert found.transfer_efficiency == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize("parts", [Parts(), Parts(waiting=1.0)])
def test_a_run_without_computation_has_none(parts: Parts) -> None:
    assert efficiencies(RunParts((RankParts(0, 0.0, {"MPI_Recv": parts}),))) is None
