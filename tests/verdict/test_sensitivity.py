# SPDX-License-Identifier: Apache-2.0
"""Tests the sensitivity of run times to injected delays on synthetic launches with known slopes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from fabricbench.models.sensitivity import halves, slope
from fabricbench.stats.interval import Interval
from fabricbench.verdict.alike import mpi_mean
from fabricbench.verdict.profiles import CallTotals, ProfileKey, ProfileSummary
from fabricbench.verdict.sensitivity import Sensitivity, sensitivities
from fabricbench.verdict.sensitivity_table import SensitivityRow, sensitivity_table
from verdict.synthetic_table import Rows, lane_rows, table_of

APPLICATION = {"tool": "npb", "benchmark": "cg.A", "metric": "run_time", "msg_size_bytes": None}
BLOCKS = range(6)


def run_times(level: str, values: Mapping[int, float] | Sequence[float], **columns: object) -> Rows:
    """Rows of one level, ``latency=5us``; of the timed launches if it is empty."""
    more = {"mode": "injected", "case": level} if level else {}
    return lane_rows("mpich@tcp", values, **APPLICATION | more | columns)


def launches(kind: str, unit: str, levels: Sequence[float], time: Callable[[int, float], float]) -> Rows:
    """Rows of all blocks and levels; level 0 is timed. ``time``: seconds by block and delay."""
    names = {level: f"{kind}={level:g}{unit}" if level else "" for level in levels}
    return [row for level in levels for row in run_times(names[level], [time(block, level) for block in BLOCKS])]


def one(*rows: Rows, profiles: Sequence[ProfileSummary] = ()) -> Sensitivity:
    (result,) = sensitivities(table_of(*rows), profiles)
    return result


def test_slope_of_points_on_a_line() -> None:
    assert slope({0.0: 3.0, 1.0: 5.0, 4.0: 11.0}) == pytest.approx(2.0)
    assert slope({0.0: 1.0, 1.0: 1.0, 2.0: 4.0}) == pytest.approx(1.5)  # by hand: (-1 * -1 + 1 * 2) / 2
    assert slope({3.0: 1.0}) is None


def test_lower_and_upper_levels_share_the_middle_one() -> None:
    assert halves([20, 0, 5, 10]) == ((0, 5, 10), (10, 20))
    assert halves([0, 1, 2]) == ((0, 1), (1, 2))
    assert halves([0, 1]) is None


def test_messages_on_the_critical_path() -> None:
    """Block b takes 1 s and 1000 + b messages: the median over blocks is 1002.5, its interval all six blocks."""
    result = one(launches("latency", "us", [0, 5, 10, 20], lambda b, us: 1.0 + 1e-6 * us * (1000 + b)))
    assert result.reason == ""
    assert result.levels == (0, 5, 10, 20)
    assert result.slope.estimate == pytest.approx(1002.5)
    assert [result.slope.low, result.slope.high] == pytest.approx([1000, 1005])
    assert result.slope.confidence == pytest.approx(1 - 2 / 2**6)
    assert result.relative.estimate == pytest.approx(0.10025)  # percent of 1 s per microsecond
    assert result.run_time == Interval(1.0, 1.0, 1.0, 0.96875, 6, 1)


@pytest.mark.parametrize(("kind", "unit", "per_unit"), [("per_byte", "ns", 1e-9), ("overhead", "us", 1e-6)])
def test_other_delays_have_their_own_unit(kind: str, unit: str, per_unit: float) -> None:
    result = one(launches(kind, unit, [0, 0.5, 1], lambda b, x: 2.0 + per_unit * x * 5000))
    assert result.kind == kind
    assert result.slope.estimate == pytest.approx(5000)
    assert result.relative.estimate == pytest.approx(100 * per_unit * 5000 / 2)
    assert result.time_without.estimate is None


def test_run_time_without_the_latency_of_the_lane() -> None:
    mean = mpi_mean()
    pings = lane_rows("mpich@tcp", [30.0, 40.0, 50.0, 30.0, 40.0], **mean._asdict())
    result = one(launches("latency", "us", [0, 10, 20], lambda b, us: 1.0 + 1e-6 * us * 1000), pings)
    assert result.lane_latency_us == 40.0
    assert result.time_without.estimate == pytest.approx(0.96)  # the sixth block has the median of the others
    assert [result.time_without.low, result.time_without.high] == pytest.approx([0.95, 0.97])
    assert result.transfer_efficiency.estimate == pytest.approx(0.96)


def test_without_a_latency_of_the_lane_nothing_is_extrapolated() -> None:
    result = one(launches("latency", "us", [0, 10], lambda b, us: 1.0 + 1e-6 * us))
    assert result.time_without.estimate is None
    assert any("fabricbench run --check MicroPingpong" in note for note in result.notes)


def test_a_latency_that_exceeds_the_run_time_is_not_extrapolated() -> None:
    pings = lane_rows("mpich@tcp", [900.0] * 6, **mpi_mean()._asdict())
    result = one(launches("latency", "us", [0, 10], lambda b, us: 1.0 + 1e-6 * us * 2000), pings)
    assert result.slope.estimate == pytest.approx(2000)
    assert result.time_without.estimate is None
    assert "slope times latency exceeds the run time, so no run time without latency" in result.notes


def test_a_slope_that_is_not_constant_is_given_below_only() -> None:
    """Overlap hides the delay up to 10 us; above each message costs it."""
    hidden = one(launches("latency", "us", [0, 5, 10, 20, 40], lambda b, us: 1.0 + 1e-6 * (us + 999 * max(0, us - 10))))
    assert hidden.levels == (0, 5, 10)
    assert hidden.slope.estimate == pytest.approx(1)
    assert hidden.time_without.estimate is None
    assert "the slope is not constant: above 10 us it is 1e+03 times as large" in hidden.notes


def test_a_small_change_of_the_slope_is_constant() -> None:
    result = one(launches("latency", "us", [0, 10, 20], lambda b, us: 1.0 + 1e-6 * (1000 * us + 2.5 * us * us)))
    assert result.levels == (0, 10, 20)


def test_injected_launches_without_delay_replace_the_timed_ones() -> None:
    """They contain the cost of the library."""
    rows = launches("latency", "us", [0, 10], lambda b, us: 1.0 + 1e-6 * us * 1000 + (0.5 if us else 0.0))
    result = one(rows, run_times("latency=0us", [1.5] * 6))
    assert result.slope.estimate == pytest.approx(1000)


def test_blocks_without_a_timed_launch_do_not_count() -> None:
    rows = run_times("", {0: 1.0, 1: 1.0}) + run_times("latency=10us", {1: 1.01, 2: 9.0})
    result = one(rows)
    assert result.slope.n == 1
    assert result.slope.estimate == pytest.approx(1000)
    (result,) = sensitivities(table_of(run_times("latency=10us", [1.0])))
    assert result.reason == "no block has both a timed launch and one with a delay"
    assert result.slope.estimate is None


def test_refuted_launches_do_not_count() -> None:
    rows = run_times("", [1.0] * 6) + run_times("latency=10us", [1.01] * 6)
    refuted = run_times("latency=20us", [9.0] * 6, state="refuted")
    result = one(rows, refuted)
    assert result.slope.estimate == pytest.approx(1000)
    assert "6 launches do not count" in result.notes


def test_injected_launches_are_no_timed_ones() -> None:
    """Levels, and kinds of delay, are cells of their own."""
    rows = launches("latency", "us", [0, 10], lambda b, us: 1.0 + 1e-6 * us * 1000)
    both = sensitivities(table_of(rows, run_times("overhead=10us", [1.05] * 6)))
    assert [item.kind for item in both] == ["latency", "overhead"]
    assert [item.slope.estimate for item in both] == pytest.approx([1000, 5000])


def profile(**seconds: float) -> ProfileSummary:
    key = ProfileKey("local", "mpich", "tcp", "", "npb", "cg.A", "", 2, 1, "own")
    calls = tuple(CallTotals(f"MPI_{name}", 1, time, time, None, None) for name, time in seconds.items())
    none = Interval(None, None, None, None, 0)
    return ProfileSummary(key, ("launch",), "launch", none, None, None, None, none, 0.95, calls, ())


def test_no_slope_where_collectives_dominate() -> None:
    rows = launches("latency", "us", [0, 10], lambda b, us: 1.0 + 1e-6 * us * 1000)
    result = one(rows, profiles=[profile(Alltoall=0.8, Barrier=0.1, Send=0.1)])
    assert result.reason == "90 % of the time in MPI is in collectives, in which nothing is injected: delay the link"
    assert (result.slope.estimate, result.relative.estimate) == (None, None)
    minority = one(rows, profiles=[profile(Allreduce=0.2, Sendrecv=0.8)])
    assert minority.slope.estimate == pytest.approx(1000)
    assert "20 % of the time in MPI is in collectives, in which nothing is injected" in minority.notes


def test_profile_of_all_steps_belongs_to_the_same_input() -> None:
    whole = profile(Allreduce=0.9, Sendrecv=0.1)
    whole = replace(whole, key=whole.key._replace(case="counted=all"))
    assert one(launches("latency", "us", [0, 10], lambda b, us: 1.0), profiles=[whole]).reason.startswith("90 %")


def test_table() -> None:
    rows = launches("latency", "us", [0, 5, 10], lambda b, us: 1.0 + 1e-6 * us * 1000)
    (row,) = sensitivity_table(sensitivities(table_of(rows))).to_dicts()
    assert set(row) == set(SensitivityRow.__slots__)
    assert (row["lane"], row["delay"], row["levels"], row["n"]) == ("mpich@tcp", "latency", "0 5 10 us", 6)
    assert row["slope"] == pytest.approx(1000)
    assert sensitivity_table([]).is_empty()
