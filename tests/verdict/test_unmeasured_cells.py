# SPDX-License-Identifier: Apache-2.0
"""Planned cells that were not measured are INCONCLUSIVE cells, or are counted."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fabricbench.errors import BadInput
from fabricbench.launch.facts import Expected
from fabricbench.launch.record import Unmeasured
from fabricbench.site.lane import LaneName
from fabricbench.verdict.compare import compare, measured_on_neither
from fabricbench.verdict.judge import judge
from fabricbench.verdict.result import CampaignContext, Judgement
from verdict.synthetic_table import Rows, entry, facts, lane_rows, requirements, table_of

FAST = [8.0, 8.1, 8.2, 8.3, 8.4, 8.5]
SIZES = (0, 8, 16)


def skip(lane: str, **columns: Any) -> Unmeasured:
    """A skip of the ping-pong's latency on a lane, unless ``columns`` say otherwise."""
    rows = (Expected(benchmark="pingpong", case="", metric="latency", msg_sizes_bytes=SIZES),)
    common: dict[str, Any] = {
        **{"system": "local", **asdict(LaneName.of(lane)), "tool": "micro"},
        **{"benchmark": "pingpong", "expected": rows, "ranks": 2, "nodes": 1},
        **{"reason": "no MPI here", "hint": "install it"},
    }
    return Unmeasured(**common | columns)


def judgement(folder: Path, requirement_set: str, *parts: Rows, skips: tuple[Unmeasured, ...]) -> Judgement:
    return judge(table_of(*parts), requirements(folder, requirement_set), facts(6), CampaignContext(skips))


def test_a_skip_is_an_inconclusive_cell_with_its_reason_and_hint(tmp_path: Path) -> None:
    requirement_set = entry("barrier", "at_most: 5 us", msg_size_bytes=8)
    measured = [lane_rows(f"{stack}@shm", [3.0, 3.1, 3.2, 3.3, 3.4, 3.5]) for stack in ("impi", "mpich")]
    result = judgement(tmp_path, requirement_set, *measured, skips=(skip("openmpi@shm"),))
    assert [(cell.name, cell.verdict) for cell in result.cells] == [
        ("barrier/impi@shm/8", "PASS"),
        ("barrier/mpich@shm/8", "PASS"),
        ("barrier/openmpi@shm/8", "INCONCLUSIVE"),
    ]
    assert result.exit_status == 3
    assert result.cells[2].reason == "not measured: no MPI here; install it"
    assert (result.cells[2].unmeasured, result.cells[2].n) == (True, 0)


def test_a_requirement_on_more_nodes_than_were_measured_names_the_measured_scales(tmp_path: Path) -> None:
    """An acceptance document for 64 nodes, tried on four: no verdict, and the reason says which scales exist."""
    requirement_set = entry("all-nodes", "at_most: 10 us", nodes=64)
    measured = [lane_rows("mpich@eth", FAST, nodes=nodes, ranks=2 * nodes) for nodes in (1, 4)]
    (cell,) = judgement(tmp_path, requirement_set, *measured, skips=()).cells
    assert cell.verdict == "INCONCLUSIVE"
    assert cell.reason == "nothing measured for it: micro pingpong latency on *@* with nodes=64; measured on 1x2, 4x2"


def test_where_measured_excludes_and_counts_skips(tmp_path: Path) -> None:
    requirement_set = entry("lat", "at_most: 10 us\n    where: measured", msg_size_bytes="{from: 8}")
    result = judgement(tmp_path, requirement_set, lane_rows("mpich@shm", FAST), skips=(skip("openmpi@shm"),))
    (cell,) = result.cells
    assert (cell.verdict, cell.skipped, result.exit_status) == ("PASS", 2, 0)
    assert cell.notes == ("2 cells not measured and skipped",)
    assert [one.name for one in result.skipped] == ["lat/openmpi@shm/8", "lat/openmpi@shm/16"]


