# SPDX-License-Identifier: Apache-2.0
"""Each verdict and exit status, on tables made by hand."""

from pathlib import Path

import numpy as np
import pytest

from fabricbench.errors import BadInput
from fabricbench.site.requirements import Requirements
from fabricbench.verdict.judge import judge
from verdict.synthetic_table import entry, facts, lane_rows, latencies, requirements, table_of

FASTER = [8.0, 8.1, 8.2, 8.3, 8.4, 8.5]
SLOWER = [12.0, 12.1, 12.2, 12.3, 12.4, 12.5]
ACROSS = [9.0, 9.5, 9.9, 10.1, 10.5, 11.0]


@pytest.mark.parametrize(
    ("values", "bound", "verdict", "status"),
    [
        (FASTER, "at_most: 10 us", "PASS", 0),
        (SLOWER, "at_most: 10 us", "FAIL", 1),
        (ACROSS, "at_most: 10 us", "INCONCLUSIVE", 3),
        (SLOWER, "at_least: 10 us", "PASS", 0),
        (FASTER, "at_least: 10 us", "FAIL", 1),
        (FASTER, "within: [7 us, 10 us]", "PASS", 0),
        (SLOWER, "within: [7 us, 10 us]", "FAIL", 1),
        (FASTER, "within: [9 us, 10 us]", "FAIL", 1),
        (ACROSS, "within: [7 us, 10 us]", "INCONCLUSIVE", 3),
        ([10.0] * 6, "at_most: 10 us", "INCONCLUSIVE", 3),
    ],
)
def test_values_on_each_side_of_each_bound(
    tmp_path: Path, values: list[float], bound: str, verdict: str, status: int
) -> None:
    result = judge(table_of(lane_rows("mpich@tcp", values)), requirements(tmp_path, entry(bound=bound)), facts(6))
    (cell,) = result.cells
    assert (cell.verdict, result.exit_status) == (verdict, status)
    assert (cell.name, cell.n, len(cell.launches)) == ("lat/mpich@tcp/8", 6, 6)
    assert cell.confidence == pytest.approx(1 - 2 / 64)


def test_a_ratio_is_paired_by_block(tmp_path: Path) -> None:
    drift = np.linspace(1.0, 5.0, 6)
    table = table_of(
        lane_rows("mpich@shm", [0.4 * d for d in drift]),
        lane_rows("mpich@tcp", [1.0 * d for d in drift]),
        lane_rows("impi@shm", [0.6 * d for d in drift]),
        lane_rows("impi@tcp", [1.0 * d for d in drift]),
    )
    requirement_set = requirements(tmp_path, entry("half", "at_most: 0.5", "fabric: tcp", fabric="shm"))
    result = judge(table, requirement_set, facts(6))
    assert [(c.name, c.against, c.verdict) for c in result.cells] == [
        ("half/impi@shm/8", "impi@tcp", "FAIL"),
        ("half/mpich@shm/8", "mpich@tcp", "PASS"),
    ]
    assert result.cells[1].estimate == pytest.approx(0.4)
    assert result.cells[1].unit == "ratio"
    assert len(result.cells[1].launches) == 12
    assert result.exit_status == 1


@pytest.mark.parametrize("state", ["refuted", "unknown"])
@pytest.mark.parametrize("lane", ["mpich@shm", "mpich@tcp"])
def test_a_doubtful_launch_on_either_side_is_invalid(tmp_path: Path, state: str, lane: str) -> None:
    extra = [row | {"state": state} for row in lane_rows(lane, {5: 3.0}, launch="launches/doubtful")]
    table = table_of(lane_rows("mpich@shm", FASTER), lane_rows("mpich@tcp", SLOWER), extra)
    requirement_set = requirements(tmp_path, entry("shm", "at_most: 1.0", "fabric: tcp", fabric="shm"))
    result = judge(table, requirement_set, facts(6))
    assert (result.cells[0].verdict, result.exit_status) == ("INVALID", 4)
    assert state in result.cells[0].reason
    assert "launches/doubtful" in result.cells[0].reason


