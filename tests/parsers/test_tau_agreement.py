# SPDX-License-Identifier: Apache-2.0
"""A profile is compared with the application's timers, the bytes on the sockets, and the program's imports."""

from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import Agreement, Row, Traffic
from fabricbench.parsers.output import TimedCalls
from fabricbench.parsers.tau.agreement import agreements
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.model import Profile
from fabricbench.parsers.tau.rows import rows_of
from fabricbench.parsers.tau.wire_bytes import wire_bytes
from fabricbench.site.cases import completed_case
from support.profile_text import application, packed, part, region, text

WIREUP = WireUp(launch="w", ranks=2, bytes=10_000, segments=100)
TIMED = TimedCalls("communication_time", region=True)
LABELS = "<peer> = <same node> <communicator size> = <{ranks}>"


def launch(ranks: int = 2, transport: str = "tcp") -> Launch:
    return Launch.model_validate(
        {
            "id": "b000 one@tcp npb cg.S np=2 profiled",
            "block": 0,
            "position": 0,
            "system": "fake",
            "fabric": transport,
            "transport": transport,
            "stack": "one",
            "tool": "npb",
            "benchmark": "cg.S",
            "ranks": ranks,
            "nodes": 1,
            "mode": "profiled",
            "argv": ["cg"],
            "limit_seconds": 60,
            "wireup": WIREUP.model_dump(),
        }
    )


def traffic(count: int, reports: int = 2) -> Traffic:
    return Traffic(
        reports=reports, connections=1, bytes=count, segments=100, by_peer={}, devices=(), libraries=(), shared_maps=0,
        dropped=0,
    )  # fmt: skip


def profile_of(folder: Path, ranks: int, *calls: tuple[str, int, int, str], more: str = "") -> Profile:
    """Returns a profile whose ranks all have these calls: function, message size, number, further labels."""
    labels = LABELS.format(ranks=ranks)
    timers = [application(1e6), region(1e6)]
    for call, size, count, own in calls:
        params = f"<message size> = <{size}> {own or labels} <region> = <1>"
        timers.append(part(call, params, count, 100.0 * count))
    file = folder / "profile.node.txt"
    file.write_text(packed(*((rank, 0, text(timers)) for rank in range(ranks))))
    return read_profile(folder, ranks)


def row(metric: str, value: float, case: str = "") -> Row:
    return Row(benchmark="cg.S", case=completed_case("npb", case), metric=metric, msg_size_bytes=None, value=value)


@pytest.mark.parametrize(
    ("call", "ranks", "size", "least", "most"),
    [
        ("MPI_Send", 2, 1000, 2000, 2000),  # each rank sends once
        ("MPI_Sendrecv", 2, 1000, 2000, 2000),
        ("MPI_Put", 2, 1000, 2000, 2000),
        ("MPI_Recv", 2, 1000, 0, 0),
        ("MPI_Bcast", 4, 1000, 3000, 6000),
        ("MPI_Ibcast", 4, 1000, 3000, 6000),
        ("MPI_Allgather", 4, 1000, 12000, 16000),
        ("MPI_Allgatherv", 4, 4000, 12000, 16000),
        ("MPI_Alltoall", 2, 2000, 2000, 4000),  # the size is a sent and a received block
        ("MPI_Alltoall", 4, 2000, 12000, 16000),
        ("MPI_Allreduce", 2, 1000, 2000, 4000),
        ("MPI_Allreduce", 8, 1000, 14000, 24000),
        ("MPI_Exscan", 4, 1000, 3000, 8000),
    ],
)
def test_least_and_most_bytes_of_a_call(
    tmp_path: Path, call: str, ranks: int, size: int, least: int, most: int
) -> None:
    total = wire_bytes(profile_of(tmp_path, ranks, (call, size, 1, "")))
    assert (total.least, total.most, total.unknown) == (least, most, ())


def test_messages_of_a_rank_to_itself_may_pass_through_the_fabric(tmp_path: Path) -> None:
    labels = "<peer> = <self> <communicator size> = <2>"
    total = wire_bytes(profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 3, labels)))
    assert (total.least, total.most) == (0, 2 * 3 * 1000)
    assert total.messages == 2 * 3


def test_collectives_of_one_rank_cross_nothing(tmp_path: Path) -> None:
    labels = "<peer> = <self> <communicator size> = <1>"
    total = wire_bytes(profile_of(tmp_path, 2, ("MPI_Allreduce", 1000, 3, labels)))
    assert (total.least, total.most, total.messages) == (0, 0, 0)


def test_a_started_persistent_send_moves_its_message(tmp_path: Path) -> None:
    labels = "<operation> = <MPI_Send_init> " + LABELS.format(ranks=2)
    total = wire_bytes(profile_of(tmp_path, 2, ("MPI_Start", 1000, 3, labels)))
    assert (total.least, total.most, total.messages) == (6000, 6000, 6)


def test_a_started_persistent_receive_moves_nothing(tmp_path: Path) -> None:
    labels = "<operation> = <MPI_Recv_init> " + LABELS.format(ranks=2)
    total = wire_bytes(profile_of(tmp_path, 2, ("MPI_Start", 1000, 3, labels)))
    assert (total.least, total.most, total.messages) == (0, 0, 0)


