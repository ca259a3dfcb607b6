# SPDX-License-Identifier: Apache-2.0
"""Summaries of profiles: known times, shares, dilation and agreement give the known state."""

import pytest

from fabricbench.launch.record import Agreement, State
from fabricbench.launch.table import table
from fabricbench.verdict.profile_tables import call_table, summary_table
from fabricbench.verdict.profiles import ProfileSummary, profiles
from verdict.synthetic_profiles import Profiled, sockets, timers

BLOCKS = (1.0, 1.3, 0.8, 1.1, 0.9, 2.0)
"""What a block does to all its launches: it cancels in the dilation."""


def summaries(*runs: Profiled) -> tuple[ProfileSummary, ...]:
    records = [record for run in runs for record in run.records]
    return profiles(table(records).sample(fraction=1.0, shuffle=True, seed=3), records)


def summary(run: Profiled) -> ProfileSummary:
    (one,) = summaries(run)
    return one


def test_known_shares_times_and_sizes() -> None:
    one = summary(Profiled(profiled=(2.0,) * 6))
    assert one.mpi_share.estimate == pytest.approx(0.75)
    assert [one.share_min, one.share_max] == pytest.approx([0.65, 0.85])
    assert one.profiled_time == 2.0
    assert len(one.launches) == 6
    send, reduce = one.calls
    assert (send.call, send.calls, send.bytes, send.by_size) == ("MPI_Sendrecv", 3000, 96000, ((32, 3000),))
    assert (send.seconds, send.seconds_max, send.share) == pytest.approx((1.0, 1.2, 0.5))
    assert (reduce.call, reduce.by_size) == ("MPI_Allreduce", ((8, 500),))
    assert reduce.share == pytest.approx(0.25)


def test_times_are_medians_over_blocks() -> None:
    one = summary(Profiled(timed=(1.0,) * 3, profiled=(1.0, 4.0, 2.0)))
    assert one.calls[0].seconds == pytest.approx(1.0)
    assert one.profiled_time == 2.0


def test_a_usable_profile_has_the_known_dilation_and_interval() -> None:
    ratios = (1.01, 1.02, 1.03, 1.04, 1.05, 1.06)
    one = summary(Profiled(timed=BLOCKS, profiled=[a * b for a, b in zip(BLOCKS, ratios, strict=True)]))
    assert one.dilation.estimate == pytest.approx(1.035)
    assert [one.dilation.low, one.dilation.high] == pytest.approx([1.01, 1.06])
    assert one.dilation.n == 6
    assert (one.state, one.reasons, one.note) == ("usable", (), "")


@pytest.mark.parametrize(("ratio", "state"), [(1.09, "usable"), (1.10, "usable"), (1.11, "not used")])
def test_a_dilated_profile_is_not_used(ratio: float, state: str) -> None:
    one = summary(Profiled(timed=(1.0,) * 6, profiled=(ratio,) * 6))
    assert one.state == state
    reasons = () if state == "usable" else ("dilation above 10 %: the run time is 1.11 times as long",)
    assert one.reasons == reasons


def test_a_dilation_whose_interval_includes_one_is_scatter() -> None:
    one = summary(Profiled(timed=(1.0,) * 6, profiled=(0.9, 1.1, 1.15, 1.2, 1.25, 1.3)))
    assert one.dilation.estimate == pytest.approx(1.175)
    assert (one.state, one.reasons) == ("usable", ())
    assert one.note == "the dilation is above the limit, but its interval includes 1: launches scatter"


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_too_few_blocks_for_an_interval_are_named(blocks: int) -> None:
    one = summary(Profiled(timed=(1.0,) * blocks, profiled=(1.0,) * blocks))
    assert one.state == "usable"
    assert one.note.startswith(f"{blocks} block")
    assert one.note.endswith("too few for a 95 % interval of the dilation")


@pytest.mark.parametrize(
    "timed", [(), (None, None, 1.0)], ids=["no timed launch", "timed launches of other blocks only"]
)
def test_a_profile_without_timed_launches_of_its_blocks(timed: tuple[float | None, ...]) -> None:
    one = summary(Profiled(timed=timed, profiled=(1.0, 1.0)))
    assert (one.state, one.reasons, one.note) == ("unpaired", ("no timed launch of the same blocks",), "")
    assert one.dilation.estimate is None