@pytest.mark.parametrize("state", ["lost", "unfinished"])
def test_a_lost_launch_is_invalid_unless_its_block_has_a_repeat(tmp_path: Path, state: str) -> None:
    losses = [row | {"state": state} for row in lane_rows("mpich@tcp", {2: None}, launch="launches/lost")]
    requirement_set = requirements(tmp_path, entry())
    without = lane_rows("mpich@tcp", {0: 8.0, 1: 8.1, 3: 8.3, 4: 8.4, 5: 8.5, 6: 8.6})
    (cell,) = judge(table_of(without, losses), requirement_set, facts(6)).cells
    assert cell.verdict == "INVALID"
    assert f"launches/lost ({state})" in cell.reason
    (cell,) = judge(table_of(lane_rows("mpich@tcp", FASTER), losses), requirement_set, facts(6)).cells
    assert cell.verdict == "PASS"
    assert cell.repeated == ("launches/lost",)
    assert cell.notes == ("1 lost launch repeated",)


@pytest.mark.parametrize("state", ["failed", "unreadable"])
def test_a_launch_that_failed_by_itself_stays_invalid_after_a_repeat(tmp_path: Path, state: str) -> None:
    failed = [row | {"state": state} for row in lane_rows("mpich@tcp", {2: None}, launch="launches/failed")]
    (cell,) = judge(table_of(lane_rows("mpich@tcp", FASTER), failed), requirements(tmp_path, entry()), facts(6)).cells
    assert cell.verdict == "INVALID"
    assert f"launches/failed ({state})" in cell.reason


@pytest.mark.parametrize(
    ("lost", "limit", "verdict"),
    [(1, "", "PASS"), (2, "", "INVALID"), (2, "0.25", "PASS"), (1, "0", "INVALID"), (6, "1", "PASS")],
)
def test_too_many_lost_launches_are_invalid(tmp_path: Path, lost: int, limit: str, verdict: str) -> None:
    rows = lane_rows("mpich@tcp", [None] * lost, state="lost")
    for row in rows:
        row["launch"] = f"launches/lost-{row['block']}"
    bound = "at_most: 10 us" + (f"\n    lost_at_most: {limit}" if limit else "")
    requirement_set = requirements(tmp_path, entry(bound=bound))
    (cell,) = judge(table_of(lane_rows("mpich@tcp", FASTER), rows), requirement_set, facts(6)).cells
    assert cell.verdict == verdict
    if verdict == "INVALID":
        assert f"{lost} of {6 + lost} launches were lost; " in cell.reason


def test_repeats_of_a_block_count_once(tmp_path: Path) -> None:
    again = lane_rows("mpich@tcp", {0: 8.9}, launch="launches/again")
    table = table_of(lane_rows("mpich@tcp", FASTER), again)
    (cell,) = judge(table, requirements(tmp_path, entry()), facts(6)).cells
    assert cell.n == 6
    assert cell.low == pytest.approx(8.1)
    assert len(cell.launches) == 7


def test_only_timed_rows_count(tmp_path: Path) -> None:
    profiled = lane_rows("mpich@tcp", SLOWER, mode="profiled", state="refuted")
    table = table_of(lane_rows("mpich@tcp", FASTER), profiled)
    assert judge(table, requirements(tmp_path, entry()), facts(6)).exit_status == 0


