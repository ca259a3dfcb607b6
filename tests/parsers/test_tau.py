# SPDX-License-Identifier: Apache-2.0
"""Reads MPI profiles: captures of TAU, files per node of this project's profiler, and their rows."""

import json
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.campaign.digest import digest
from fabricbench.launch.facts import Launch, case_parts
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import metrics_in, read_profile
from fabricbench.parsers.tau.model import SYNC, Profile, Timer
from fabricbench.parsers.tau.rows import bytes_by_peer, rank_shares, rows_of

DATA = Path(__file__).resolve().parents[1] / "data"
PROFILES = DATA / "profiles"
MPICH = PROFILES / "tau-2.35.2-mpich"
STACKS = ("mpich", "openmpi", "impi")

COUNTS = {
    "is.S": {"MPI_Allreduce": 32, "MPI_Alltoall": 22, "MPI_Alltoallv": 22, "MPI_Exscan": 2, "MPI_Reduce": 8},
    "cg.S": {"MPI_Sendrecv": 2528, "MPI_Allreduce": 2, "MPI_Reduce": 8, "MPI_Bcast": 2},
    "ft.S": {"MPI_Alltoall": 16, "MPI_Allreduce": 14, "MPI_Reduce": 8, "MPI_Comm_split": 4},
}
"""Calls of the kernels on two ranks, both together, counted in their sources."""

BYTES = {
    "is.S": {"MPI_Alltoall+MPI_Alltoallv": 2878120, "MPI_Bcast": 8},
    "cg.S": {"MPI_Sendrecv": 4673024, "MPI_Allreduce": 16},
    "ft.S": {"MPI_Alltoall": 16 * 2097152, "MPI_Allreduce": 2 * 104},
}


def launch_of(mode: str = "profiled") -> Launch:
    facts = json.loads((DATA / "launches/mpich-tcp-npb-cg/launch.json").read_text())
    return Launch.model_validate(facts | {"mode": mode})


def values(profile: Profile) -> dict[tuple[str, str, int | None], float]:
    """The values of a profile's rows by metric, function and size."""
    rows = rows_of(profile, launch_of())
    result = {(row.metric, case_parts(row.case).get("call", ""), row.msg_size_bytes): row.value for row in rows}
    assert len(result) == len(rows)
    return result


def timer(profile: Profile, call: str) -> Timer:
    """The timer of all calls of a function on rank 0."""
    return next(one for one in profile.threads[0].mpi() if one.call == call)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("kernel", sorted(COUNTS))
def test_calls_and_bytes_of_a_kernel_on_each_stack(stack: str, kernel: str) -> None:
    profile = read_profile(PROFILES / f"tau-2.35.2-{stack}" / kernel, 2)
    rows = values(profile)
    assert {call: rows["mpi_calls", call, None] for call in COUNTS[kernel]} == COUNTS[kernel]
    assert {call: rows["mpi_bytes", call, None] for call in BYTES[kernel]} == BYTES[kernel]
    assert 0 < rows["mpi_share_min", "", None] <= rows["mpi_share", "", None] <= rows["mpi_share_max", "", None] <= 1
    assert not {"MPI_Init", "MPI_Finalize"} & {call for _, call, _ in rows}
    assert [thread.metadata["TAU Version"] for thread in profile.threads] == ["2.35.2-git"] * 2


NOT_WRAPPED = ("MPI_Comm_rank", "MPI_Comm_size", SYNC)
"""What only TAU times: functions that neither move data nor wait, and its barrier."""

NOT_SIZED = "Message size for scan"
"""TAU counts no sizes of MPI_Exscan."""


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("program", [*sorted(COUNTS), "point-to-point"])
def test_the_own_profiler_counts_the_calls_and_bytes_of_tau(stack: str, program: str) -> None:
    own, tau = (read_profile(PROFILES / f"{name}-{stack}" / program, 2) for name in ("fabricbench-0.1.0", "tau-2.35.2"))
    for ours, theirs in zip(own.threads, tau.threads, strict=True):
        assert {one.call: one.calls for one in ours.mpi()} == {
            one.call: one.calls for one in theirs.mpi() if one.call not in NOT_WRAPPED
        }
        assert {event for event in ours.events if event.name != NOT_SIZED} == {
            event for event in theirs.events if "=>" not in event.name
        }


