# SPDX-License-Identifier: Apache-2.0
"""The parts of known operations on a network with known costs: every rule of the model gives the known number."""

from dataclasses import replace

import pytest

from fabricbench.models.attribution import SYNC, attribute_run, curve_use
from fabricbench.models.curves import Curve, Curves, MessageCurves
from fabricbench.models.parts import PARTS, Parts
from fabricbench.parsers.tau.operations import HeadStart, Operations
from models.known import LATENCY, OVERHEAD, PER_BYTE, known_curves, line, rank, some


def parts(*operations: Operations) -> Parts:
    """The parts in MPI of a rank with these operations."""
    (one,) = attribute_run([rank(0, 1.0, *operations)], known_curves()).ranks
    return one.parts - Parts(computation=one.computation)


def near(one: Parts, **seconds: float) -> bool:
    """Whether the parts are these, and the others 0."""
    return all(getattr(one, name) == pytest.approx(seconds.get(name, 0.0), abs=1e-12) for name in PARTS)


def test_a_receive_costs_latency_and_bandwidth() -> None:
    assert near(parts(some("MPI_Recv", LATENCY + 1000 * PER_BYTE)), latency=LATENCY, bandwidth=1000 * PER_BYTE)


def test_the_time_before_the_partner_entered_is_waiting() -> None:
    one = parts(some("MPI_Recv", 5e-3 + LATENCY + 1000 * PER_BYTE, late=5e-3))
    assert near(one, latency=LATENCY, bandwidth=1000 * PER_BYTE, waiting=5e-3)


def test_waiting_never_exceeds_the_time_of_the_operations() -> None:
    one = parts(some("MPI_Recv", 1e-3, late=2e-3))
    assert one.waiting == 1e-3
    assert one.total == pytest.approx(1e-3)


def test_a_head_start_consumes_the_latency_first() -> None:
    head = 0.5 * (LATENCY - OVERHEAD)
    one = parts(some("MPI_Recv", LATENCY + 1000 * PER_BYTE - head, heads=(HeadStart(1, head),)))
    assert near(one, latency=LATENCY - head, bandwidth=1000 * PER_BYTE)


def test_a_longer_head_start_consumes_bandwidth_too() -> None:
    head = LATENCY - OVERHEAD + 400 * PER_BYTE
    one = parts(some("MPI_Recv", OVERHEAD + 600 * PER_BYTE, heads=(HeadStart(1, head),)))
    assert near(one, latency=OVERHEAD, bandwidth=600 * PER_BYTE)


def test_a_message_that_arrived_long_ago_costs_the_receive_overhead() -> None:
    assert near(parts(some("MPI_Recv", OVERHEAD, heads=(HeadStart(1, 1.0),))), latency=OVERHEAD)


def test_operations_without_head_start_cost_as_a_whole() -> None:
    one = parts(some("MPI_Recv", LATENCY + OVERHEAD, size=0.0, count=2, heads=(HeadStart(1, 1.0),)))
    assert near(one, latency=LATENCY + OVERHEAD)


def test_messages_without_time_stamps_cost_the_least_and_the_remainder_is_undivided() -> None:
    one = parts(some("MPI_Recv", LATENCY + 1000 * PER_BYTE, matched=0))
    assert near(one, latency=OVERHEAD, undivided=LATENCY - OVERHEAD + 1000 * PER_BYTE)


def test_a_message_without_time_stamps_costs_the_least_beside_messages_with_them() -> None:
    stamped, unmatched = some("MPI_Recv", LATENCY, size=0.0), some("MPI_Recv", LATENCY, size=0.0, matched=0)
    assert near(parts(stamped, unmatched), latency=LATENCY + OVERHEAD, undivided=LATENCY - OVERHEAD)