def test_nothing_is_judged_before_a_look_nor_between_two(tmp_path: Path) -> None:
    requirement_set = requirements(tmp_path, entry())
    early = judge(table_of(lane_rows("mpich@tcp", [8.0] * 7)), requirement_set, facts(8, 15, 30))
    assert (early.cells[0].verdict, early.exit_status) == ("INCONCLUSIVE", 3)
    assert early.cells[0].p_value is None
    assert "7 of 8 blocks" in early.cells[0].reason
    mixed = [8.0, 12.0] * 4
    between = judge(table_of(lane_rows("mpich@tcp", mixed + [8.0] * 6)), requirement_set, facts(8, 15, 30)).cells[0]
    at_look = judge(table_of(lane_rows("mpich@tcp", mixed)), requirement_set, facts(8, 15, 30)).cells[0]
    assert (between.estimate, between.n, between.p_value) == (at_look.estimate, 8, at_look.p_value)
    assert "the next look is at 15 blocks" in between.reason


@pytest.mark.parametrize("looks", [(), (1,), (5,)])
def test_too_few_planned_launches_never_decide(tmp_path: Path, looks: tuple[int, ...]) -> None:
    table = table_of(lane_rows("mpich@tcp", [8.0] * 5))
    result = judge(table, requirements(tmp_path, entry()), facts(*looks))
    assert (result.cells[0].verdict, result.exit_status) == ("INCONCLUSIVE", 3)


def test_an_inconclusive_cell_gives_the_minimum_detectable_effect(tmp_path: Path) -> None:
    (cell,) = judge(table_of(lane_rows("mpich@tcp", ACROSS)), requirements(tmp_path, entry()), facts(6)).cells
    assert cell.mde is not None
    assert 0.05 < cell.mde < 0.5
    assert "smallest change that 6 launches would detect" in cell.reason