def test_sizes_and_peers_of_the_own_profiler() -> None:
    """The second half of the program is a marked region, which lacks the messages of 1000 B."""
    profile = read_profile(PROFILES / "fabricbench-0.1.0-mpich/point-to-point", 2)
    rows = values(profile)
    sizes = {(call, size): value for (metric, call, size), value in rows.items() if metric == "mpi_calls_by_size"}
    sendrecv = {("MPI_Sendrecv", 512): 14, ("MPI_Sendrecv", 16): 3, ("MPI_Sendrecv", 8): 3}
    others = {("MPI_Send", 64): 5, ("MPI_Recv", 64): 5, ("MPI_Isend", 2048): 8, ("MPI_Irecv", 2048): 8}
    assert sizes == sendrecv | others
    assert bytes_by_peer(profile)["MPI_Sendrecv", "same node"] == 14 * 512 + 3 * 16 + 3 * 8
    assert {peer for _, peer in bytes_by_peer(profile)} == {"same node"}


def test_the_times_of_all_functions_add_up_to_the_share() -> None:
    """IS on MPICH, rank by rank; TAU's barrier before collectives has its own row."""
    profile = read_profile(MPICH / "is.S", 2)
    rows = values(profile)
    seconds = sum(value for (metric, _, _), value in rows.items() if metric == "mpi_time")
    times = []
    for thread in profile.threads:
        start_and_end = [one.inclusive for one in thread.mpi() if one.call in ("MPI_Init", "MPI_Finalize")]
        times.append(thread.total - sum(start_and_end))
    in_mpi = [
        sum(one.exclusive for one in thread.mpi() if one.call not in ("MPI_Init", "MPI_Finalize"))
        for thread in profile.threads
    ]
    assert seconds == pytest.approx(sum(in_mpi) / 2)
    assert rows["mpi_share", "", None] == pytest.approx(sum(m / t for m, t in zip(in_mpi, times, strict=True)) / 2)
    assert rows["profiled_time", "", None] == max(times)
    assert rows["mpi_calls", "collective_sync", None] == 86


def test_seconds_and_nesting() -> None:
    profile = read_profile(MPICH / "is.S", 2)
    allreduce, sync = timer(profile, "MPI_Allreduce"), timer(profile, SYNC)
    assert allreduce.calls == allreduce.subcalls == 16
    assert 0 < allreduce.exclusive < allreduce.inclusive < 10
    assert sync.calls == 43
    assert timer(profile, "MPI_Comm_split_type").name == "MPI_Comm_split_type()"


def test_directories_of_several_metrics() -> None:
    assert metrics_in(MPICH / "is.S-two-metrics") == ("CPU_TIME", "TIME")
    wall, cpu = (read_profile(MPICH / "is.S-two-metrics", 2, metric) for metric in ("TIME", "CPU_TIME"))
    assert (wall.metric, cpu.metric) == ("TIME", "CPU_TIME")
    assert timer(wall, "MPI_Alltoall").calls == timer(cpu, "MPI_Alltoall").calls == 11
    assert 0 < cpu.threads[0].total < 10
    with pytest.raises(Unreadable, match="MULTI__PAPI_TOT_CYC: expected a directory; there are MULTI__CPU_TIME, MULTI"):
        read_profile(MPICH / "is.S-two-metrics", 2, "PAPI_TOT_CYC")


def test_sizes_that_tau_loses_are_not_used() -> None:
    """TAU with PROFILEPARAM files MPI_Send under another parameter, and drops MPI_Sendrecv of equal sizes."""
    profile = read_profile(MPICH / "point-to-point-param", 2)
    send = next(one for one in profile.threads[0].by_all() if one.call == "MPI_Send")
    assert (send.params, send.calls, send.sizes) == ((("message send path id", "0"),), 15, None)
    sized = {(one.call, one.sizes): one.calls for one in profile.threads[0].by_size()}
    assert (sized["MPI_Sendrecv", (8, 8)], timer(profile, "MPI_Sendrecv").calls) == (3, 10)
    rows = values(profile)
    histogram = {(call, size): value for (metric, call, size), value in rows.items() if metric == "mpi_calls_by_size"}
    assert histogram == {("MPI_Recv", 64): 5, ("MPI_Recv", 512): 10, ("MPI_Isend", 2048): 8}
    sent = 10 * 1000 + 5 * 64 + 2 * 7 * 512 + 3 * (8 + 16) + 8 * 2048
    assert rows["mpi_bytes", "MPI_Isend+MPI_Send+MPI_Sendrecv", None] == sent
    assert rows["mpi_bytes", "MPI_Recv", None] == 10 * 1000 + 5 * 64
    assert not {call for metric, call, _ in rows if metric == "mpi_bytes" and "Wait" in call}