def test_where_measured_does_not_skip_what_was_lost_or_damaged(tmp_path: Path) -> None:
    requirement_set = entry("lat", "at_most: 10 us\n    where: measured", msg_size_bytes=8)
    damaged = skip("openmpi@shm", reason="its launch cannot be read", hint="", damaged=True)
    result = judgement(tmp_path, requirement_set, lane_rows("mpich@shm", FAST), skips=(damaged,))
    assert [cell.verdict for cell in result.cells] == ["PASS", "INCONCLUSIVE"]
    assert (result.exit_status, result.skipped) == (3, ())


def test_each_cell_has_a_name_of_its_own(tmp_path: Path) -> None:
    """A skip of another case on a lane that was measured, and a listed size that neither has."""
    requirement_set = entry("lat", "at_most: 10 us", msg_size_bytes="[8, 12345]")
    rows = (Expected(benchmark="pingpong", case="binding=core", metric="latency", msg_sizes_bytes=(8,)),)
    result = judgement(
        tmp_path, requirement_set, lane_rows("mpich@shm", FAST), skips=(skip("mpich@shm", expected=rows),)
    )
    names = [cell.name for cell in result.cells]
    assert len(names) == len(set(names)) == 4


def test_where_measured_with_nothing_measured_is_inconclusive(tmp_path: Path) -> None:
    requirement_set = entry("lat", "at_most: 10 us\n    where: measured", fabric="shm", msg_size_bytes=8)
    result = judgement(tmp_path, requirement_set, lane_rows("mpich@tcp", FAST), skips=(skip("openmpi@shm"),))
    assert [(cell.name, cell.verdict) for cell in result.cells] == [("lat/openmpi@shm/8", "INCONCLUSIVE")]
    assert result.skipped == ()


def test_a_size_that_a_skip_would_not_have_measured_is_a_cell_too(tmp_path: Path) -> None:
    requirement_set = entry(msg_size_bytes="[8, 100]")
    result = judgement(tmp_path, requirement_set, lane_rows("mpich@shm", FAST), skips=(skip("openmpi@shm"),))
    assert [cell.name for cell in result.cells if cell.verdict == "INCONCLUSIVE"] == [
        "lat/openmpi@shm/8",
        "lat/mpich@shm/100",
        "lat/openmpi@shm/100",
    ]


def test_skips_do_not_rename_measured_cells(tmp_path: Path) -> None:
    rows = (Expected(benchmark="pingpong", case="rails=1", metric="latency", msg_sizes_bytes=(8,)),)
    result = judgement(
        tmp_path, entry(), lane_rows("mpich@shm", FAST), skips=(skip("mpich@shm", expected=rows, ranks=4),)
    )
    assert [cell.name for cell in result.cells] == ["lat/mpich@shm/8", "lat/mpich@shm/case=rails=1/ranks=4/8"]


def test_cells_that_a_fabric_cannot_have_are_skipped_unless_their_case_is_named(tmp_path: Path) -> None:
    rows = (Expected(benchmark="pingpong", case="rails=1", metric="latency", msg_sizes_bytes=(8,)),)
    rails = skip("mpich@shm", expected=rows, reason="this fabric has one port", applies=False)
    result = judgement(tmp_path, entry(), lane_rows("mpich@shm", FAST), skips=(rails,))
    assert [(cell.verdict, cell.skipped) for cell in result.cells] == [("PASS", 1)]
    both = entry(case="['', rails=1]")
    assert judgement(tmp_path, both, lane_rows("mpich@shm", FAST), skips=(rails,)).exit_status == 3


@pytest.mark.parametrize("case", ["", "k=1"])
def test_a_denominator_that_is_a_skip_gives_its_reason(tmp_path: Path, case: str) -> None:
    requirement_set = entry("half", "at_most: 0.5", "fabric: tcp", fabric="shm", msg_size_bytes=8)
    rows = (Expected(benchmark="pingpong", case=case, metric="latency", msg_sizes_bytes=(8,)),)
    measured = lane_rows("mpich@shm", FAST, case=case)
    (cell,) = judgement(tmp_path, requirement_set, measured, skips=(skip("mpich@tcp", expected=rows),)).cells
    assert (cell.verdict, cell.unmeasured) == ("INCONCLUSIVE", True)
    assert cell.reason == "nothing measured to compare with: mpich@tcp; not measured: no MPI here; install it"