def test_one_cell_alone_cannot_decide_among_many_undecided(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    others = [lane_rows("mpich@tcp", latencies(rng, 6, 10.0), msg_size_bytes=2**k) for k in range(4, 12)]
    table = table_of(lane_rows("mpich@tcp", FASTER), *others)
    first = judge(table, requirements(tmp_path, entry()), facts(6)).cells[0]
    assert first.verdict == "INCONCLUSIVE"
    assert first.p_value == pytest.approx(1 / 64)
    assert first.q_value is not None
    assert first.q_value > 0.05
    assert "satisfies the bound" in first.reason


def test_planned_cells_without_values_are_inconclusive(tmp_path: Path) -> None:
    table = table_of(lane_rows("mpich@shm", FASTER))
    requirement_set = requirements(
        tmp_path,
        entry("nothing", fabric="ib"),
        entry("sizes", msg_size_bytes="[8, 16]"),
        entry("range", msg_size_bytes="{from: 1 KiB}"),
        entry("stacks", stack="[mpich, impi]"),
        entry("pair", "at_most: 0.5", "fabric: tcp", fabric="shm"),
    )
    result = judge(table, requirement_set, facts(6))
    assert [(c.name, c.verdict) for c in result.cells] == [
        ("nothing/*@ib", "INCONCLUSIVE"),
        ("sizes/mpich@shm/8", "PASS"),
        ("sizes/mpich@shm/16", "INCONCLUSIVE"),
        ("range/mpich@shm", "INCONCLUSIVE"),
        ("stacks/mpich@shm/8", "PASS"),
        ("stacks/impi@*", "INCONCLUSIVE"),
        ("pair/mpich@shm/8", "INCONCLUSIVE"),
    ]
    assert all("nothing measured" in c.reason for c in result.cells if c.verdict == "INCONCLUSIVE")


def test_names_distinguish_cases_and_ranks(tmp_path: Path) -> None:
    table = table_of(lane_rows("mpich@tcp", FASTER), lane_rows("mpich@tcp", FASTER, ranks=4, case="a=1 b=2"))
    names = [cell.name for cell in judge(table, requirements(tmp_path, entry()), facts(6)).cells]
    assert names == ["lat/mpich@tcp/case=/ranks=2/8", "lat/mpich@tcp/case=a=1,b=2/ranks=4/8"]


def test_another_tool_as_reference(tmp_path: Path) -> None:
    own = lane_rows("mpich@tcp", FASTER, metric="latency_mean", case="warmup=10")
    imb = lane_rows("mpich@tcp", FASTER, tool="imb", case="off_cache=-1")
    more = lane_rows("mpich@tcp", FASTER, tool="imb", case="off_cache=64")
    requirement_set = requirements(
        tmp_path, entry("agree", "within: [0.9, 1.1]", "tool: imb, metric: latency", metric="latency_mean")
    )
    (cell,) = judge(table_of(own, imb), requirement_set, facts(6)).cells
    assert (cell.verdict, cell.against) == ("PASS", "mpich@tcp (imb pingpong latency)")
    with pytest.raises(BadInput, match=r"requirements\.yaml:\d+: .*several cases"):
        judge(table_of(own, imb, more), requirement_set, facts(6))


def test_a_ratio_to_zero_is_invalid(tmp_path: Path) -> None:
    table = table_of(lane_rows("mpich@shm", FASTER), lane_rows("mpich@tcp", [0.0] * 6))
    requirement_set = requirements(tmp_path, entry("pair", "at_most: 0.5", "fabric: tcp", fabric="shm"))
    assert judge(table, requirement_set, facts(6)).exit_status == 4


def test_a_failure_comes_before_invalid_before_inconclusive(tmp_path: Path) -> None:
    refuted = lane_rows("a@tcp", FASTER, state="refuted")
    across = lane_rows("b@tcp", ACROSS)
    failing = [lane_rows(f"{name}@tcp", SLOWER) for name in "cdefg"]
    requirement_set = requirements(tmp_path, entry())
    assert judge(table_of(across), requirement_set, facts(6)).exit_status == 3
    assert judge(table_of(across, refuted), requirement_set, facts(6)).exit_status == 4
    assert judge(table_of(across, refuted, *failing), requirement_set, facts(6)).exit_status == 1


def test_no_requirements_is_bad_input() -> None:
    with pytest.raises(BadInput, match="no requirements"):
        judge(table_of(lane_rows("mpich@tcp", FASTER)), Requirements("r.yaml", ()), facts(6))


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    lanes = [f"{stack}@{fabric}" for stack in ("impi", "mpich") for fabric in ("shm", "tcp")]
    table = table_of(
        *(lane_rows(lane, latencies(rng, 9, 9.9), msg_size_bytes=size) for lane in lanes for size in (8, 64)),
        lane_rows("impi@tcp", {3: 9.0, 4: None}, launch="launches/again", state="ok"),
    )
    requirement_set = requirements(
        tmp_path,
        entry(),
        entry("pair", "at_most: 1.01", "fabric: tcp", fabric="shm"),
        entry("none", fabric="ib"),
    )
    first = judge(table, requirement_set, facts(8, 15))
    assert len(first.cells) == 13
    for seed in range(5):
        assert judge(table.sample(fraction=1.0, shuffle=True, seed=seed), requirement_set, facts(8, 15)) == first


def test_a_launch_without_a_trace_counts_as_lost(tmp_path: Path) -> None:
    """Its directory is gone or unreadable, so the table has no row of it; later blocks show that it was due."""
    whole = lane_rows("impi@tcp", SLOWER)
    rows = lane_rows("mpich@tcp", {0: 8.0, 1: 8.1, 3: 8.3, 4: 8.4, 5: 8.5, 6: 8.6})
    requirement_set = requirements(tmp_path, entry(stack="mpich"))
    (cell,) = judge(table_of([*whole, *lane_rows("impi@tcp", {6: 12.0})], rows), requirement_set, facts(6)).cells
    assert cell.verdict == "INVALID"
    assert "b002 (absent)" in cell.reason
    (cell,) = judge(table_of(whole, lane_rows("mpich@tcp", FASTER[:5])), requirement_set, facts(6)).cells
    assert cell.verdict == "INCONCLUSIVE", "the last block may still be running"