def test_equal_sizes_of_sendrecv_leave_no_timer() -> None:
    """All 1264 calls of CG on a rank."""
    profile = read_profile(MPICH / "cg.S-param", 2)
    assert not list(profile.threads[0].by_size())
    assert values(profile)["mpi_bytes", "MPI_Sendrecv", None] == BYTES["cg.S"]["MPI_Sendrecv"]


def test_threads_of_tau() -> None:
    """Three threads of a rank call MPI; a fourth, of MPICH itself, calls nothing."""
    profile = read_profile(MPICH / "threads", 2)
    calls = [[one.calls for one in thread.mpi() if one.call == "MPI_Sendrecv"] for thread in profile.by_rank()[0]]
    assert sorted(calls) == [[], [5], [10], [20]]
    rows = values(profile)
    assert rows["mpi_calls", "MPI_Sendrecv", None] == 70
    assert rows["mpi_bytes", "MPI_Sendrecv", None] == 7000
    assert rows["mpi_share", "", None] <= 1


def test_call_paths_are_not_counted_again() -> None:
    profile = read_profile(MPICH / "cg.S-callpath", 2)
    assert any("=>" in one.name for one in profile.threads[0].timers)
    assert values(profile)["mpi_calls", "MPI_Sendrecv", None] == 2528
    assert values(profile)["mpi_bytes", "MPI_Sendrecv", None] == BYTES["cg.S"]["MPI_Sendrecv"]


def test_a_throttled_profile_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=r"profile\.0\.0\.0:12: expected a profile without throttled timers"):
        read_profile(MPICH / "cg.S-throttled", 2)


def profiled_launch(path: Path, kernel: str = "cg.S") -> Path:
    """A directory with the files of a real launch of CG, in mode profiled, and TAU's files of the same program."""
    shutil.copytree(DATA / "launches/mpich-tcp-npb-cg", path)
    (path / "launch.json").write_text(launch_of().model_dump_json())
    for file in (MPICH / kernel).iterdir():
        shutil.copy(file, path)
    return path


def test_the_record_of_a_profiled_launch_has_the_rows_of_both(tmp_path: Path) -> None:
    record = collect(profiled_launch(tmp_path / "launch"))
    assert record.state == "ok"
    metrics = {row.metric for row in record.rows}
    assert {"mops", "run_time", "communication_time", "mpi_share", "mpi_time", "mpi_bytes"} <= metrics


def test_a_profiled_launch_without_a_profile_has_no_rows_of_it(tmp_path: Path) -> None:
    launch = profiled_launch(tmp_path / "launch")
    for file in launch.glob("profile.*"):
        file.unlink()
    record = collect(launch)
    assert record.state == "ok"
    assert not any(row.metric.startswith("mpi_") for row in record.rows)
    assert [skip.benchmark for skip in record.skips] == [record.launch.benchmark if record.launch else ""]


@pytest.mark.parametrize("name", ["profile.1.0.0", "profile.node1.txt"])
def test_a_changed_profile_is_read_again(tmp_path: Path, name: str) -> None:
    launch = profiled_launch(tmp_path / "launch")
    before = digest(launch)
    (launch / name).write_text("changed")
    assert digest(launch) != before


def test_a_timed_launch_has_no_rows_of_a_profile(tmp_path: Path) -> None:
    launch = profiled_launch(tmp_path / "launch")
    (launch / "launch.json").write_text(launch_of("timed").model_dump_json())
    assert "mpi_share" not in {row.metric for row in collect(launch).rows}


@pytest.mark.parametrize("kernel", sorted(COUNTS))
def test_shares_by_rank_agree_with_the_rows(kernel: str) -> None:
    profile = read_profile(MPICH / kernel, 2)
    shares, rows = rank_shares(profile), values(profile)
    assert sum(shares.mpi) / 2 == pytest.approx(rows["mpi_share", "", None])
    assert (min(shares.mpi), max(shares.mpi)) == (rows["mpi_share_min", "", None], rows["mpi_share_max", "", None])
    for rank, share in enumerate(shares.mpi):
        assert sum(by_rank[rank] for by_rank in shares.calls.values()) == pytest.approx(share)
    assert "MPI_Init" not in shares.calls


def test_shares_by_rank_of_known_times() -> None:
    """The barrier of TAU is a function of its own."""
    profile = read_profile(MPICH / "is.S", 2)
    main = profile.threads[1]
    seconds = main.total - sum(one.inclusive for one in main.mpi() if one.call in ("MPI_Init", "MPI_Finalize"))
    (sync,) = (one for one in main.mpi() if one.call == SYNC)
    assert rank_shares(profile).calls["collective_sync"][1] == pytest.approx(sync.exclusive / seconds)
