# SPDX-License-Identifier: Apache-2.0
"""Tests the profiler's time stamps on a simulated network, where waiting times are exact."""

from pathlib import Path

import pytest

from apps.test_time_stamps import LATE, one
from support.simulated import Network
from support.simulated_profiles import SimulatedProfiles

NETWORK = Network(bytes_per_second=1e8, hop_us=50.0)


def test_receive_waits_exactly_for_its_sender(simulated_programs: SimulatedProfiles, tmp_path: Path) -> None:
    receiver, _ = simulated_programs.operations(tmp_path, NETWORK, "late_sender", late_us=round(LATE * 1e6))
    late = one(receiver, "MPI_Recv", 64)
    assert late.late_seconds == pytest.approx(LATE, rel=0.01)
    assert late.seconds - late.late_seconds == pytest.approx(2 * 50e-6, rel=0.05)


def test_ranks_wait_for_the_last_one(simulated_programs: SimulatedProfiles, tmp_path: Path) -> None:
    late_us = 50000
    ranks = simulated_programs.operations(tmp_path, NETWORK, "imbalanced", ranks=4, late_us=late_us)
    for number, rank in enumerate(ranks):
        expected = 10 * (3 - number) * late_us * 1e-6
        assert one(rank, "MPI_Barrier").late_seconds == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("mode", "call", "count"), [("ring", "MPI_Sendrecv", 10), ("alltoall", "MPI_Alltoall", 10)])
def test_programs_without_late_ranks(
    simulated_programs: SimulatedProfiles, tmp_path: Path, mode: str, call: str, count: int
) -> None:
    for rank in simulated_programs.operations(tmp_path, NETWORK, mode, ranks=4):
        operations = one(rank, call)
        assert operations.count == count
        assert operations.late_seconds < operations.seconds / 2
