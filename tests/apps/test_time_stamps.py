# SPDX-License-Identifier: Apache-2.0
"""Tests the profiler's time stamps with programs in which the late partner is known (tests/support/late.c).

The short form tests messages, collectives and threads on every stack, and everything else on one.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.test_profiler import ONE_STACK, PROGRAMS, READY, STACKS, Profiled
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.operations import Operations, RankOperations
from fabricbench.parsers.tau.timed_operations import operations_of
from fabricbench.site.stacks import STACK_FILE, read_installed

BUILD = Path(__file__).resolve().parents[2] / "build/stacks"
LATE = 0.2
LEAST = LATE / 2
"""Pause of the late rank in seconds, and the least lateness on real stacks. Ranks on busy processors leave the barrier
before it at different times.
"""

Ranks = tuple[RankOperations, ...]
Run = Callable[..., Ranks]


on_every_stack = pytest.mark.parametrize("run", READY, indirect=True)


@pytest.fixture(params=ONE_STACK)
def run(request: pytest.FixtureRequest, tmp_path: Path, shared_programs: Path) -> Run:
    """Runs a mode of late.c with a stack, and returns the operations of each rank."""
    name = request.param
    installed = read_installed(BUILD / name / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    stack = Profiled(STACKS[name], installed, tmp_path, shared_programs)
    program = str(stack.compile(PROGRAMS / "late.c", "-pthread"))

    def run_mode(mode: str, ranks: int = 2, **variables: str) -> Ranks:
        done = stack.launch([program, mode, str(round(LATE * 1e6))], ranks, **variables)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        if "no MPI_THREAD_MULTIPLE" in done.stdout:
            pytest.skip(f"{name} has no MPI_THREAD_MULTIPLE")
        return operations_of(read_profile(tmp_path, ranks))

    return run_mode


def one(rank: RankOperations, call: str, size: float | None = None, comm_size: int | None = None) -> Operations:
    """Returns the only operations of a rank with this function, and size or communicator if given."""
    (operations,) = (
        row
        for row in rank.operations
        if row.call == call
        and (size is None or row.bytes == size)
        and (comm_size is None or row.comm_size == comm_size)
        and row.operation not in ("MPI_Send_init", "MPI_Isend")
    )
    assert operations.matched == operations.count
    assert 0 <= operations.late_seconds <= operations.seconds * 1.01 + 1e-8
    return operations


def head_start(operations: Operations) -> float:
    return sum(start.seconds for start in operations.head_starts)


@on_every_stack
def test_sender_and_receiver_that_are_late(run: Run) -> None:
    receiver, sender = run("late_sender")
    assert one(receiver, "MPI_Recv", 64).late_seconds >= LEAST
    assert one(receiver, "MPI_Recv", 128).late_seconds < LEAST
    assert head_start(one(receiver, "MPI_Recv", 128)) >= LEAST
    assert head_start(one(sender, "MPI_Send", 64)) >= LEAST
    assert [rank.stamps for rank in (receiver, sender)] == ["complete"] * 2
    assert receiver.clock_error_seconds == 0.0


def test_large_message_waits_for_its_receiver(run: Run) -> None:
    receiver, sender = run("late_receiver")
    assert one(sender, "MPI_Send").late_seconds >= LEAST
    assert head_start(one(receiver, "MPI_Recv")) >= LEAST


def test_operations_of_one_call_share_the_longest_wait(run: Run) -> None:
    waits = one(run("late_of_several")[0], "MPI_Waitall")
    assert waits.count == 3
    assert waits.calls == pytest.approx(1)
    assert waits.late_seconds >= 2 * LEAST
    assert sum(start.count for start in waits.head_starts) == 2
    assert head_start(waits) >= 3 * LEAST


def test_wildcards_take_sender_and_tag_from_the_status(run: Run) -> None:
    receiver = run("wildcards")[0]
    assert one(receiver, "MPI_Recv", 64).late_seconds < LEAST
    assert one(receiver, "MPI_Recv", 128).late_seconds >= LEAST


def test_messages_after_a_cancelled_receive_without_status_are_unmatched(run: Run) -> None:
    receives = {row.bytes: row for row in run("cancelled")[0].operations if row.call == "MPI_Recv"}
    assert {size: (row.count, row.matched) for size, row in receives.items()} == {64: (1, 1), 128: (2, 0)}


def test_persistent_requests(run: Run) -> None:
    assert one(run("persistent")[0], "MPI_Wait").late_seconds >= 2 * LEAST


def test_sendrecv_has_one_value_for_both_messages(run: Run) -> None:
    first, second = run("exchange")
    assert one(first, "MPI_Sendrecv").late_seconds >= LEAST
    assert head_start(one(second, "MPI_Sendrecv")) >= LEAST


@on_every_stack
def test_collectives_wait_for_the_last_rank_or_the_root(run: Run) -> None:
    ranks = run("collectives", ranks=3)
    for number, rank in enumerate(ranks):
        is_late = number == 1
        assert (one(rank, "MPI_Allreduce").late_seconds >= LEAST) == (not is_late)
        assert (one(rank, "MPI_Bcast").late_seconds >= LEAST) == (not is_late)
        assert one(rank, "MPI_Bcast").root == is_late
        assert (one(rank, "MPI_Reduce").late_seconds >= LEAST) == (number == 0)
        assert (one(rank, "MPI_Wait").late_seconds >= LEAST) == (not is_late)
    assert one(ranks[1], "MPI_Bcast").head_starts == ()
    assert one(ranks[2], "MPI_Reduce").head_starts == ()


def test_communicators_of_the_same_ranks_do_not_mix(run: Run) -> None:
    first, second = run("communicators")
    assert one(first, "MPI_Recv", 64).late_seconds >= LEAST
    assert one(first, "MPI_Recv", 128).late_seconds < LEAST
    assert one(first, "MPI_Barrier", comm_size=2).late_seconds >= LEAST
    assert one(first, "MPI_Barrier", comm_size=1).late_seconds == 0
    assert one(second, "MPI_Barrier", comm_size=2).count == 2


@on_every_stack
def test_threads_with_tags_of_their_own_are_matched(run: Run) -> None:
    assert one(run("threads")[0], "MPI_Recv").late_seconds >= LEAST


def test_messages_that_threads_may_have_exchanged_are_unmatched(run: Run) -> None:
    for rank in run("threads_one_tag"):
        assert [(row.count, row.matched) for row in rank.operations] == [(1, 0)]


def test_messages_to_nobody_have_no_stamps(run: Run) -> None:
    for rank in run("no_partner"):
        assert {(row.peer, row.matched) for row in rank.operations} == {("null", 0)}


def test_the_number_of_stamps_is_limited(run: Run) -> None:
    ranks = run("late_of_several", FABRICBENCH_PROFILE_STAMPS="2")
    assert [rank.stamps for rank in ranks] == ["first 2 operations"] * 2
    assert sum(row.matched for row in ranks[0].operations) == 1


def test_stamps_can_be_switched_off(run: Run) -> None:
    for rank in run("exchange", FABRICBENCH_PROFILE_STAMPS="0"):
        assert rank.stamps == "none: switched off by FABRICBENCH_PROFILE_STAMPS=0"
        assert [row.matched for row in rank.operations] == [0]
