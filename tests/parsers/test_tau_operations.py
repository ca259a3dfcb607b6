# SPDX-License-Identifier: Apache-2.0
"""The operations of captures of both profilers."""

from pathlib import Path

import pytest

from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.rows import rank_shares
from fabricbench.parsers.tau.timed_operations import operations_of

PROFILES = Path(__file__).parent.parent / "data/profiles"


@pytest.mark.parametrize("source", ["fabricbench-0.1.0-mpich", "fabricbench-0.1.0-openmpi", "tau-2.35.2-mpich"])
@pytest.mark.parametrize("program", ["is.S", "cg.S", "ft.S", "point-to-point"])
def test_the_operations_of_captures_add_up_to_the_time_in_mpi(source: str, program: str) -> None:
    captured = read_profile(PROFILES / source / program, 2)
    shares = rank_shares(captured).mpi
    for rank, share in zip(operations_of(captured), shares, strict=True):
        assert sum(one.seconds for one in rank.operations) / rank.seconds == pytest.approx(share, abs=1e-9)
        assert all(one.count > 0 and one.seconds >= 0 for one in rank.operations)


def test_a_capture_of_the_projects_profiler_has_sizes_and_peers() -> None:
    rank, _ = operations_of(read_profile(PROFILES / "fabricbench-0.1.0-mpich/point-to-point", 2))
    by_name = {one.operation: one for one in rank.operations}
    assert {"MPI_Isend", "MPI_Irecv"} <= by_name.keys()
    for name in ("MPI_Isend", "MPI_Irecv"):
        assert by_name[name].bytes is not None
        assert by_name[name].comm_size == 2


def test_a_capture_of_tau_has_the_mean_size_of_a_function_that_has_an_event_of_its_own() -> None:
    rank, _ = operations_of(read_profile(PROFILES / "tau-2.35.2-mpich/ft.S", 2))
    sizes = {one.call: one.bytes for one in rank.operations}
    assert sizes["MPI_Alltoall"] == 2 * 64**3 * 16 / 4
    assert sizes.get("MPI Collective Sync") is None
