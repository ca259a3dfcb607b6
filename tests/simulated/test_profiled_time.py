# SPDX-License-Identifier: Apache-2.0
"""Tests the time in MPI of profiles on a simulated network, where it follows from latency and bandwidth."""

from pathlib import Path

import pytest

from support.profiles import read_profiles
from support.simulated import Network
from support.simulated_profiles import SimulatedProfiles


def test_time_in_mpi(simulated_programs: SimulatedProfiles, tmp_path: Path) -> None:
    network = Network(bytes_per_second=1e8, hop_us=50.0)
    done = simulated_programs.simulator.run(2, "profiled", "late", network=network, profile=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    sender, receiver = read_profiles(tmp_path)
    transfer_us = 2 * network.hop_us + 2**20 / network.bytes_per_second * 1e6
    assert sender.timers["MPI_Send()"].exclusive_us == pytest.approx(10 * transfer_us, rel=0.01)
    assert receiver.timers["MPI_Recv()"].exclusive_us == pytest.approx(10 * (transfer_us + 1000), rel=0.01)
    assert sender.of("MPI_Send")[0].keys["peer"] == "other node"
