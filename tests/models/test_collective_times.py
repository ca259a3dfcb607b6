# SPDX-License-Identifier: Apache-2.0
"""The time of collectives by latency and time per byte."""

import pytest

from fabricbench.models.collective_times import COLLECTIVES, collective_us


@pytest.mark.parametrize(
    ("name", "ranks", "size", "expected"),
    [
        ("barrier", 5, 0, 3 * 2.0),
        ("allreduce", 32, 8, 5 * 2.0),
        ("allreduce", 4, 10**6, 2 * 0.75 * 1000.0),
        ("alltoall", 8, 10**6, 7 * 1000.0),
        ("allgather", 3, 10**6, 2 * 1000.0),
        ("bcast", 16, 10**6, 1000.0),
        ("reduce", 2, 10**6, 1000.0),
        ("reduce_scatter", 4, 10**6, 750.0),
    ],
)
def test_the_larger_of_latency_and_bytes(name: str, ranks: int, size: int, expected: float) -> None:
    """2 us, and 1 ns for each byte."""
    assert collective_us(name, ranks, size, 2.0, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_one_rank_sends_nothing_and_more_ranks_never_take_less(name: str) -> None:
    times = [collective_us(name, ranks, 4096, 2.0, 1.0) for ranks in range(1, 65)]
    assert times[0] == 0
    assert times == sorted(times)