@pytest.mark.parametrize("other", [{"benchmark": "ft.A"}, {"lane": "mpich@shm"}, {"ranks": 4}])
def test_timed_launches_of_other_runs_are_not_compared(other: dict[str, object]) -> None:
    run = Profiled(timed=(), profiled=(1.0,) * 6)
    strangers = Profiled(profiled=(), **other)  # type: ignore[arg-type]
    (one,) = summaries(run, strangers)
    assert one.state == "unpaired"


def test_one_disagreement_disputes_the_profile_with_its_numbers() -> None:
    fine, wrong, worse = timers(0.76), timers(0.80), timers(0.61)
    run = Profiled(agreements={0: (fine, sockets(1e5)), 1: (wrong, sockets(1e5)), 2: (worse, sockets(1e5))})
    one = summary(run)
    assert one.state == "disputed"
    assert one.reasons == (
        "timers disagree in 2 of 3 launches: communication_time: all calls of MPI: 0.61 s, expected 0.73 to 0.77 s",
    )
    timer, socket = one.witnesses
    assert (timer.launches, timer.agreeing, timer.worst, timer.worst_launch) == (3, 1, worse, run.directory(2))
    assert (socket.launches, socket.agreeing, socket.agrees) == (3, 3, True)


def test_a_disputed_and_dilated_profile_has_both_reasons() -> None:
    one = summary(Profiled(profiled=(1.5,) * 6, agreements={0: (sockets(2e5),)}))
    assert one.state == "disputed"
    assert [reason.split(" ")[0] for reason in one.reasons] == ["sockets", "dilation"]


def test_unknown_functions_are_named() -> None:
    missing = Agreement(
        witness="imports", what="MPI functions", profile=0, other=1, least=0, most=0, unit="functions",
        reason="MPI_Psend_init",
    )  # fmt: skip
    one = summary(Profiled(agreements={0: (missing,)}))
    assert one.reasons == ("1 of 1 launches use functions that the profiler does not know: MPI_Psend_init",)


def test_launches_that_are_not_attested_do_not_count() -> None:
    run = Profiled(profiled=(1.0, 9.0, 1.0), timed=(1.0,) * 3, states={1: "refuted"})
    one = summary(run)
    assert one.dilation.n == 2
    assert one.profiled_time == 1.0
    assert one.launches == (run.directory(0), run.directory(2))
    assert one.others == ((run.directory(1), "refuted; only 3 % on TCP"),)


@pytest.mark.parametrize("state", ["refuted", "unreadable"])
def test_a_profile_without_a_launch_that_counts(state: State) -> None:
    one = summary(Profiled(timed=(1.0,) * 2, profiled=(1.0,) * 2, states={0: state, 1: state}))
    assert (one.state, one.reasons, one.note) == ("no launch", (f"{state}; only 3 % on TCP",), "")
    assert (one.launches, len(one.others), one.median_launch) == ((), 2, "")
    assert summary_table([one])["state"].to_list() == ["no launch"]


def test_profiles_of_two_profilers_are_separate() -> None:
    tau, own = summaries(Profiled(), Profiled(timed=(), profiled=(1.3,) * 6, versions={"tau": "2.34"}))
    assert (own.key.profiler, own.state) == ("own", "usable")
    assert (tau.key.profiler, tau.state) == ("TAU 2.34", "not used")


def test_the_barrier_in_front_of_collectives_is_noticed() -> None:
    calls = {"MPI_Allreduce": (0.2, 10, 80), "collective_sync": (0.1, 10, 0)}
    assert summary(Profiled(calls=calls)).separates_waiting
    assert not summary(Profiled()).separates_waiting


def test_the_median_launch_has_the_median_share() -> None:
    one = summary(Profiled())
    assert one.median_launch in one.launches


def test_a_campaign_without_profiles_has_no_summary() -> None:
    assert summaries(Profiled(profiled=())) == ()


def test_tables_have_a_row_per_profile_and_per_function() -> None:
    ordered = summaries(Profiled(lane="openmpi@tcp"), Profiled(lane="mpich@tcp", agreements={0: (timers(2.0),)}))
    rows = summary_table(ordered)
    assert rows["lane"].to_list() == ["mpich@tcp", "openmpi@tcp"]
    assert rows["state"].to_list() == ["disputed", "usable"]
    assert rows["dilation"].to_list() == pytest.approx([1.02, 1.02])
    calls = call_table(ordered)
    assert calls["call"].to_list() == ["MPI_Sendrecv", "MPI_Allreduce"] * 2
    assert calls["share"].to_list() == pytest.approx([0.5, 0.25] * 2)
