# SPDX-License-Identifier: Apache-2.0
"""The section of MPI over the user level: ratio and difference of synthetic launches, as figures and tables."""

import re

import polars as pl
import pytest

from fabricbench.report.comparisons import ratios as all_ratios
from fabricbench.report.facets import lanes, panels, unsized
from fabricbench.report.groups import Group
from fabricbench.report.style import lane_styles
from fabricbench.report.user_level import user_level
from verdict.synthetic_table import Rows, lane_rows, table_of

SPREAD = [0.98, 0.99, 1.0, 1.0, 1.01, 1.02]
SIZES = (0, 1, 64, 4096, 2**20)


def curve(lane: str, start_us: float, tool: str = "micro") -> Rows:
    metric = "latency" if tool in ("qperf", "fi_pingpong") else "latency_mean"
    return [
        row
        for size in SIZES
        for row in lane_rows(
            lane, [(start_us + size / 2000) * s for s in SPREAD], metric=metric, tool=tool, msg_size_bytes=size
        )
    ]


TABLE = table_of(
    curve("mpich@tcp", 12.0),
    curve("openmpi@tcp", 9.0),
    curve("ucx@tcp", 10.0, "ucx_perftest"),
    curve("sockets@tcp", 8.0, "qperf"),
    curve("<b>&@shm", 1.0),
    curve("ucx@shm", 0.5, "ucx_perftest"),
)


MEDIANS = [
    row
    for lane in ("mpich@tcp", "openmpi@tcp")
    for size in SIZES
    for row in lane_rows(lane, SPREAD, msg_size_bytes=size)
]


def ratios(table: pl.DataFrame) -> list[Group]:
    return all_ratios(table, panels(table, 0.95), lane_styles(lanes(table)), 0.05)


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return user_level(TABLE, lane_styles(lanes(TABLE)), 0.05)


def test_a_group_for_each_library_on_each_fabric(groups: list[Group]) -> None:
    assert [group.title for group in groups] == [
        "shm: MPI over ucx, ucx_perftest pingpong, 2 ranks on 1 node",
        "tcp: MPI over sockets, qperf pingpong, 2 ranks on 1 node",
        "tcp: MPI over ucx, ucx_perftest pingpong, 2 ranks on 1 node",
    ]
    assert len({group.anchor for group in groups}) == 3
    assert [entry.text for entry in groups[2].legend] == ["mpich", "openmpi"]


def test_ratio_and_difference_with_their_numbers(groups: list[Group]) -> None:
    ratio, difference = groups[2].figures
    assert (ratio.caption, difference.caption) == ("MPI over user level", "MPI minus user level, in µs")
    assert ratio.numbers.columns == difference.numbers.columns == ("mpich", "openmpi")
    rows, differences = dict(ratio.numbers.rows), dict(difference.numbers.rows)
    assert [cell.estimate for cell in rows["0\u202fB"]] == ["1.200", "0.9000"]
    assert [cell.estimate for cell in differences["0\u202fB"]] == ["2.000", "\u22121.000"]
    assert differences["0\u202fB"][0].interval == "[1.960, 2.040]"
    assert {cell.n for cells in rows.values() for cell in cells} == {6}
    assert not any(cell.weak for cells in rows.values() for cell in cells)


def test_figures_have_a_description(groups: list[Group]) -> None:
    for group in groups:
        for figure in group.figures:
            assert figure.svg.startswith("<svg")
            assert "<b>" not in figure.svg
            assert not re.search(r"\bnan\b", figure.svg)
    described = str(groups[2].figures[1].svg)
    assert "openmpi@tcp: \u22121.000 µs at 0\u202fB" in described


def test_without_user_level_tools_there_is_no_group() -> None:
    table = table_of(curve("mpich@tcp", 12.0))
    assert user_level(table, lane_styles(lanes(table)), 0.05) == []


def test_ratios_between_stacks_exclude_user_level_libraries() -> None:
    """A user-level library is neither the reference nor a line, even with many measurements."""
    many = (
        lane_rows("ucx@tcp", SPREAD, tool="ucx_perftest", benchmark=name, metric="time", msg_size_bytes=size)
        for name in ("get", "put")
        for size in range(50)
    )
    (result,) = ratios(table_of(*many, *[[row] for row in TABLE.filter(fabric="tcp").to_dicts()], MEDIANS))
    assert result.title == "tcp: relative to mpich"
    assert [entry.text for entry in result.legend] == ["openmpi"]


def test_fairness_and_sum_of_streams() -> None:
    common = {"tool": "iperf3", "benchmark": "stream", "case": "streams=4", "msg_size_bytes": None}
    table = table_of(
        lane_rows("sockets@tcp", [900.0] * 6, metric="stream_bandwidth", **common),
        lane_rows("sockets@tcp", [0.75] * 6, metric="fairness", **common),
    )
    assert [panel.metric for panel in unsized(panels(table, 0.95))] == ["fairness", "stream_bandwidth"]
