# SPDX-License-Identifier: Apache-2.0
"""Shares by rank are read from the profile of a launch, if it is readable and not too large."""

from pathlib import Path

import pytest

from fabricbench.campaign import profiles
from fabricbench.campaign.collect import collect
from fabricbench.campaign.profiles import read_rank_shares
from fabricbench.launch.record import Record
from parsers.test_tau import profiled_launch


def record_of(path: Path) -> Record:
    return collect(profiled_launch(path / "launches/b000/cg"), "b000/cg")


def test_the_shares_of_each_rank(tmp_path: Path) -> None:
    shares = read_rank_shares(tmp_path, record_of(tmp_path))
    assert shares is not None
    assert len(shares.mpi) == 2
    assert "MPI_Sendrecv" in shares.calls


def test_a_damaged_profile_has_no_shares(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    (tmp_path / "launches/b000/cg/profile.1.0.0").write_text("damaged")
    assert read_rank_shares(tmp_path, record) is None


def test_a_launch_without_a_directory_has_no_shares(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    assert read_rank_shares(tmp_path / "other", record) is None


def test_a_large_profile_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(tmp_path)
    monkeypatch.setattr(profiles, "MOST_BYTES", 100)
    assert read_rank_shares(tmp_path, record) is None
