# SPDX-License-Identifier: Apache-2.0
"""Attributions of synthetic campaigns: known shares, intervals, labels, refusals, differences and predictions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.launch.record import Campaign, Record
from fabricbench.launch.table import table
from fabricbench.models.parts import PARTS
from fabricbench.parsers.tau.operations import RankOperations
from fabricbench.verdict.attribution import Attribution, Attributions, attributions
from fabricbench.verdict.attribution_tables import attribution_table, parts_by_call, parts_by_rank, short_table
from fabricbench.verdict.difference import lane_difference, on_both_lanes
from fabricbench.verdict.explain import explain
from fabricbench.verdict.explain_attribution import explain_attribution
from fabricbench.verdict.judge import judge
from fabricbench.verdict.prediction import predictions
from fabricbench.verdict.result import campaign_context
from fabricbench.verdict.sentences import difference_lines, refusal, sentence
from models.known import rank, some
from verdict.synthetic_profiles import Profiled, timers
from verdict.synthetic_table import Rows, entry, facts, lane_rows, requirements, table_of

BLOCKS = 6
SECONDS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
"""Run times by block."""


def operations(record: Record) -> tuple[RankOperations, ...]:
    """Two ranks: 20 % of the time in receives of 1000 bytes, half of it waiting, and 10 % in an all-reduce."""
    seconds = next(row.value for row in record.rows if row.metric == "run_time")
    receive = some("MPI_Recv", 0.2 * seconds, count=1000, late=0.1 * seconds)
    reduce = some("MPI_Allreduce", 0.1 * seconds, size=8.0, count=100, late=0.1 * seconds)
    return tuple(rank(number, seconds, receive, reduce) for number in range(2))


def curves(lane: str, latency_us: float, ns_per_byte: float, sizes: Sequence[int] = (0, 1000)) -> Rows:
    """The measured curves of a lane: half a round trip of an empty message, and nanoseconds per byte."""
    rows: Rows = []
    for size in sizes:
        whole = latency_us + ns_per_byte * size / 1000
        values = [whole] * BLOCKS
        rows += lane_rows(lane, values, benchmark="pingpong", metric="latency", msg_size_bytes=size)
        for metric, benchmark in (("send_overhead", "plogp"), ("receive_overhead", "plogp"), ("gap", "plogp")):
            rows += lane_rows(lane, [0.1] * BLOCKS, benchmark=benchmark, metric=metric, msg_size_bytes=size)
        for metric in ("time", "time_min", "time_max"):
            rows += lane_rows(lane, [1.0] * BLOCKS, benchmark="allreduce", metric=metric, msg_size_bytes=size)
    return rows


def run(lane: str = "mpich@tcp", **fields: object) -> Profiled:
    return replace(Profiled(lane=lane, timed=SECONDS, profiled=SECONDS), **fields)  # type: ignore[arg-type]


def found(runs: Sequence[Profiled], *rows: Rows, read: object = operations) -> Attributions:
    records = [record for one in runs for record in one.records]
    return attributions(table(records).vstack(table_of(*rows)), records, read)  # type: ignore[arg-type]


def attribution(*rows: Rows, one: Profiled | None = None) -> Attribution:
    (item,) = found([one or run()], *rows).items
    return item


def test_known_shares_of_the_profiled_time() -> None:
    one = attribution(curves("mpich@tcp", 20.0, 10.0))
    assert one.seconds.estimate == pytest.approx(1.25)
    assert one.shares["computation"].estimate == pytest.approx(0.7)
    assert one.shares["waiting"].estimate == pytest.approx(0.2)
    latencies = [1000 * 20e-6 / time + 100 * 1e-6 / time for time in SECONDS]
    assert one.shares["latency"].estimate == pytest.approx(sum(sorted(latencies)[2:4]) / 2)
    assert [one.shares["latency"].low, one.shares["latency"].high] == pytest.approx([min(latencies), max(latencies)])
    assert sum(getattr(one.blocks[0].run.mean, name) for name in PARTS) == pytest.approx(1.0)
    assert (one.label, one.seconds.n, one.missing) == ("compute", BLOCKS, ())
    assert set(one.calls) == {"MPI_Recv", "MPI_Allreduce"}
    assert len(one.ranks) == 2
    assert one.efficiencies["parallel_efficiency"].estimate == pytest.approx(0.7)
    assert one.efficiencies["transfer_efficiency"].estimate == pytest.approx(0.9)


def test_the_closing_error_is_relative_to_the_timed_launches_of_the_same_blocks() -> None:
    one = attribution(curves("mpich@tcp", 20.0, 10.0), one=run(profiled=[1.05 * seconds for seconds in SECONDS]))
    assert one.closing_error.estimate == pytest.approx(0.05)
    assert one.dilation.estimate == pytest.approx(1.05)


def test_a_missing_curve_is_named_and_nothing_is_attributed() -> None:
    rows = [row for row in curves("mpich@tcp", 20.0, 10.0) if row["benchmark"] == "allreduce"]
    one = attribution(rows)
    assert "half round trip" in [curve for curve, _ in one.missing]
    assert one.missing[0][1] == "fabricbench run --tier standard --check CurveMessages"
    assert (one.blocks, one.label) == ((), "")
    assert "lacks curves: half round trip" in sentence(one)


def test_operations_that_only_wait_need_no_curve() -> None:
    rows = [row for row in curves("mpich@tcp", 20.0, 10.0) if row["benchmark"] != "allreduce"]
    one = attribution(rows)
    assert one.missing == ()
    assert one.shares["waiting"].estimate == pytest.approx(0.2)
    assert any("allreduce" in note for note in one.notes)


def test_a_block_without_the_curve_takes_the_campaigns_median_and_says_so() -> None:
    rows = [row for row in curves("mpich@tcp", 20.0, 10.0) if row["block"] != 3]
    one = attribution(rows)
    assert len(one.blocks) == BLOCKS
    assert "curves of other blocks: pingpong" in one.notes


def test_curves_of_other_ranks_are_contention_and_curves_of_other_lanes_are_not_used() -> None:
    four = run(ranks=4)
    assert any(note.startswith("contention") for note in attribution(curves("mpich@tcp", 2.0, 1.0), one=four).notes)
    assert attribution(curves("mpich@shm", 20.0, 10.0)).missing


def test_a_collective_of_no_bytes_sends_nothing_so_it_is_not_the_latency() -> None:
    rows = curves("mpich@tcp", 20.0, 10.0)
    for row in rows:
        if row["benchmark"] == "allreduce" and row["msg_size_bytes"] == 0:
            row["value"] = 0.01
    calls = attribution(rows).calls["MPI_Allreduce"]
    assert calls.latency == pytest.approx(100 * 1e-6)
    assert calls.bandwidth == 0


def test_extrapolation_is_named_with_its_share() -> None:
    one = attribution(curves("mpich@tcp", 20.0, 10.0, sizes=(0, 500)))
    assert any(note.startswith("extrapolated beyond the largest measured size") for note in one.notes)


def test_the_preferred_curves_are_those_of_the_checks_for_attributions() -> None:
    few = [
        row | {"case": "use=attribution"} for row in curves("mpich@tcp", 20.0, 10.0) if row["benchmark"] == "allreduce"
    ]
    for row in few:
        row["value"] = 2.0
    one = attribution(curves("mpich@tcp", 20.0, 10.0), few)
    assert one.calls["MPI_Allreduce"].latency == pytest.approx(100 * 2e-6)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (run(timed=()), "unpaired: no timed launch of the same blocks"),
        (run(profiled=[1.5 * seconds for seconds in SECONDS]), "not used: dilation above 10 %"),
        (run(agreements={0: (timers(0.3),)}), "disputed: timers disagree in 1 of 1 launches"),
    ],
)
def test_profiles_that_may_not_be_used_are_refused_by_name(one: Profiled, reason: str) -> None:
    result = found([one], curves("mpich@tcp", 20.0, 10.0))
    assert result.items == ()
    (refused,) = result.refused
    assert refused.reason.startswith(reason)
    assert "cg.A on mpich@tcp, 2 ranks: not attributed" in refusal(refused)


@pytest.mark.parametrize("other", [{"benchmark": "ft.A"}, {"ranks": 4}])
def test_timed_launches_of_another_input_or_rank_count_are_no_pair(other: dict[str, object]) -> None:
    strangers = replace(run(profiled=()), **other)  # type: ignore[arg-type]
    result = found([run(timed=()), strangers], curves("mpich@tcp", 20.0, 10.0))
    assert [one.reason for one in result.refused] == ["unpaired: no timed launch of the same blocks"]


def test_an_unreadable_profile_is_refused_with_its_reason() -> None:
    result = found([run()], curves("mpich@tcp", 20.0, 10.0), read=lambda record: "profile.*: no such file")
    assert [one.reason for one in result.refused] == ["profile.*: no such file"]


def test_there_is_no_label_where_intervals_overlap() -> None:
    def half(record: Record) -> tuple[RankOperations, ...]:
        block = record.launch.block if record.launch else 0
        share = 0.4 + 0.04 * block
        return tuple(rank(n, 1.0, some("MPI_Recv", share, size=0.0, late=share - 20e-6)) for n in range(2))

    (one,) = found([run()], curves("mpich@tcp", 20.0, 10.0), read=half).items
    assert one.label == ""


def test_two_lanes_differ_by_the_known_parts() -> None:
    lanes = ("mpich@tcp", "mpich@shm")
    result = found(
        [run(lanes[0]), run(lanes[1], timed=[s / 2 for s in SECONDS], profiled=[s / 2 for s in SECONDS])],
        curves(lanes[0], 20.0, 10.0),
        curves(lanes[1], 10.0, 10.0),
    )
    ((first, second),) = on_both_lanes(result, *lanes, "cg.A")
    one = lane_difference(first, second)
    assert one.total.estimate == pytest.approx(0.625)
    assert one.parts["computation"].estimate == pytest.approx(0.7 * 0.625)
    assert one.parts["waiting"].estimate == pytest.approx(0.2 * 0.625)
    assert one.parts["latency"].estimate == pytest.approx(10e-3)
    assert len(one.blocks) == BLOCKS
    assert one.explained.estimate == pytest.approx(1 - (0.1 * 0.625 - 10e-3) / 0.625, abs=2e-3)
    text = "\n".join(difference_lines(one))
    assert "dLat" in text
    assert "explained" in text
    assert "takes longer on mpich@tcp" in text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("mpich@tcp", "mpich@shm", "cg.B"), r"no profile of 'cg.B'.*cg.A"),
        (("mpich@tcp", "mpich@tpc", "cg.A"), r"no profile of cg.A on 'mpich@tpc'.*mpich@tcp"),
        (("mpich@tcp", "mpich@tcp", "cg.A"), "both lanes are 'mpich@tcp'"),
    ],
)
def test_unknown_names_of_a_difference(names: tuple[str, str, str], message: str) -> None:
    result = found([run(), run("mpich@shm")], curves("mpich@tcp", 20.0, 10.0), curves("mpich@shm", 1.0, 1.0))
    with pytest.raises(BadInput, match=message):
        on_both_lanes(result, *names)


def test_a_prediction_stands_beside_its_back_test() -> None:
    rows = [curves(f"mpich@{fabric}", latency, 10.0) for fabric, latency in (("a", 20.0), ("b", 10.0), ("c", 5.0))]
    result = found([run("mpich@a"), run("mpich@b")], *rows)
    (row, other) = predictions("mpich@c", result.items, result.launches, result.curves)
    assert row.predicted_s == pytest.approx(1.25 - 15e-3)
    assert (row.profiled_on, row.measured_s, row.backtests) == ("mpich@a", None, 2)
    assert row.backtest_error == pytest.approx(0.01 / 1.25)
    assert other.predicted_s == pytest.approx(1.25 - 5e-3)
    (measured,) = predictions("mpich@b", result.items, result.launches, result.curves)
    assert measured.measured_s == pytest.approx(1.25)
    assert measured.backtests == 1


def test_a_prediction_without_a_back_test_is_not_printed() -> None:
    result = found([run("mpich@a")], curves("mpich@a", 20.0, 10.0), curves("mpich@c", 5.0, 10.0))
    (row,) = predictions("mpich@c", result.items, result.launches, result.curves)
    assert row.predicted_s is None
    assert row.reason.startswith("no back-test")
    with pytest.raises(BadInput, match=r"no curves of 'mpich@d'"):
        predictions("mpich@d", result.items, result.launches, result.curves)


def test_tables_sentences_and_explanations() -> None:
    result = found([run(), run("mpich@shm", timed=())], curves("mpich@tcp", 20.0, 10.0))
    frame = attribution_table(result)
    assert frame["lane"].to_list() == ["mpich@tcp", "mpich@shm"]
    assert frame["computation"].to_list() == [pytest.approx(0.7), None]
    assert {"closing_error", "dilation", "unexplained", "agreement", "label"} < set(frame.columns)
    assert short_table(result.items).height == 1
    assert parts_by_call(result.items)["call"].to_list() == ["MPI_Recv", "MPI_Allreduce"]
    assert parts_by_rank(result.items)["rank"].to_list() == [0, 1]
    assert sentence(result.items[0]).startswith("cg.A on mpich@tcp, 2 ranks: 30 % of the run is MPI: waiting 20, ")
    text = "\n".join(explain_attribution("cg.A/mpich@tcp", result))
    for part in (
        "block 0: launches/b000",
        "1000 x MPI_Recv",
        "curve: 30 us each",
        "time stamps of 1000",
        "medians over 6",
    ):
        assert part in text
    assert "not attributed: unpaired" in explain_attribution("cg.A/mpich@shm", result)[0]
    with pytest.raises(BadInput, match="unknown cell"):
        explain_attribution("cg.A/mpich@ib", result)


def test_requirements_on_profiles_that_may_not_be_used_are_invalid(tmp_path: Path) -> None:
    slowed = run("mpich@shm", profiled=tuple(1.3 * time for time in SECONDS))
    records = tuple(record for one in (run(), slowed) for record in one.records)
    context = campaign_context(Campaign(name="campaign", facts=facts(BLOCKS), records=records, skips=()))
    requirement = entry("share", "at_most: 0.9 share", tool="npb", benchmark="cg.A", metric="mpi_share")
    judgement = judge(table(records), requirements(tmp_path, requirement), facts(BLOCKS), context)
    verdicts = {cell.lane: (cell.verdict, cell.reason) for cell in judgement.cells}
    assert verdicts["mpich@tcp"][0] != "INVALID"
    assert verdicts["mpich@shm"][0] == "INVALID"
    assert "the profile may not be used: not used: dilation above 10 %" in verdicts["mpich@shm"][1]


@pytest.mark.parametrize(
    ("metric", "values", "bound", "verdict"),
    [
        ("mpi_share", (0.2,) * 8, "at_most: 0.3 share", "PASS"),
        ("mpi_share", (0.4,) * 8, "at_most: 0.3 share", "FAIL"),
        ("parallel_efficiency", (0.85,) * 8, "at_least: 0.8 share", "PASS"),
        ("parallel_efficiency", (0.7, 0.9) * 4, "at_least: 0.8 share", "INCONCLUSIVE"),
    ],
)
def test_requirements_on_profiles_are_judged_by_profiled_launches(
    tmp_path: Path, metric: str, values: tuple[float, ...], bound: str, verdict: str
) -> None:
    place = {"tool": "npb", "benchmark": "ft.B", "msg_size_bytes": None}
    frame = table_of(
        lane_rows("mpich@tcp", values, metric=metric, mode="profiled", **place),
        lane_rows("mpich@tcp", [9.0] * 8, metric="run_time", mode="profiled", **place),
        lane_rows("mpich@tcp", [1.0] * 8, metric="run_time", **place),
    )
    on_profile = entry("profile", bound, tool="npb", benchmark="ft.B", metric=metric)
    on_time = entry("time", "at_most: 2 s", tool="npb", benchmark="ft.B", metric="run_time")
    judgement = judge(frame, requirements(tmp_path, on_profile, on_time), facts(8))
    profile, time = judgement.cells
    assert profile.verdict == verdict
    assert profile.n == 8
    assert (time.estimate, time.verdict) == (1.0, "PASS")
    assert any("npb ft.B" in line for line in explain(profile.name, judgement, frame))


def test_curves_of_another_number_of_ranks_are_named() -> None:
    def wide(size: int) -> Callable[[Record], tuple[RankOperations, ...]]:
        def read(record: Record) -> tuple[RankOperations, ...]:
            ranks = operations(record)
            reduce = replace(ranks[0].operations[1], comm_size=size)
            return tuple(replace(one, operations=(one.operations[0], reduce)) for one in ranks)

        return read

    note = "collectives on 4 ranks have the curves of 2 ranks: allreduce"
    rows = curves("mpich@tcp", 20.0, 10.0)
    assert note in found([run()], rows, read=wide(4)).items[0].notes
    assert found([run()], rows, read=wide(2)).items[0].notes == ()


def test_few_blocks_dominate_nothing_and_explain_nothing() -> None:
    few = [run(lane, timed=SECONDS[:3], profiled=SECONDS[:3]) for lane in ("mpich@tcp", "mpich@shm")]
    result = found(few, curves("mpich@tcp", 20.0, 10.0), curves("mpich@shm", 1.0, 1.0))
    for one in result.items:
        assert (one.label, one.seconds.n) == ("", 3)
        assert "3 blocks give intervals of 75 %, not of 95 %" in one.notes
    first, second = result.items
    text = "\n".join(difference_lines(lane_difference(first, second)))
    assert "3 blocks are too few for intervals of 95 %" in text
    assert "of dT" not in text


def test_prediction_in_a_campaign_without_curves() -> None:
    with pytest.raises(BadInput, match="the campaign has no curves"):
        predictions("mpich@shm", (), {}, {})
