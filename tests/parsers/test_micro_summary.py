# SPDX-License-Identifier: Apache-2.0
"""Outputs of the project's own benchmarks on more than 64 ranks: statistics in place of samples."""

from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.micro import COLUMNS
from support.launches import launch_of
from support.micro_output import SMALL, parse_text

STATISTICS = {"median": 4.0, "mean": 5.0, "rank_mean": 4.5, "rank_min": 2.0, "rank_max": 9.0}
LAUNCH = launch_of(SMALL, benchmark="allreduce", ranks=100, case={})


def output(*rows: str, reporting: int = 100) -> str:
    head = ["#@ranks=100", f"#@reporting_ranks={reporting}", COLUMNS, "#@iterations.8=200", "#@sample_stride.8=1"]
    return "\n".join([*head, *rows, "#@verified=yes", "#@end=ok", ""])


def summary(benchmark: str, metric: str, **changes: float | None) -> list[str]:
    values = {name: value for name, value in {**STATISTICS, **changes}.items() if value is not None}
    return [f"{benchmark},,8,0,0,{value:.3f},{metric}:{name}" for name, value in values.items()]


def test_the_times_of_a_collective_come_from_the_medians_of_the_ranks(tmp_path: Path) -> None:
    parsed = parse_text(tmp_path, output(*summary("allreduce", "call_us")), LAUNCH)
    rows = {(row.metric, row.msg_size_bytes): row.value for row in parsed.rows}
    assert rows == {("time", 8): 4.5, ("time_min", 8): 2.0, ("time_max", 8): 9.0}


def test_latency_comes_from_all_samples(tmp_path: Path) -> None:
    launch = LAUNCH.model_copy(update={"benchmark": "hotspot", "ranks": 100})
    rows = summary("hotspot", "latency_us")
    parsed = parse_text(tmp_path, output(*rows), launch)
    assert {row.metric: row.value for row in parsed.rows}["latency"] == 4.0


@pytest.mark.parametrize(
    "rows",
    [
        summary("allreduce", "call_us", rank_max=None),
        [*summary("allreduce", "call_us"), "allreduce,,8,0,0,4.000,call_us:variance"],
        [*summary("allreduce", "call_us"), "allreduce,,8,3,0,4.000,call_us"],
    ],
)
def test_an_incomplete_summary_is_unreadable(tmp_path: Path, rows: list[str]) -> None:
    with pytest.raises(Unreadable):
        parse_text(tmp_path, output(*rows), LAUNCH)