def test_operations_of_several_sizes_have_the_mean_cost() -> None:
    several = replace(some("MPI_Send", 4 * OVERHEAD, count=4, size=500.0), spread=((0.75, 0.0), (0.25, 2000.0)))
    bent = Curves(MessageCurves(send_overhead=Curve((0.0, 1000.0, 2000.0), (OVERHEAD, OVERHEAD, 3 * OVERHEAD))))
    (one,) = attribute_run([rank(0, 1.0, several)], bent).ranks
    assert one.parts.bandwidth == pytest.approx(2 * OVERHEAD)


def test_what_no_curve_explains_is_rest_with_its_sign() -> None:
    assert near(parts(some("MPI_Recv", LATENCY + 3e-6, size=0.0)), latency=LATENCY, rest=3e-6)
    assert near(parts(some("MPI_Recv", LATENCY - 3e-6, size=0.0)), latency=LATENCY, rest=-3e-6)


def test_operations_that_one_call_completes_share_one_latency_and_add_their_bytes() -> None:
    seconds = LATENCY + 4 * 1000 * PER_BYTE
    one = parts(some("MPI_Irecv", seconds, call="MPI_Waitall", count=4, calls=1.0))
    assert near(one, latency=LATENCY, bandwidth=4000 * PER_BYTE)


def test_a_blocking_send_costs_its_overhead() -> None:
    assert near(parts(some("MPI_Send", OVERHEAD)), latency=OVERHEAD)


def test_a_started_send_costs_latency_at_its_start_and_bandwidth_at_its_completion() -> None:
    curves = Curves(MessageCurves(send_overhead=line(OVERHEAD, PER_BYTE)))
    operations = [some("MPI_Isend", OVERHEAD), some("MPI_Isend", 1000 * PER_BYTE, call="MPI_Wait")]
    (one,) = attribute_run([rank(0, 1.0, *operations)], curves).ranks
    assert near(one.calls["MPI_Isend"], latency=OVERHEAD, bandwidth=1000 * PER_BYTE)


def test_an_exchange_moves_both_ways_at_once() -> None:
    one = parts(some("MPI_Sendrecv", LATENCY + 2000 * PER_BYTE))
    assert near(one, latency=LATENCY, bandwidth=2000 * PER_BYTE)
    early = parts(some("MPI_Sendrecv", 2 * OVERHEAD, heads=(HeadStart(1, 1.0),)))
    assert near(early, latency=2 * OVERHEAD)


@pytest.mark.parametrize(
    ("function", "size", "block"),
    [
        ("MPI_Alltoall", 2000.0, 1000.0),
        ("MPI_Alltoallv", 2000.0, 1000.0),
        ("MPI_Allreduce", 1000.0, 1000.0),
        ("MPI_Allgather", 1000.0, 1000.0),
        ("MPI_Allgatherv", 2000.0, 1000.0),
        ("MPI_Reduce_scatter_block", 1000.0, 1000.0),
        ("MPI_Scan", 1000.0, 1000.0),
    ],
)
def test_the_size_of_a_collective_in_the_definition_of_its_curve(function: str, size: float, block: float) -> None:
    one = parts(some(function, LATENCY + block * PER_BYTE, size=size))
    assert near(one, latency=LATENCY, bandwidth=block * PER_BYTE)


def test_the_root_of_a_broadcast_only_sends() -> None:
    root = parts(some("MPI_Bcast", OVERHEAD + 1000 * PER_BYTE, root=True, matched=0), some("MPI_Barrier", LATENCY))
    assert near(root, latency=OVERHEAD + LATENCY, bandwidth=1000 * PER_BYTE)
    other = parts(some("MPI_Bcast", LATENCY + 1000 * PER_BYTE))
    assert near(other, latency=LATENCY, bandwidth=1000 * PER_BYTE)


def test_the_root_of_a_gather_receives_and_its_size_with_v_is_the_sum() -> None:
    assert near(
        parts(some("MPI_Gatherv", LATENCY + 1e3 * PER_BYTE, size=2e3, root=True)), latency=LATENCY, bandwidth=1e-6
    )
    assert near(parts(some("MPI_Gatherv", OVERHEAD + 1e3 * PER_BYTE)), latency=OVERHEAD, bandwidth=1e-6)