def test_a_denominator_of_another_tool_that_is_a_skip_gives_its_reason(tmp_path: Path) -> None:
    requirement_set = entry("agree", "within: [0.5, 2]", "tool: imb", msg_size_bytes=8)
    rows = (Expected(benchmark="pingpong", case="off=1", metric="latency", msg_sizes_bytes=(8,)),)
    (cell,) = judgement(
        tmp_path, requirement_set, lane_rows("mpich@tcp", FAST), skips=(skip("mpich@tcp", tool="imb", expected=rows),)
    ).cells
    assert "no MPI here" in cell.reason


def test_a_numerator_that_is_a_skip_is_a_cell_of_its_ratio(tmp_path: Path) -> None:
    requirement_set = entry("half", "at_most: 0.5", "fabric: tcp", fabric="shm", msg_size_bytes=8)
    (cell,) = judgement(tmp_path, requirement_set, lane_rows("mpich@tcp", FAST), skips=(skip("mpich@shm"),)).cells
    assert (cell.name, cell.against, cell.verdict) == ("half/mpich@shm/8", "mpich@tcp", "INCONCLUSIVE")


@pytest.mark.parametrize("benchmark", ["pingpong", "pt2pt", ""])
def test_a_skip_of_unknown_rows_is_one_cell_of_its_lane(tmp_path: Path, benchmark: str) -> None:
    """As in campaigns that were recorded before skips had rows."""
    old = skip("openmpi@shm", expected=None, benchmark=benchmark, ranks=None, nodes=None)
    result = judgement(tmp_path, entry(msg_size_bytes="{from: 8}"), lane_rows("mpich@shm", FAST), skips=(old, old))
    assert [(cell.name, cell.verdict) for cell in result.cells] == [
        ("lat/mpich@shm/8", "PASS"),
        ("lat/openmpi@shm", "INCONCLUSIVE"),
    ]


@pytest.mark.parametrize("columns", [{"benchmark": "barrier"}, {"tool": "imb"}, {"fabric": "tcp"}])
def test_an_unrelated_skip_is_not_a_cell(tmp_path: Path, columns: dict[str, str]) -> None:
    other = skip("openmpi@shm", **{"expected": None, "benchmark": "pingpong"} | columns)
    result = judgement(tmp_path, entry(fabric="shm"), lane_rows("mpich@shm", FAST), skips=(other,))
    assert [cell.name for cell in result.cells] == ["lat/mpich@shm/8"]


def test_a_skip_with_unknown_rows_is_not_a_cell_on_a_lane_with_values(tmp_path: Path) -> None:
    old = skip("mpich@shm", expected=None, benchmark="rails")
    assert len(judgement(tmp_path, entry(), lane_rows("mpich@shm", FAST), skips=(old,)).cells) == 1


def test_a_comparison_says_why_a_side_was_not_measured() -> None:
    table = table_of(lane_rows("mpich@shm", FAST), lane_rows("impi@shm", FAST, msg_size_bytes=16))
    result = compare(table, "mpich@shm", "impi@shm", unmeasured=(skip("impi@shm"),))
    assert set(result["finding"]) == {
        "too few: impi@shm was not measured: no MPI here; install it",
        "too few: mpich@shm was not measured",
    }
    with pytest.raises(BadInput, match="nothing was measured on 'openmpi@shm': not measured: no MPI here"):
        compare(table, "mpich@shm", "openmpi@shm", unmeasured=(skip("openmpi@shm"),))


def test_a_comparison_names_what_neither_lane_measured() -> None:
    both = [skip(lane, tool="osu", reason="no OSU", hint="") for lane in ("mpich@shm", "impi@shm")]
    assert measured_on_neither([*both, skip("impi@shm")], "mpich@shm", "impi@shm") == [
        "on neither lane: osu pingpong: not measured: no OSU"
    ]
