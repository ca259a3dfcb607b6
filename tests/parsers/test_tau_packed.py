# SPDX-License-Identifier: Apache-2.0
"""Files per node of this project's profiler: threads, marked regions, sizes in ranges, parameters."""

from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.model import Profile
from fabricbench.parsers.tau.rows import bytes_by_peer
from parsers.test_tau import MPICH, values
from support.profile_text import application, packed, part, region, text, timer

RANGE = "<message size> = <4096-8191> <peer> = <other node> <region> = <1>"
SIZES = [
    part("MPI_Send", "<message size> = <64>", 3, 30),
    part("MPI_Send", "<message size> = <100>", 2, 20),
    part("MPI_Send", "<message size> = <4096-8191>", 2, 50),
    part("MPI_Send", "<message size> = <64> <peer> = <same node> <communicator size> = <2>", 1, 10),
    part("MPI_Send", "<message size> = <64> <peer> = <same node> <communicator size> = <2> <region> = <1>", 2, 20),
    part("MPI_Send", "<message size> = <100> <peer> = <other node> <communicator size> = <2> <region> = <1>", 2, 20),
    part("MPI_Send", RANGE, 2, 50),
    part("MPI_Waitall", "<message size> = <8> <operation> = <MPI_Irecv> <region> = <1>", 4, 100),
]
TIMERS = [timer("MPI_Init()  ", 1, 400), timer("MPI_Send()  ", 7, 100), timer("MPI_Waitall()  ", 2, 100), *SIZES]
EVENTS = [f'"Message size : MPI_Send()   [ {RANGE} ]" 2 8000 5000 6500 89000000']


def read(path: Path, body: str, ranks: int = 1) -> Profile:
    (path / "profile.node1.txt").write_text(body)
    return read_profile(path, ranks)


def test_the_time_between_init_and_finalize(tmp_path: Path) -> None:
    rows = values(read(tmp_path, packed((0, 0, text([application(1400), *TIMERS], EVENTS)))))
    assert rows["mpi_share", "", None] == pytest.approx(0.2)
    assert rows["profiled_time", "", None] == pytest.approx(1e-3)
    assert rows["mpi_calls", "MPI_Send", None] == 7
    assert rows["mpi_time", "MPI_Send", None] == pytest.approx(1e-4)
    assert rows["mpi_bytes", "MPI_Send", None] == 3 * 64 + 2 * 100 + 13000
    sizes = {size: value for (metric, call, size), value in rows.items() if metric == "mpi_calls_by_size"}
    assert sizes == {64: 5, 4096: 2}


def test_a_marked_region(tmp_path: Path) -> None:
    rows = values(read(tmp_path, packed((0, 0, text([application(1400), region(500), *TIMERS], EVENTS)))))
    assert rows["profiled_time", "", None] == pytest.approx(5e-4)
    assert rows["mpi_share", "", None] == pytest.approx(190 / 500)
    assert rows["mpi_calls", "MPI_Send", None] == 6
    assert rows["mpi_bytes", "MPI_Send", None] == 2 * 64 + 2 * 100 + 13000
    assert rows["mpi_calls", "MPI_Waitall", None] == 4


def test_bytes_by_peer(tmp_path: Path) -> None:
    profile = read(tmp_path, packed((0, 0, text([application(1400), *TIMERS], EVENTS))))
    others = {("MPI_Send", "other node"): 2 * 100 + 13000}
    assert bytes_by_peer(profile) == {("MPI_Send", "same node"): 3 * 64} | others
    profile = read(tmp_path, packed((0, 0, text([application(1400), region(500), *TIMERS], EVENTS))))
    assert bytes_by_peer(profile) == {("MPI_Send", "same node"): 2 * 64} | others
    assert not bytes_by_peer(read_profile(MPICH / "cg.S", 2))


def test_a_region_on_some_ranks_only(tmp_path: Path) -> None:
    body = packed((0, 0, text([application(1400), region(500)])), (1, 0, text([application(1400)])))
    with pytest.raises(Unreadable, match=r"the measured region on every rank, rank 1 has none"):
        values(read(tmp_path, body, 2))


def test_ranks_on_two_nodes(tmp_path: Path) -> None:
    """The order of the ranks in the files is free; times are means over ranks."""
    one = text([application(1000), timer("MPI_Barrier()  ", 5, 100)])
    two = text([application(1000), timer("MPI_Barrier()  ", 5, 300)])
    (tmp_path / "profile.node2.txt").write_text(packed((2, 0, two), (0, 0, one)))
    (tmp_path / "profile.node1.txt").write_text(packed((3, 0, two), (1, 0, one)))
    profile = read_profile(tmp_path, 4)
    assert [(thread.rank, thread.file) for thread in profile.threads] == [
        (0, "profile.node2.txt"), (1, "profile.node1.txt"), (2, "profile.node2.txt"), (3, "profile.node1.txt"),
    ]  # fmt: skip
    rows = values(profile)
    assert rows["mpi_calls", "MPI_Barrier", None] == 20
    assert rows["mpi_time", "MPI_Barrier", None] == pytest.approx(2e-4)
    assert rows["mpi_time_max", "MPI_Barrier", None] == pytest.approx(3e-4)
    shares = [rows[metric, "", None] for metric in ("mpi_share_min", "mpi_share", "mpi_share_max")]
    assert shares == pytest.approx([0.1, 0.2, 0.3])


def test_threads_of_a_rank(tmp_path: Path) -> None:
    """Calls and time are sums over threads; the share is that of the thread with the most time in MPI."""
    main = text([application(1000), timer("MPI_Send()  ", 1, 100)])
    other = text([application(900), timer("MPI_Send()  ", 9, 400)])
    rows = values(read(tmp_path, packed((0, 0, main), (0, 1, other))))
    assert rows["mpi_calls", "MPI_Send", None] == 10
    assert rows["mpi_time", "MPI_Send", None] == pytest.approx(5e-4)
    assert rows["mpi_share", "", None] == pytest.approx(0.4)


def test_calls_without_parameters_are_in_both_divisions(tmp_path: Path) -> None:
    timers = [part("MPI_Mrecv", "<message size> = <8>", 2, 1)] * 2 + [part("MPI_Iprobe", "", 3, 1)]
    profile = read(tmp_path, packed((0, 0, text([application(9), timer("MPI_Mrecv()  ", 2, 1), *timers]))))
    (thread,) = profile.threads
    assert [one.call for one in thread.by_size()] == ["MPI_Mrecv"]
    assert [(one.call, one.params) for one in thread.by_all()] == [
        ("MPI_Mrecv", (("message size", "8"),)), ("MPI_Iprobe", ()),
    ]  # fmt: skip


def test_parameters_in_two_pairs_of_brackets_are_foreign(tmp_path: Path) -> None:
    name = "MPI_Send()   [ <message size> = <8> ] [ <peer> = <same node> ]"
    body = packed((0, 0, text([application(9), timer(name, 1, 1, "TAU_PARAM | MPI")])))
    with pytest.raises(Unreadable, match=r"profile\.node1\.txt:5: expected parameters as"):
        read(tmp_path, body)
