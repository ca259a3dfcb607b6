# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of profiles: sizes, peers, time stamps, and contradictions between them."""

from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.operations import Operations, RankOperations
from fabricbench.parsers.tau.timed_operations import operations_of
from parsers.test_tau import MPICH
from support.profile_text import application, packed, part, region, text, timer

DATA = MPICH.parent
RECEIVE = "<message size> = <64> <peer> = <same node> <communicator size> = <2>"
WAIT = RECEIVE.replace(" <peer>", " <operation> = <MPI_Irecv> <peer>")
INSIDE = "<region> = <1>"


def event(
    title: str, call: str, params: str, count: object, total: float, least: float = 0, most: object = None
) -> str:
    mean = total / int(str(count))
    return f'"{title} : {call}()   [ {params} ]" {count} {max(mean, total) if most is None else most} {least} {mean} 0'


def operations(path: Path, timers: list[str], events: list[str]) -> RankOperations:
    path.joinpath("profile.node.txt").write_text(packed((0, 0, text(timers, events))))
    (rank,) = operations_of(read_profile(path, 1))
    return rank


TIMERS = [application(1000), timer("MPI_Recv()", 4, 400), part("MPI_Recv", RECEIVE, 4, 400)]


def test_time_stamps_of_receives(tmp_path: Path) -> None:
    events = [
        event("Late partner", "MPI_Recv", RECEIVE, 3, 150),
        event("Head start 9", "MPI_Recv", RECEIVE, 1, 0.6),
        event("Head start 12", "MPI_Recv", RECEIVE, 1, 5),
    ]
    rank = operations(tmp_path, TIMERS, events)
    (receive,) = rank.operations
    assert rank.seconds == pytest.approx(1e-3)
    assert (receive.call, receive.operation, receive.bytes, receive.peer) == ("MPI_Recv", "MPI_Recv", 64, "same node")
    assert (receive.comm_size, receive.root, receive.count, receive.matched) == (2, False, 4, 3)
    assert receive.calls == 4
    assert receive.seconds == pytest.approx(400e-6)
    assert receive.late_seconds == pytest.approx(150e-6)
    assert [start.count for start in receive.head_starts] == [1, 1]
    assert [start.seconds for start in receive.head_starts] == pytest.approx([0.6e-6, 5e-6])


def test_operations_of_one_call_share_it(tmp_path: Path) -> None:
    timers = [application(1000), timer("MPI_Waitall()", 2, 400), part("MPI_Waitall", WAIT, 4, 400)]
    rank = operations(tmp_path, timers, [event("Calls", "MPI_Waitall", WAIT, 4, 2, 0.5, 0.5)])
    (wait,) = rank.operations
    assert (wait.call, wait.operation, wait.count, wait.calls) == ("MPI_Waitall", "MPI_Irecv", 4, 2)
    assert wait.head_starts == ()


def test_a_marked_region_has_its_own_operations(tmp_path: Path) -> None:
    inside = f"{RECEIVE} {INSIDE}"
    timers = [*TIMERS[:1], region(500), timer("MPI_Recv()", 6, 600), *TIMERS[2:], part("MPI_Recv", inside, 2, 200)]
    rank = operations(tmp_path, timers, [event("Late partner", "MPI_Recv", inside, 2, 20)])
    (receive,) = rank.operations
    assert rank.seconds == pytest.approx(500e-6)
    assert (receive.count, receive.matched) == (2, 2)


def test_a_range_of_sizes_has_the_mean_of_its_event(tmp_path: Path) -> None:
    params = RECEIVE.replace("<64>", "<64-127>")
    timers = [application(1000), timer("MPI_Recv()", 4, 400), part("MPI_Recv", params, 4, 400)]
    assert operations(tmp_path, timers, []).operations[0].bytes == 95.5
    rank = operations(tmp_path, timers, [event("Message size", "MPI_Recv", params, 4, 400, 100, 100)])
    assert rank.operations[0].bytes == 100


