# SPDX-License-Identifier: Apache-2.0
"""Predicts applications on another lane, beside the error of such predictions on the campaign's own lanes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.errors import BadInput, nearest
from fabricbench.models.attribution import CurveUse, curve_use
from fabricbench.models.prediction import predicted_seconds, prediction_error
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median
from fabricbench.verdict.attribution import ABSENT_AT_MOST, Attribution, ProfiledLaunch
from fabricbench.verdict.curve_notes import curve_notes
from fabricbench.verdict.curves import LaneCurves, Place
from fabricbench.verdict.profiles import ProfileKey


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """The predicted time of one application on ``lane``, from its profile on ``profiled_on``; columns of the table.

    ``predicted_s`` with its interval over blocks, and ``measured_s``, if the lane was profiled too: profiled times, the
    mean over ranks. ``backtest_error``: the median over all other pairs of profiled lanes of the absolute error
    of the same prediction, relative; ``backtest_worst``: the largest; ``backtests``: the number of pairs. ``reason``:
    why there is no prediction, else what limits the curves of ``lane``.
    """

    lane: str
    profiled_on: str
    tool: str
    benchmark: str
    case: str
    ranks: int
    nodes: int
    profiler: str
    predicted_s: float | None
    predicted_low_s: float | None
    predicted_high_s: float | None
    measured_s: float | None
    backtest_error: float | None
    backtest_worst: float | None
    backtests: int
    n: int
    reason: str


def predictions(
    lane: str,
    items: Sequence[Attribution],
    launches: Mapping[ProfileKey, Sequence[ProfiledLaunch]],
    curves: Mapping[Place, LaneCurves],
    confidence: float = 0.95,
) -> list[PredictionRow]:
    """Returns a row for each application and each profiled lane other than ``lane``.

    A prediction has values only if there is a back-test: the application was profiled on one more pair of lanes.
    Raises BadInput with the nearest names if ``lane`` has no curves.
    """
    lanes = {place[1].name for place in curves}
    if not lanes:
        raise BadInput(
            f"no curves of '{lane}': the campaign has no curves",
            expected="launches that measure them",
            hint="fabricbench run --tier standard --check Curve",
        )
    if lane not in lanes:
        raise BadInput(f"no curves of '{lane}'", expected=nearest(lane, lanes))
    applications: dict[tuple[object, ...], list[Attribution]] = defaultdict(list)
    for one in items:
        if one.blocks:
            applications[(one.key.system, *one.key[4:])].append(one)
    rows = []
    for group in applications.values():
        tests = _backtests(group, launches, curves)
        measured = {one.key.lane.name: _mean_time(one) for one in group}
        for one in group:
            if one.key.lane.name != lane:
                others = [error for pair, error in tests.items() if pair != (one.key.lane.name, lane)]
                values, problem, notes = _predicted(one, lane, launches, curves)
                rows.append(_row(one, lane, values, problem, notes, others, measured.get(lane), confidence))
    return rows


def _backtests(
    group: Sequence[Attribution],
    launches: Mapping[ProfileKey, Sequence[ProfiledLaunch]],
    curves: Mapping[Place, LaneCurves],
) -> dict[tuple[str, str], float]:
    """Returns the relative error of the prediction of each profiled lane from each other, by (from, to)."""
    errors = {}
    for source in group:
        for target in group:
            if source is target:
                continue
            values, _, _ = _predicted(source, target.key.lane.name, launches, curves)
            error = prediction_error(median(values), _mean_time(target) or 0.0) if values else None
            if error is not None:
                errors[source.key.lane.name, target.key.lane.name] = error
    return errors


def _predicted(
    one: Attribution,
    lane: str,
    launches: Mapping[ProfileKey, Sequence[ProfiledLaunch]],
    curves: Mapping[Place, LaneCurves],
) -> tuple[list[float], str, str]:
    """Returns the predicted time by launch, or the reason why there is none; and what limits the curves."""
    place = next((p for p in curves if p[0] == one.key.system and p[1].name == lane and p[2] == one.key.nodes), None)
    if place is None:
        return [], f"{lane} has no curves on {one.key.nodes} nodes", ""
    values: list[float] = []
    uses: list[CurveUse] = []
    notes: list[str] = []
    for launch in launches[one.key]:
        there = curves[place].at(launch.block, one.key.ranks)
        use = curve_use(launch.ranks, there)
        absent = sorted(name for name, seconds in use.absent.items() if seconds > ABSENT_AT_MOST * use.total)
        if absent:
            return [], f"{lane} has no curve of {', '.join(absent)}", ""
        uses.append(use)
        notes += there.notes
        values.append(predicted_seconds(launch.ranks, launch.curves, there))
    return values, "", "; ".join(dict.fromkeys([*notes, *curve_notes(uses)]))


def _mean_time(one: Attribution) -> float | None:
    times = [block.run.mean.total for block in one.blocks]
    return median(times) if times else None


def _row(
    one: Attribution,
    lane: str,
    values: Iterable[float],
    problem: str,
    notes: str,
    errors: Sequence[float],
    measured: float | None,
    confidence: float,
) -> PredictionRow:
    absolute = [abs(error) for error in errors]
    if not absolute and not problem:
        problem = "no back-test: profile the application on one more lane"
    shown: Interval = median_interval([] if problem else list(values), confidence)
    key = one.key
    return PredictionRow(
        *(lane, key.lane.name, key.tool, key.benchmark, key.case, key.ranks, key.nodes, key.profiler),
        predicted_s=shown.estimate,
        predicted_low_s=shown.low,
        predicted_high_s=shown.high,
        measured_s=measured,
        backtest_error=median(absolute) if absolute else None,
        backtest_worst=max(absolute, default=None),
        backtests=len(absolute),
        n=shown.n,
        reason=problem or notes,
    )