@pytest.mark.parametrize("size", ["x", "0", "-3", "99999999999999999999"])
def test_a_damaged_communicator_size_is_that_of_the_launch(tmp_path: Path, size: str) -> None:
    labels = f"<peer> = <same node> <communicator size> = <{size}>"
    assert wire_bytes(profile_of(tmp_path, 2, ("MPI_Bcast", 1000, 1, labels))).least == 1000


def test_barriers_in_front_of_collectives_widen_the_limit_of_a_timer(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 2, ("MPI_Alltoall", 16, 500, ""))
    own = launch(transport="shm")
    timed = TimedCalls("activity_time", "activity=fft", ("MPI_Alltoall",), region=True)
    rows = (row("run_time", 1.0), row("activity_time", 0.15, "activity=fft"), *rows_of(profile, own))
    (one,) = agreements(profile, own, rows, (timed,), None)
    assert not one.agrees
    (one,) = agreements(profile, own, (*rows, row("mpi_time", 0.1, "call=collective_sync")), (timed,), None)
    assert one.agrees


def test_a_function_without_limits_is_named(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 2, ("MPI_Neighbor_alltoall", 1000, 1, ""), ("MPI_Send", 8, 1, ""))
    assert wire_bytes(profile).unknown == ("MPI_Neighbor_alltoall",)
    assert agreements(profile, launch(), (), (), traffic(1)) == ()


@pytest.mark.parametrize(
    ("count", "agrees"),
    [(1_790_000, False), (1_810_000, True), (2_000_000, True), (2_730_000, True), (2_734_000, False)],
)
def test_sockets_confirm_or_refute_a_profile(tmp_path: Path, count: int, agrees: bool) -> None:
    """Two ranks send 1000 messages of 1000 bytes each; headers and the wire-up are allowed for."""
    profile = profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 1000, ""))
    (one,) = agreements(profile, launch(), (), (), traffic(count))
    assert (one.witness, one.profile, one.other, one.unit) == ("sockets", 2e6, count, "B")
    assert (one.least, one.most) == pytest.approx((0.9 * 2e6, 1.1 * 2e6 + 256 * 2000 + 2 * 10_000))
    assert one.agrees == agrees


def test_sockets_are_no_witness_on_shared_memory_or_with_missing_reports(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 1000, ""))
    assert agreements(profile, launch(transport="shm"), (), (), traffic(2_000_000)) == ()
    assert agreements(profile, launch(), (), (), traffic(2_000_000, reports=1)) == ()
    assert agreements(profile, launch(), (), (), None) == ()


@pytest.mark.parametrize(
    ("timer", "agrees"), [(0.1, True), (0.119, True), (0.121, False), (0.081, True), (0.079, False)]
)
def test_timers_confirm_or_refute_a_profile(tmp_path: Path, timer: float, agrees: bool) -> None:
    """1000 calls of 100 us are 0.1 s of a run of 1 s; the limits are 2 % of the run time."""
    profile = profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 1000, ""))
    own = launch(transport="shm")
    rows = (row("run_time", 1.0), row("communication_time", timer), *rows_of(profile, own))
    (one,) = agreements(profile, own, rows, (TIMED,), None)
    assert (one.witness, one.unit) == ("timers", "s")
    assert one.profile == pytest.approx(0.1)
    assert one.agrees == agrees


def test_a_timer_of_some_calls_only(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 1000, ""), ("MPI_Alltoall", 16, 500, ""))
    own = launch(transport="shm")
    rows = (row("run_time", 1.0), row("activity_time", 0.05, "activity=fft"), *rows_of(profile, own))
    timed = TimedCalls("activity_time", "activity=fft", ("MPI_Alltoall", "MPI_Alltoallv"), region=True)
    (one,) = agreements(profile, own, rows, (timed,), None)
    assert one.profile == pytest.approx(0.05)
    assert one.what == "activity_time, activity=fft: MPI_Alltoall, MPI_Alltoallv"
    assert agreements(profile, own, rows[1:], (timed,), None) == ()  # no run time, no limits
    whole = TimedCalls("activity_time", "activity=fft", ("MPI_Alltoall",))
    assert agreements(profile, own, rows, (whole,), None) == ()  # of the whole program, not of the region


def test_functions_that_the_profiler_does_not_know_dispute_the_profile(tmp_path: Path) -> None:
    profile_of(tmp_path, 2, ("MPI_Sendrecv", 1000, 1000, ""))
    file = tmp_path / "profile.node.txt"
    attribute = "<attribute><name>Unprofiled MPI Functions</name><value>MPI_Psend_init MPI_Send_c</value></attribute>"
    file.write_text(file.read_text().replace("</metadata>", f"{attribute}</metadata>"))
    (one,) = agreements(read_profile(tmp_path, 2), launch(transport="shm"), (), (), None)
    assert (one.witness, one.reason, one.agrees) == ("imports", "MPI_Psend_init, MPI_Send_c", False)


def test_one_rank_has_no_witness(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 1, ("MPI_Barrier", 0, 1, "<peer> = <self> <communicator size> = <1>"))
    assert agreements(profile, launch(ranks=1), (), (TIMED,), traffic(0)) == ()


def test_limits_are_inclusive() -> None:
    one = Agreement(witness="timers", what="", profile=1, other=2, least=1, most=2, unit="s")
    assert one.agrees