@pytest.mark.parametrize(
    ("events", "line", "expected"),
    [
        ([event("Late partner", "MPI_Recv", RECEIVE, 5, 50)], 10, "at most 4 matched operations, not 5"),
        ([event("Late partner", "MPI_Recv", RECEIVE, 4, 50, -1)], 10, "times of at least 0, not -1"),
        ([event("Late partner", "MPI_Recv", RECEIVE, 4, 50, 0, "nan")], 10, "a finite number of at least 0, not 'nan'"),
        ([event("Late partner", "MPI_Recv", RECEIVE, 4, 410)], 10, "late partners of at most 0.0004 s"),
        ([event("Late partner", "MPI_Send", RECEIVE, 4, 50)], 10, "a timer for the event 'Late partner : MPI_Send()"),
        ([event("Head start 3", "MPI_Recv", RECEIVE, 1, 0.01)], 10, "at most 0 head starts"),
        ([event("Calls", "MPI_Recv", RECEIVE, 4, 0)], 10, "shares above 0 and at most 1 of 4 operations"),
        ([event("Late partner", "MPI_Recv", RECEIVE, 1, 0)] * 2, 11, "one event of this name, the first is line 10"),
    ],
)
def test_contradictions_are_unreadable(tmp_path: Path, events: list[str], line: int, expected: str) -> None:
    with pytest.raises(Unreadable) as error:
        operations(tmp_path, TIMERS, events)
    assert str(error.value).startswith(f"profile.node.txt:{line}: expected {expected}")


def test_lateness_may_exceed_the_time_by_rounding(tmp_path: Path) -> None:
    (receive,) = operations(tmp_path, TIMERS, [event("Late partner", "MPI_Recv", RECEIVE, 4, 400.001)]).operations
    assert receive.late_seconds == receive.seconds


def test_capture_with_time_stamps() -> None:
    ranks = operations_of(read_profile(DATA / "fabricbench-0.1.0-mpich/cg.S-stamps", 2))
    for rank in ranks:
        assert (rank.stamps, rank.clock_error_seconds) == ("complete", 0.0)
        assert {row.bytes: (row.count, row.matched) for row in rank.operations} == {
            8.0: (780, 780),
            16.0: (15, 15),
            5600.0: (390, 390),
        }
        assert all(0 < row.late_seconds < row.seconds for row in rank.operations)
        assert rank.overhead_seconds == pytest.approx(1185 * 43e-9, rel=0.5)


@pytest.mark.parametrize("capture", ["fabricbench-0.1.0-mpich/cg.S", "fabricbench-0.1.0-openmpi/is.S"])
def test_captures_without_time_stamps(capture: str) -> None:
    for rank in operations_of(read_profile(DATA / capture, 2)):
        assert rank.stamps == ""
        assert {(row.matched, row.late_seconds, row.head_starts) for row in rank.operations} == {(0, 0.0, ())}
        assert sum(row.seconds for row in rank.operations) < rank.seconds


def test_captures_of_tau_have_sizes_without_peers() -> None:
    for rank in operations_of(read_profile(MPICH / "point-to-point-param", 2)):
        assert rank.overhead_seconds == 0
        assert {row.peer for row in rank.operations} == {""}
        sizes = {row.bytes: row.count for row in rank.operations if row.call == "MPI_Isend"}
        assert all(size is not None for size in sizes)


def test_messages_of_tau_in_the_region_exclude_those_of_a_rank_to_itself() -> None:
    """CG on two ranks exchanges 390 vectors with itself and as many with the other rank; 795 sums are short."""
    capture = Path(__file__).parent.parent / "data/profiles/tau-2.35.2-openmpi/cg.S-region-matrix"
    for rank in operations_of(read_profile(capture, 2)):
        operations = {row.call: row for row in rank.operations}
        mean = (390 * 5600 + 780 * 8 + 15 * 16) / 1185
        for call, operation in (("MPI_Send", "MPI_Send"), ("MPI_Wait", "MPI_Irecv")):
            row = operations[call]
            assert (row.operation, row.count) == (operation, 1185)
            assert row.bytes == pytest.approx(mean)
            shares = {size: share for share, size in row.spread}
            assert shares[5600] == pytest.approx(390 / 1185, abs=1e-3)
            assert shares[8] == pytest.approx(795 / 1185, abs=1e-3)
        assert (operations["MPI_Irecv"].count, operations["MPI_Irecv"].bytes) == (1575, None)


@pytest.mark.parametrize(("matrix", "sent", "received"), [(True, (4, 100.0), 4), (False, (6, None), 6)])
def test_waitall_of_tau_completes_receives(
    tmp_path: Path, matrix: bool, sent: tuple[int, float | None], received: int
) -> None:
    """Two of six messages are of the rank to itself, which only the matrix of communication shows."""
    timers = [application(1000), timer("MPI_Irecv()", 6, 6), timer("MPI_Isend()", 6, 6), timer("MPI_Waitall()", 2, 90)]
    events = [
        '"Message size received in wait : .TAU application => MPI_Waitall()" 6 100 100 100 60000',
        '"Message size sent to node 0 : .TAU application => MPI_Isend()" 2 100 100 100 20000',
        '"Message size sent to node 1 : .TAU application => MPI_Isend()" 4 100 100 100 40000',
    ]
    of_tau = text(timers, events if matrix else events[:1]).replace("<name>Profiler<", "<name>TAU Version<")
    (tmp_path / "profile.0.0.0").write_text(of_tau)
    (rank,) = operations_of(read_profile(tmp_path, 1))
    rows = {row.call: (row.operation, row.count, row.calls, row.bytes) for row in rank.operations}
    assert rows == {
        "MPI_Irecv": ("MPI_Irecv", 6, 6.0, None),
        "MPI_Isend": ("MPI_Isend", sent[0], 6.0, sent[1]),
        "MPI_Waitall": ("MPI_Irecv", received, 2.0, 100.0),
    }


