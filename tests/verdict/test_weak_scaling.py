# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of NAS kernels: which launches have equally many elements on each rank, and their efficiency."""

import pytest

from fabricbench.report.weak_scaling import weak_rows
from fabricbench.verdict.series import all_series
from fabricbench.verdict.weak_scaling import weak_scaling
from verdict.synthetic_table import Rows, lane_rows, table_of

BLOCKS = [100.0, 104.0, 98.0, 101.0, 97.0, 103.0]


def rates(benchmark: str, ranks: int, efficiency: float, nodes: int = 1, **columns: object) -> Rows:
    """Rates in proportion to the ranks and an efficiency, whose blocks differ by common factors."""
    common = {"tool": "npb", "benchmark": benchmark, "metric": "mops", "msg_size_bytes": None, **columns}
    return lane_rows("mpich@tcp", [rate * ranks * efficiency for rate in BLOCKS], ranks=ranks, nodes=nodes, **common)


def test_classes_with_equally_many_elements_on_each_rank() -> None:
    """IS has 2^20 keys in class W, 2^23 in class A and 2^25 in class B."""
    table = table_of(rates("is.W", 2, 1.0), rates("is.A", 16, 0.8, 2), rates("is.B", 64, 0.6, 8), rates("is.A", 8, 0.9))
    rows = weak_scaling(all_series(table), 0.95)
    assert [(row.benchmark, row.scale, row.base_benchmark, row.base_scale) for row in rows] == [
        ("is.A", "2x8", "is.W", "1x2"),
        ("is.B", "8x8", "is.W", "1x2"),
    ]
    for row, efficiency in zip(rows, (0.8, 0.6), strict=True):
        assert (row.efficiency_low, row.efficiency, row.efficiency_high) == pytest.approx((efficiency,) * 3)
        assert (row.elements_per_rank, row.n) == (2**19, 6)


@pytest.mark.parametrize(
    "other",
    [
        rates("ft.A", 16, 1.0),  # another kernel
        rates("is.A", 16, 1.0, case="code=nasa"),
        rates("is.A", 32, 1.0),  # fewer keys on each rank
        rates("is.W", 2, 1.0, nodes=2),  # equally many ranks
    ],
)
def test_other_launches_are_not_compared(other: Rows) -> None:
    assert weak_scaling(all_series(table_of(rates("is.W", 2, 1.0), other)), 0.95) == []


def test_cg_has_no_weak_scaling() -> None:
    """Class B has 75,000 rows with 13 nonzeros, class A 14,000 rows with 11."""
    assert weak_scaling(all_series(table_of(rates("cg.W", 2, 1.0), rates("cg.A", 4, 1.0))), 0.95) == []


def test_the_table_of_the_report() -> None:
    (row,) = weak_rows(all_series(table_of(rates("ft.W", 2, 1.0), rates("ft.A", 32, 0.75, 4))), 0.95)
    assert (row.problem, row.lane, row.scale, row.base) == ("FT.A", "mpich@tcp", "4x8", "FT.W on 1x2")
    assert (row.efficiency.estimate, row.efficiency.interval) == ("75.0\u202f%", "[75.0\u202f%, 75.0\u202f%]")
