# SPDX-License-Identifier: Apache-2.0
"""Speed-up, efficiency and times of collectives over nodes and ranks, of known values."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from fabricbench.cli.app import app
from fabricbench.cli.commands import scaling as command
from fabricbench.errors import BadInput
from fabricbench.verdict.judge import judge
from fabricbench.verdict.scaling import below, by_application, collective_times, strong_scaling
from fabricbench.verdict.series import all_series
from verdict.synthetic_table import Rows, entry, facts, lane_rows, requirements, table_of

BLOCKS = [100.0, 104.0, 98.0, 101.0, 97.0, 103.0]
"""Rates on one rank by block."""
EFFICIENCY = {(1, 1): 1.0, (1, 2): 0.95, (2, 4): 0.75, (4, 8): 0.5}


def rates(lane: str = "mpich@tcp", scatter: float = 0.0, blocks: int = 6, **columns: object) -> list[Rows]:
    """Rates of FT on four scales. The ratio to one rank is the same in each block, or scatters by ``scatter``."""
    columns = {"tool": "npb", "benchmark": "ft.A", "metric": "mops", "msg_size_bytes": None} | columns
    return [
        lane_rows(
            lane,
            [
                rate * ranks * share * (1 + scatter * (-1) ** block * (ranks > 1))
                for block, rate in enumerate(BLOCKS[:blocks])
            ],
            nodes=nodes,
            ranks=ranks,
            **columns,
        )
        for (nodes, ranks), share in EFFICIENCY.items()
    ]


def test_speed_up_is_paired_by_block() -> None:
    table = table_of(*rates()).sample(fraction=1.0, shuffle=True, seed=3)
    rows = strong_scaling(all_series(table), 0.95)
    assert [(row.nodes, row.ranks) for row in rows] == list(EFFICIENCY)
    for row, (scale, efficiency) in zip(rows, EFFICIENCY.items(), strict=True):
        assert (row.base_nodes, row.base_ranks, row.n) == (1, 1, 6)
        assert row.speed_up == pytest.approx(scale[1] * efficiency)
        assert (row.efficiency_low, row.efficiency, row.efficiency_high) == pytest.approx((efficiency,) * 3)
    assert rows[0].value == pytest.approx(100.5)
    assert rows[0].confidence is None


def test_the_limit_lies_between_the_scales_whose_intervals_decide() -> None:
    ((name, rows),) = by_application(strong_scaling(all_series(table_of(*rates(scatter=0.1))), 0.95))
    assert name == "npb ft.A on mpich@tcp"
    sentence = below(rows, 0.7).sentence(0.7)
    assert sentence == "efficiency at least 70 % up to 1x2, first below 70 % on 4x2; undecided on 1 of the scales"
    assert below(rows, 0.4).sentence(0.4) == "efficiency at least 40 % up to 4x2, below 40 % on no scale"


def test_an_undecided_scale_ends_the_scales_above_the_limit() -> None:
    at_once, undecided, above = (
        replace(row, efficiency_low=low, efficiency_high=high)
        for row, low, high in zip(
            strong_scaling(all_series(table_of(*rates())), 0.95), (1.0, 0.6, 0.8), (1.0, 0.9, 0.9), strict=False
        )
    )
    assert below([at_once, undecided, above], 0.7).last == at_once


def test_few_blocks_do_not_decide() -> None:
    rows = strong_scaling(all_series(table_of(*rates(blocks=3))), 0.95)
    expected = f"efficiency at least 70 % up to 1x1, below 70 % on no scale; undecided on {len(rows) - 1} of the scales"
    assert below([row for row in rows if row.lane == rows[0].lane], 0.7).sentence(0.7) == expected


def test_lanes_cases_and_single_scales_are_separate() -> None:
    single = lane_rows("mpich@shm", BLOCKS, tool="npb", benchmark="is.A", metric="mops", msg_size_bytes=None)
    table = table_of(*rates(), *rates("mpich@shm"), *rates(case="code=nasa"), single)
    names = [name for name, _ in by_application(strong_scaling(all_series(table), 0.95))]
    assert names == ["npb ft.A on mpich@shm", "npb ft.A on mpich@tcp", "npb ft.A code=nasa on mpich@tcp"]


def test_a_lane_with_shared_memory_has_the_base_of_the_lane_without() -> None:
    shared = [[row for row in part if row["ranks"] > row["nodes"]] for part in rates("mpich@tcp:local-shm")]
    rows = strong_scaling(all_series(table_of(*rates(), *shared)), 0.95)
    of_shared = [row for row in rows if row.lane == "mpich@tcp:local-shm"]
    assert [(row.nodes, row.ranks, row.base_nodes, row.base_ranks) for row in of_shared] == [
        (1, 2, 1, 1),
        (2, 4, 1, 1),
        (4, 8, 1, 1),
    ]
    assert [row.efficiency for row in of_shared] == pytest.approx([0.95, 0.75, 0.5])


def of_plogp(lane: str) -> list[Rows]:
    """P-LogP of a network with L = 10 us, o = 1 us and G = 1 ns per byte."""
    sizes = [2**power for power in range(0, 21, 2)]
    curves = {
        name: {size: (fixed + per_kilobyte * size / 1000) for size in sizes}
        for name, fixed, per_kilobyte in (
            ("round_trip", 24.0, 2.0), ("send_overhead", 1.0, 0.0), ("receive_overhead", 1.0, 1.0), ("gap", 1.0, 1.0),
        )
    }  # fmt: skip
    return [
        lane_rows(lane, [value] * 6, benchmark="plogp", metric=name, msg_size_bytes=size)
        for name, curve in curves.items()
        for size, value in curve.items()
    ]


def test_collectives_stand_beside_the_model_of_their_lane() -> None:
    collectives = [
        lane_rows("mpich@tcp", [60.0] * 6, benchmark="allreduce", metric="time", msg_size_bytes=8, ranks=8, nodes=4),
        lane_rows("mpich@tcp", [14e3] * 6, benchmark="alltoall", metric="time", msg_size_bytes=2**20, ranks=8, nodes=4),
        lane_rows("mpich@shm", [3.0] * 6, benchmark="barrier", metric="time", msg_size_bytes=None, ranks=2),
    ]
    rows = collective_times(all_series(table_of(*of_plogp("mpich@tcp"), *collectives)), 0.95)
    by_name = {row.benchmark: row for row in rows}
    assert by_name["allreduce"].model == pytest.approx(3 * 12.0, rel=0.01)
    assert by_name["allreduce"].over_model == pytest.approx(60 / 36, rel=0.01)
    assert by_name["alltoall"].model == pytest.approx(7 * 2**20 / 1000, rel=0.01)
    assert (by_name["barrier"].time, by_name["barrier"].model) == (3.0, None)


def test_rooted_collectives_have_the_time_of_the_slowest_rank() -> None:
    rows = [
        lane_rows("mpich@tcp", [value] * 6, benchmark="gather", metric=metric, msg_size_bytes=8, ranks=8)
        for metric, value in (("time", 10.0), ("time_max", 80.0))
    ]
    (row,) = collective_times(all_series(table_of(*rows)), 0.95)
    assert row.time == 80.0


def test_the_size_of_the_own_reduce_scatter_is_one_block() -> None:
    own = lane_rows("mpich@tcp", [1.0] * 6, benchmark="reduce_scatter", metric="time", msg_size_bytes=2**18, ranks=4)
    (row,) = collective_times(all_series(table_of(*of_plogp("mpich@tcp"), own)), 0.95)
    assert row.model == pytest.approx(3 * 2**18 / 1000, rel=0.01)


def test_the_network_of_the_most_nodes_is_the_model() -> None:
    inside = [[{**row, "nodes": 1, "value": row["value"] / 10} for row in part] for part in of_plogp("mpich@tcp")]
    between = [[{**row, "nodes": 2} for row in part] for part in of_plogp("mpich@tcp")]
    barrier = lane_rows("mpich@tcp", [30.0] * 6, benchmark="barrier", metric="time", msg_size_bytes=None)
    (row,) = collective_times(all_series(table_of(*inside, *between, barrier)), 0.95)
    assert row.model == pytest.approx(12.0, rel=0.01)


@pytest.mark.parametrize(("efficiency", "verdict"), [(0.7, "PASS"), (0.8, "FAIL")])
def test_an_efficiency_can_be_required(tmp_path: Path, efficiency: float, verdict: str) -> None:
    """FT on two full nodes has an efficiency of 0.79 against one; the ratio of the rates is twice that."""
    required = entry(
        "efficiency", f"at_least: {2 * efficiency:g}", "ranks: 2, nodes: 1",
        tool="npb", benchmark="ft.A", metric="mops", ranks=4, nodes=2,
    )  # fmt: skip
    (cell,) = judge(table_of(*rates()), requirements(tmp_path, required), facts(6)).cells
    assert (cell.verdict, cell.against) == (verdict, "mpich@tcp (ranks=2, nodes=1)")
    assert cell.estimate == pytest.approx(2 * 0.75 / 0.95)


@pytest.mark.parametrize(("bound", "verdict"), [(12, "PASS"), (9, "FAIL")])
def test_the_time_of_a_collective_on_one_scale_can_be_required(tmp_path: Path, bound: int, verdict: str) -> None:
    times = [
        lane_rows("mpich@tcp", [time] * 6, benchmark="allreduce", metric="time", ranks=ranks, nodes=4)
        for ranks, time in ((16, 1.0), (32, 10.0))
    ]
    required = entry("small", f"at_most: {bound} us", benchmark="allreduce", metric="time", ranks=32, msg_size_bytes=8)
    (cell,) = judge(table_of(*times), requirements(tmp_path, required), facts(6)).cells
    assert (cell.verdict, cell.name, cell.estimate) == (verdict, "small/mpich@tcp/8", 10.0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--below", "1.5"), "--below 1.5; expected a share above 0 and at most 1"),
        (("--below", "0.7", "--collectives"), "--below has text only, and no collectives"),
        (("--below", "0.7", "--weak"), "--below has text only, and no collectives and no weak scaling"),
        (("--collectives", "--weak"), "--collectives and --weak are two tables"),
        (("--weak",), "no kernel ran with equally many elements on each of several numbers of ranks"),
        (("--collectives",), "no collective was measured"),
        ((), "no application was measured on two scales"),
    ],
)
def test_bad_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    answer(monkeypatch, table_of(lane_rows("mpich@tcp", BLOCKS)))
    error = CliRunner().invoke(app, ["scaling", str(tmp_path), *words]).exception
    assert isinstance(error, BadInput)
    assert says in str(error)


def test_the_command_prints_a_table_and_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, table_of(*rates()))
    text = CliRunner().invoke(app, ["scaling", str(tmp_path), "--below", "0.7"]).stdout
    assert "speed_up" in text
    assert "npb ft.A on mpich@tcp: efficiency at least 70 % up to 2x2, first below 70 % on 4x2" in text
    assert "function, no timing (emulated nodes)" in text


def answer(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame) -> None:
    """Makes the command read this table in place of a campaign's."""
    measured = all_series(table), "function, no timing (emulated nodes)"
    monkeypatch.setattr(command, "measurements_of", lambda path, recompute: measured)