WAITED = '"Message size received in wait : .TAU application => {}()" {} 100 100 100 {}'
SENT = '"Message size sent to node {} : .TAU application => {}()" {} 100 100 100 {}'


def of_tau(path: Path, timers: list[str], *events: str) -> dict[str, Operations]:
    """Returns the operations of a profile of TAU by function."""
    body = text([application(1e6), *timers], events).replace("<name>Profiler<", "<name>TAU Version<")
    (path / "profile.0.0.0").write_text(body)
    (rank,) = operations_of(read_profile(path, 1))
    return {row.call: row for row in rank.operations}


def test_which_of_several_functions_received_own_messages_is_unknown(tmp_path: Path) -> None:
    timers = [timer(f"{name}()", 10, 90) for name in ("MPI_Irecv", "MPI_Isend", "MPI_Wait", "MPI_Waitall")]
    events = [WAITED.format(name, 10, 10**5) for name in ("MPI_Wait", "MPI_Waitall")]
    rows = of_tau(tmp_path, timers, *events, SENT.format(0, "MPI_Isend", 4, 4 * 10**4))
    for name in ("MPI_Wait", "MPI_Waitall"):
        assert (rows[name].operation, rows[name].count, rows[name].bytes) == ("MPI_Irecv", 10, None)


def test_messages_of_a_rank_to_itself_alone_use_no_network(tmp_path: Path) -> None:
    timers = [timer("MPI_Irecv()", 4, 6), timer("MPI_Send()", 4, 60), timer("MPI_Wait()", 4, 60)]
    events = (WAITED.format("MPI_Wait", 4, 4 * 10**4), SENT.format(0, "MPI_Send", 4, 4 * 10**4))
    rows = of_tau(tmp_path, timers, *events)
    assert (rows["MPI_Send"].peer, rows["MPI_Wait"].peer) == ("self", "self")


def test_a_wait_for_sends_alone_is_an_operation_of_unknown_size(tmp_path: Path) -> None:
    rows = of_tau(tmp_path, [timer("MPI_Isend()", 2, 6), timer("MPI_Waitall()", 1, 9e5)])
    assert (rows["MPI_Waitall"].operation, rows["MPI_Waitall"].bytes) == ("MPI_Isend", None)


def test_calls_on_several_paths_of_a_region_are_one_operation(tmp_path: Path) -> None:
    paths = [
        timer(f".TAU application => measured region => {name} => MPI_Send()", calls, 10 * calls, "TAU_CALLPATH|MPI")
        for name, calls in (("a", 4), ("b", 2))
    ]
    events = [
        f'"Message size sent to node 1 : measured region => {name} => MPI_Send()" {calls} 100 100 100 {10**4 * calls}'
        for name, calls in (("a", 4), ("b", 2))
    ]
    rows = of_tau(tmp_path, [region(1e5), timer("MPI_Send()", 6, 60), *paths], *events)
    assert rows["MPI_Send"].count == 6
    assert rows["MPI_Send"].seconds == pytest.approx(60e-6)


@pytest.mark.parametrize("stack", ["mpich", "openmpi", "impi"])
def test_all_to_all_of_tau_has_the_least_size_of_the_shared_event_and_the_v_form_the_others(stack: str) -> None:
    folder = Path(__file__).parent.parent / "data/profiles"
    own, tau = (
        operations_of(read_profile(folder / f"{name}-{stack}/is.S", 2)) for name in ("fabricbench-0.1.0", "tau-2.35.2")
    )
    for mine, theirs in zip(own, tau, strict=True):
        sizes = {one.call: one.bytes for one in theirs.operations}
        for call in ("MPI_Alltoall", "MPI_Alltoallv"):
            of_call = [one for one in mine.operations if one.call == call]
            mean = sum((one.bytes or 0.0) * one.count for one in of_call) / sum(one.count for one in of_call)
            assert sizes[call] == pytest.approx(mean, rel=1e-3)
