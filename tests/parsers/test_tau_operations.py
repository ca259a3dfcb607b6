# SPDX-License-Identifier: Apache-2.0
"""The operations of profiles: captures of both profilers, and events with known time stamps."""

from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.model import Profile, ThreadProfile, Timer, UserEvent
from fabricbench.parsers.tau.operations import Operations
from fabricbench.parsers.tau.rows import rank_shares
from fabricbench.parsers.tau.timed_operations import operations_of

PROFILES = Path(__file__).parent.parent / "data/profiles"
WAIT = {"message size": "4096-8191", "peer": "same node", "communicator size": "2", "operation": "MPI_Irecv"}
NAME = "MPI_Waitall()   [ " + " ".join(f"<{key}> = <{value}>" for key, value in WAIT.items()) + " ]"


def timer(call: str, params: dict[str, str], calls: int, seconds: float) -> Timer:
    groups = ("TAU_PARAM", "MPI") if params else ("MPI",)
    return Timer(f"{call}()", call, groups, tuple(params.items()), calls, 0, seconds, seconds, 1)


def event(name: str, count: int, mean: float) -> UserEvent:
    return UserEvent(name, count, mean, mean, mean, 0.0)


def profile(*events: UserEvent, **metadata: str) -> Profile:
    whole = Timer(".TAU application", "", ("TAU_UTILITY",), (), 1, 1, 1.0, 1.0, 1)
    timers = (whole, timer("MPI_Waitall", {}, 10, 0.5), timer("MPI_Waitall", WAIT, 10, 0.5))
    names = {name.replace("_", " "): value for name, value in metadata.items()}
    return Profile("TIME", 1, (ThreadProfile(0, 0, "TIME", timers, events, names, "profile.one.txt", 1),))


def operations(*events: UserEvent) -> Operations:
    ((one,),) = (rank.operations for rank in operations_of(profile(*events)))
    return one


def test_without_events_nothing_is_matched() -> None:
    assert operations() == Operations(
        "MPI_Waitall", "MPI_Irecv", 6143.5, "same node", 2, False, count=10, calls=10.0, seconds=0.5
    )


def test_events_give_calls_exact_sizes_waiting_and_head_starts() -> None:
    one = operations(
        event(f"Calls : {NAME}", 10, 0.25),
        event(f"Message size : {NAME}", 10, 5000.0),
        event(f"Late partner : {NAME}", 8, 100.0),
        event(f"Head start 10 : {NAME}", 2, 1.5),
        event(f"Head start 12 : {NAME}", 1, 5.0),
        event(f"Late partner : {NAME.replace('same', 'other')}", 5, 1e6),
    )
    assert (one.calls, one.bytes, one.matched) == (2.5, 5000.0, 8)
    assert one.late_seconds == pytest.approx(800e-6)
    assert [start.count for start in one.head_starts] == [2, 1]
    assert [start.seconds for start in one.head_starts] == pytest.approx([3e-6, 5e-6])


def test_more_stamps_than_operations_count_once() -> None:
    one = operations(event(f"Late partner : {NAME}", 1000, 1.0), event(f"Calls : {NAME}", 1000, 1.0))
    assert (one.matched, one.calls) == (10, 10.0)


@pytest.mark.parametrize(("text", "seconds"), [("200", 2e-6), ("", 0.0), ("fast", 0.0), ("-5", 0.0)])
def test_the_profilers_cost_is_that_of_its_calls(text: str, seconds: float) -> None:
    (rank,) = operations_of(profile(Profiler_Nanoseconds_per_Call=text))
    assert rank.overhead_seconds == pytest.approx(seconds)


def test_a_rank_without_time_is_unreadable() -> None:
    thread = ThreadProfile(0, 0, "TIME", (), (), {}, "profile.one.txt", 1)
    with pytest.raises(Unreadable, match="a run time above 0 of rank 0"):
        operations_of(Profile("TIME", 1, (thread,)))


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