def test_a_barrier_is_latency() -> None:
    assert near(parts(some("MPI_Barrier", LATENCY, size=None)), latency=LATENCY)


@pytest.mark.parametrize("function", ["MPI_Comm_split", "MPI_Iprobe", "MPI_Win_create", "MPI_Test"])
def test_functions_without_a_curve_are_rest(function: str) -> None:
    assert near(parts(some(function, 1e-3, size=None, matched=0)), rest=1e-3)


@pytest.mark.parametrize("other", [{"peer": "self"}, {"peer": "none"}, {"comm_size": 1}])
def test_messages_that_do_not_use_the_network_are_rest(other: dict[str, object]) -> None:
    assert near(parts(some("MPI_Sendrecv", 1e-3, **other)), rest=1e-3)  # type: ignore[arg-type]


def test_without_time_stamps_the_remainder_is_undivided_and_overlap_is_rest() -> None:
    assert near(parts(some("MPI_Allreduce", LATENCY + 5e-3, size=0.0, matched=0)), latency=LATENCY, undivided=5e-3)
    assert near(
        parts(some("MPI_Allreduce", 0.25 * LATENCY, size=0.0, matched=0)), latency=LATENCY, rest=-0.75 * LATENCY
    )


def test_a_share_of_the_remainder_is_undivided_where_some_time_stamps_are_missing() -> None:
    one = parts(some("MPI_Allreduce", 4 * LATENCY + 4e-3, size=0.0, count=4, matched=3))
    assert near(one, latency=4 * LATENCY, undivided=1e-3, rest=3e-3)


def test_the_profilers_barrier_is_waiting_beyond_its_own_cost_and_the_collectives_do_not_wait() -> None:
    one = parts(
        some(SYNC, 5e-3 + LATENCY, size=None, matched=0), some("MPI_Allreduce", LATENCY + 1e-4, size=0.0, matched=0)
    )
    assert near(one, latency=2 * LATENCY, waiting=5e-3, rest=1e-4)


def test_unknown_sizes_have_no_cost() -> None:
    assert near(parts(some("MPI_Recv", 1e-3, size=None, matched=0)), undivided=1e-3)


def test_computation_is_the_time_outside_mpi_and_the_parts_add_up_to_the_profiled_time() -> None:
    run = attribute_run([rank(0, 1.0, some("MPI_Recv", 0.25)), rank(1, 0.9, some("MPI_Send", 0.1))], known_curves())
    assert [one.computation for one in run.ranks] == pytest.approx([0.75, 0.8])
    assert [one.parts.total for one in run.ranks] == pytest.approx([1.0, 0.9])
    assert run.time == 1.0


def test_absent_curves_extrapolation_and_unknown_sizes_are_reported_with_their_times() -> None:
    operations = (some("MPI_Recv", 0.1), some("MPI_Recv", 0.2, size=None), some("MPI_Bcast", 0.3))
    curves = Curves(MessageCurves(half_round_trip=line(0.0, 1e-9)))
    use = curve_use([rank(0, 1.0, *operations), rank(1, 1.0)], curves)
    assert (use.absent, use.unsized, use.total) == ({"bcast": 0.3}, 0.2, 2.0)
    beyond = curve_use([rank(0, 1.0, some("MPI_Recv", 0.5, size=2e6))], known_curves())
    assert beyond.extrapolated == pytest.approx(LATENCY + 2e6 * PER_BYTE)


@pytest.mark.parametrize("function", ["MPI_Recv", "MPI_Allreduce", "MPI_Sendrecv", "MPI_Bcast"])
def test_hostile_values_give_finite_parts(function: str) -> None:
    one = parts(
        some(function, 0.0, count=0, calls=0.0, size=1e18),
        some(function, 1e-9, count=2**40, size=0.0, late=-5.0, heads=(HeadStart(0, 0.0), HeadStart(2**41, 1e30))),
    )
    assert abs(one.total) < 1e9
    assert one.waiting == 0
