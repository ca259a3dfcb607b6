# SPDX-License-Identifier: Apache-2.0
"""The share of communication that published reductions of run time and communication imply."""

import pytest

from fabricbench.models.amdahl import communication_share


@pytest.mark.parametrize(
    ("benchmark", "run_time_cut", "communication_cut", "share"), [("IS", 0.26, 0.50, 0.52), ("FT", 0.06, 0.48, 0.125)]
)
def test_the_kernels_of_liu_2004(benchmark: str, run_time_cut: float, communication_cut: float, share: float) -> None:
    """InfiniBand on PCI Express instead of PCI-X: communication and run time of the NAS kernels fall by up to this."""
    assert communication_share(run_time_cut, communication_cut) == pytest.approx(share), benchmark


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_known_share_is_recovered(share: float) -> None:
    computation, communication, cut = 1 - share, share, 0.4
    after = computation + communication * (1 - cut)
    assert communication_share(1 - after, cut) == pytest.approx(share)


@pytest.mark.parametrize(("run_time_cut", "communication_cut"), [(0.6, 0.5), (-0.1, 0.5), (0.1, 0.0), (0.1, 1.2)])
def test_impossible_reductions_are_refused(run_time_cut: float, communication_cut: float) -> None:
    with pytest.raises(ValueError, match="share"):
        communication_share(run_time_cut, communication_cut)
