# SPDX-License-Identifier: Apache-2.0
"""MPI over the user level: known ratios and differences are recovered, paired by block."""

import numpy as np
import polars as pl
import pytest

from fabricbench.verdict.compare import compare
from fabricbench.verdict.overhead import overhead
from verdict.synthetic_table import Rows, lane_rows, table_of

BLOCKS = [1.0, 1.3, 0.8, 1.1, 0.9, 2.0]
"""What a block does to everything that runs in it: it cancels in a ratio."""

SIZES = (0, 8, 1024)


def mpi(lane: str, latency_us: float, size: int = 8, **columns: object) -> Rows:
    values = [latency_us * block for block in BLOCKS]
    return lane_rows(lane, values, metric="latency_mean", msg_size_bytes=size, **columns)


def user(lane: str, latency_us: float, size: int = 8, tool: str = "ucx_perftest", **columns: object) -> Rows:
    metric = "latency_mean" if tool == "ucx_perftest" else "latency"
    values = [latency_us * block for block in BLOCKS]
    return lane_rows(lane, values, metric=metric, tool=tool, msg_size_bytes=size, **columns)


def test_the_known_ratio_and_difference_per_size() -> None:
    table = table_of(
        *(mpi("mpich@tcp", 12.0 + size / 100, size) for size in SIZES),
        *(user("ucx@tcp", 10.0 + size / 200, size) for size in SIZES),
    )
    result = overhead(table.sample(fraction=1.0, shuffle=True, seed=1))
    assert result["msg_size_bytes"].to_list() == list(SIZES)
    assert set(zip(result["fabric"], result["stack"], result["library"], result["tool"], strict=True)) == {
        ("tcp", "mpich", "ucx", "ucx_perftest")
    }
    for row in result.iter_rows(named=True):
        a, b = 12.0 + row["msg_size_bytes"] / 100, 10.0 + row["msg_size_bytes"] / 200
        assert [row[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx([a / b] * 3)
        assert row["difference_us"] == pytest.approx((a - b) * float(np.median(BLOCKS)))
        assert row["difference_low_us"] == pytest.approx((a - b) * min(BLOCKS))
        assert row["difference_high_us"] == pytest.approx((a - b) * max(BLOCKS))
        assert (row["n"], row["p"], row["q"]) == (6, pytest.approx(2 / 64), pytest.approx(2 / 64))


def test_mpi_faster_than_the_library_is_a_negative_difference() -> None:
    result = overhead(table_of(mpi("impi@shm", 1.0), user("libfabric@shm", 4.0, tool="fi_pingpong")))
    assert result["ratio"].to_list() == [0.25]
    assert result["difference_us"][0] < 0


def test_every_stack_over_every_library_of_its_own_fabric() -> None:
    table = table_of(
        mpi("mpich@tcp", 12.0), mpi("openmpi@tcp", 15.0), mpi("mpich@shm", 1.0),
        user("ucx@tcp", 10.0), user("libfabric@tcp", 9.0, tool="fi_pingpong"), user("sockets@tcp", 8.0, tool="qperf"),
    )  # fmt: skip
    result = overhead(table)
    assert set(zip(result["stack"], result["library"], strict=True)) == {
        (stack, library) for stack in ("mpich", "openmpi") for library in ("ucx", "libfabric", "sockets")
    }
    assert set(result["fabric"]) == {"tcp"}


@pytest.mark.parametrize(
    "other",
    [
        user("ucx@tcp", 10.0, size=16),
        user("ucx@shm", 10.0),
        user("ucx@tcp", 10.0, ranks=4),
        user("ucx@tcp", 10.0, benchmark="put_pingpong"),
        lane_rows("ucx@tcp", BLOCKS, metric="latency", tool="ucx_perftest"),
        lane_rows("ucx@tcp", {9: 1.0}, metric="latency_mean", tool="ucx_perftest"),
    ],
    ids=["another size", "another fabric", "more ranks", "another benchmark", "a median", "other blocks"],
)
def test_only_equal_estimators_are_compared(other: Rows) -> None:
    assert overhead(table_of(mpi("mpich@tcp", 12.0), other)).is_empty()


@pytest.mark.parametrize("state", ["refuted", "unknown"])
def test_launches_that_are_not_attested_have_no_p_value(state: str) -> None:
    doubtful = lane_rows("ucx@tcp", {6: 10.0}, metric="latency_mean", tool="ucx_perftest", state=state)
    result = overhead(table_of(mpi("mpich@tcp", 12.0), user("ucx@tcp", 10.0), doubtful))
    assert result["ratio"][0] == pytest.approx(1.2)
    assert result.select("p", "q").row(0) == (None, None)


def test_too_few_blocks_give_no_finding() -> None:
    few = table_of(mpi("mpich@tcp", 12.0), user("ucx@tcp", 10.0)).filter(pl.col("block") < 3)
    result = overhead(few)
    assert (result["n"][0], result["q"][0]) == (3, None)
    assert overhead(few.clear()).is_empty()


@pytest.mark.parametrize(("a", "b", "ratio"), [("mpich@tcp", "ucx@tcp", 1.2), ("ucx@tcp", "mpich@tcp", 1 / 1.2)])
def test_lanes_of_two_levels_are_compared_on_the_same_estimator(a: str, b: str, ratio: float) -> None:
    median = lane_rows("mpich@tcp", BLOCKS)
    result = compare(table_of(mpi("mpich@tcp", 12.0), user("ucx@tcp", 10.0), median), a, b)
    assert result["ratio"].to_list() == [pytest.approx(ratio)]
    assert result["q"][0] == pytest.approx(2 / 64)
    assert result["finding"][0].startswith(f"{a} {'higher' if ratio > 1 else 'lower'} by ")
