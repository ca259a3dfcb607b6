# SPDX-License-Identifier: Apache-2.0
"""``judge --explain`` gives the reason for each launch that was not used, and the notes of the verdict."""

from pathlib import Path

from fabricbench.verdict.explain import explain
from fabricbench.verdict.judge import judge
from fabricbench.verdict.result import CampaignContext
from verdict.synthetic_table import Rows, entry, facts, lane_rows, requirements, table_of

FAST = [8.0, 8.1, 8.2, 8.3, 8.4, 8.5, 8.6]


def explained(folder: Path, *parts: Rows, relative: bool = True, context: CampaignContext | None = None) -> list[str]:
    requirement_set = entry("x", "at_most: 2.0", "fabric: tcp", fabric="shm") if relative else entry("x", fabric="shm")
    table = table_of(*parts)
    result = judge(table, requirements(folder, requirement_set), facts(6), context)
    return explain("x/mpich@shm/8", result, table, context)


def lines_of(lines: list[str], block: int) -> list[str]:
    return [line for line in lines if line.startswith(f"    block {block:3d}") and "launches/" in line]


def test_a_denominator_of_zero_is_given_as_the_reason(tmp_path: Path) -> None:
    tcp = lane_rows("mpich@tcp", [9.0, 9.1, 0.0, 9.3, 9.4, 9.5])
    lines = explained(tmp_path, lane_rows("mpich@shm", FAST[:6]), tcp)
    assert all("not used: the denominator of the ratio is 0" in line for line in lines_of(lines, 2))
    assert len(lines_of(lines, 2)) == 2
    assert not any("not used" in line or "after the last completed look" in line for line in lines_of(lines, 1))
    assert "after the last completed look" not in "\n".join(lines)
    assert lines[-1].startswith("  INVALID: the ratio is not a number")


def test_a_block_without_the_other_side_is_given_as_the_reason(tmp_path: Path) -> None:
    tcp = lane_rows("mpich@tcp", dict.fromkeys(range(6), 9.0))
    lines = explained(tmp_path, lane_rows("mpich@shm", FAST), tcp)
    assert "not used: the other side has no value in this block" in lines_of(lines, 6)[0]


def test_launches_after_the_look_are_marked(tmp_path: Path) -> None:
    lines = explained(tmp_path, lane_rows("mpich@shm", FAST), relative=False)
    assert "after the last completed look" in lines_of(lines, 6)[0]
    assert sum("after the last completed look" in line for line in lines) == 1


def test_launches_with_foreign_load_are_marked_and_counted(tmp_path: Path) -> None:
    rows = lane_rows("mpich@shm", FAST[:6])
    loads = {rows[0]["launch"]: 0.42, rows[1]["launch"]: 0.1, rows[2]["launch"]: 0.11}
    lines = explained(tmp_path, rows, relative=False, context=CampaignContext(foreign_load=loads))
    assert "with foreign load of 42 %" in lines_of(lines, 0)[0]
    assert "foreign load" not in lines_of(lines, 1)[0]
    assert "  note: 2 of 6 launches with foreign load above 10 %" in lines


def test_lost_launches_and_their_repeats_are_listed(tmp_path: Path) -> None:
    losses = lane_rows("mpich@shm", {2: None}, state="lost", launch="launches/gone")
    rows = lane_rows("mpich@shm", FAST[:6])
    lines = explained(tmp_path, rows, losses, relative=False)
    assert "  launches that were lost, and their repeats:" in lines
    assert f"    block   2  launches/gone, repeated by {rows[2]['launch']}" in lines
