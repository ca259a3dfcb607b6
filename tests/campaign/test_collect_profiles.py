# SPDX-License-Identifier: Apache-2.0
"""The record of a profiled launch: rows of the profile, agreement with other witnesses, and a missing profile."""

import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from support.launches import LAUNCHES, change

PROFILED = "openmpi-tcp-npb-cg-profiled"


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LAUNCHES / PROFILED, tmp_path / "launch"))


def test_a_profiled_launch(launch: Path) -> None:
    record = collect(launch)
    assert (record.state, record.reason) == ("ok", "")
    assert record.launch is not None
    assert (record.launch.mode, record.launch.profiler) == ("profiled", "own")
    values = {(row.metric, row.case): row.value for row in record.rows if row.msg_size_bytes is None}
    assert 0 < values["mpi_share", "code=own"] < 1
    assert values["profiled_time", "code=own"] == pytest.approx(values["run_time", "code=own"], rel=0.01)
    # On each of two ranks, 15 iterations of 26 products, 52 sums of one number, and one sum of two numbers.
    assert values["mpi_calls", "call=MPI_Sendrecv code=own"] == 2 * 15 * (26 + 52 + 1)
    assert values["mpi_bytes", "call=MPI_Sendrecv code=own"] == 2 * 15 * (26 * 28000 + 52 * 8 + 16)
    assert {one.witness: one.agrees for one in record.agreements} == {"timers": True, "sockets": True}


def test_a_profile_that_its_sockets_refute(launch: Path) -> None:
    """Nine of ten messages are missing in the profile."""
    file = launch / "profile.vm.txt"
    lines = [
        line.replace(" 390 0 ", " 39 0 ").replace(" 416 0 ", " 41 0 ") if "<28000>" in line else line
        for line in file.read_text().splitlines()
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    (sockets,) = [one for one in collect(launch).agreements if one.witness == "sockets"]
    assert not sockets.agrees
    assert sockets.other > sockets.most


def test_a_launch_without_a_profile_keeps_its_state(launch: Path) -> None:
    (launch / "profile.vm.txt").unlink()
    record = collect(launch)
    assert record.state == "ok"
    assert [skip.reason for skip in record.skips] == [
        "the ranks wrote no profile: the profiler was not loaded, or did not finish"
    ]
    assert record.agreements == ()
    assert {row.metric for row in record.rows} == {"mops", "run_time", "communication_time"}


def test_the_reason_of_the_dynamic_linker(launch: Path) -> None:
    (launch / "profile.vm.txt").unlink()
    message = "ERROR: ld.so: object '/x/libTAU.so' from LD_PRELOAD cannot be preloaded (wrong ELF class): ignored."
    (launch / "stderr").write_text(f"a line\n{message}\n{message}\n")
    assert [skip.reason for skip in collect(launch).skips] == [message]


@pytest.mark.parametrize("damage", ["profile.0.0.0\n", "# profile.0.0.0\nno profile\n", ""])
def test_a_damaged_profile_is_unreadable(launch: Path, damage: str) -> None:
    (launch / "profile.vm.txt").write_text(damage)
    record = collect(launch)
    assert record.state == "unreadable"
    assert "profile" in record.reason


def test_a_profile_of_fewer_ranks_is_unreadable(launch: Path) -> None:
    file = launch / "profile.vm.txt"
    file.write_text(file.read_text().partition("# profile.1.0.0")[0])
    record = collect(launch)
    assert record.state == "unreadable"
    assert "rank 1" in record.reason


def test_a_timed_launch_has_no_rows_of_a_profile(launch: Path) -> None:
    change(launch / "launch.json", mode="timed", profiler=None)
    record = collect(launch)
    assert record.agreements == ()
    assert not any(row.metric.startswith("mpi_") for row in record.rows)
