# SPDX-License-Identifier: Apache-2.0
"""Computes the rows of a comparison: the ratio of two cells, its interval, and its tests over a curve."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fabricbench.metrics import METRICS
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.multiple import q_values
from fabricbench.stats.paired import paired_ratio
from fabricbench.stats.power import log_sigma, minimum_detectable_effect
from fabricbench.stats.sign import sign_p
from fabricbench.stats.spending import schedule
from fabricbench.verdict.frames import frame_of
from fabricbench.verdict.reasons import percent
from fabricbench.verdict.series import CellKey, Series, order


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of a comparison; the fields are the columns of its table.

    ``a``, ``b``: names of the sides. ``lane`` to ``nodes``: those of side a. ``ratio``: median over blocks of a / b,
    with its interval ``low`` to ``high``. ``n``: number of blocks with both sides. ``mde``: the difference that would
    be detected.
    """

    a: str
    b: str
    lane: str
    tool: str
    benchmark: str
    case: str
    metric: str
    unit: str
    msg_size_bytes: int | None
    ranks: int
    nodes: int
    median_a: float | None = None
    median_b: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    n: int = 0
    p: float | None = None
    q: float | None = None
    mde: float | None = None
    finding: str | None = None

    @property
    def interval(self) -> Interval:
        """The ratio with its interval."""
        return Interval(self.ratio, self.low, self.high, self.confidence, self.n)

    @property
    def curve(self) -> tuple[object, ...]:
        """The columns that the rows of one curve share: all that identify the row, but the size."""
        return self.a, self.b, self.lane, self.tool, self.benchmark, self.case, self.metric, self.ranks, self.nodes


@dataclass(frozen=True, slots=True)
class Sides:
    """Two cells to compare, with the names of their sides; None if a side was not measured."""

    names: tuple[str, str]
    a: CellKey | None
    b: CellKey | None

    @property
    def across_levels(self) -> bool:
        """Whether the two sides have different tools, one of them below MPI."""
        return self.a is not None and self.b is not None and self.a.tool != self.b.tool

    @property
    def named(self) -> CellKey:
        """The cell that names the row: that of side a, or of side b if side a was not measured."""
        key = self.a or self.b
        if key is None:
            raise ValueError("a comparison has at least one side")
        return key


def comparison(
    cells: Sequence[Sides],
    series: Mapping[CellKey, Series],
    alpha: float,
    *,
    main_only: bool,
    reasons: Mapping[CellKey, str] | None = None,
) -> pl.DataFrame:
    """Returns the table of the comparisons of ``cells``, in the order of ``verdict.series.order``.

    Definition: see ``verdict.compare.compare``. With ``main_only``, only main metrics and comparisons across levels are
    tested. ``reasons``: why the other side of a cell was not measured.
    """
    cells = sorted(cells, key=lambda sides: order(sides.named))
    rows = [_row(sides, series, alpha, (reasons or {}).get(sides.named, "")) for sides in cells]
    for at, sides in enumerate(cells):
        tested = not main_only or METRICS[rows[at].metric].main or sides.across_levels
        if rows[at].p is not None and not tested:
            rows[at] = replace(rows[at], p=None, finding="not tested: only the benchmark's main metric is tested")
    return frame_of(Comparison, _with_q_values(rows, alpha))


def _with_q_values(rows: Sequence[Comparison], alpha: float) -> list[Comparison]:
    """Returns the rows with the q-values and findings of those that are tested."""
    curves: dict[tuple[object, ...], list[tuple[int, float]]] = defaultdict(list)
    for at, row in enumerate(rows):
        if row.p is not None:
            curves[row.curve].append((at, row.p))
    result = list(rows)
    for curve in curves.values():
        for (at, _), q in zip(curve, q_values([p for _, p in curve]), strict=True):
            result[at] = replace(rows[at], q=q, finding=_finding(rows[at], q, alpha, len(curve)))
    return result


def _row(sides: Sides, series: Mapping[CellKey, Series], alpha: float, why: str) -> Comparison:
    key = sides.named
    row = Comparison(
        *sides.names, key.lane, key.tool, key.benchmark, key.case, key.metric, METRICS[key.metric].unit,
        key.msg_size_bytes, key.ranks, key.nodes,
    )  # fmt: skip
    if sides.a is None or sides.b is None:
        missing = f"too few: {sides.names[0 if sides.a is None else 1]} was not measured"
        return replace(row, finding=f"{missing}: {why.removeprefix('not measured: ')}" if why else missing)
    a, b = series[sides.a], series[sides.b]
    paired = paired_ratio(a.values(), b.values(), 1.0 - alpha)
    interval = paired.interval
    row = replace(
        row,
        median_a=_median(a, paired.blocks),
        median_b=_median(b, paired.blocks),
        ratio=interval.estimate,
        low=interval.low,
        high=interval.high,
        confidence=interval.confidence,
        n=interval.n,
    )
    return _tested(row, paired.ratios, [launch for one in (a, b) for launch, _ in one.doubtful], alpha)


def _tested(row: Comparison, ratios: Sequence[float], doubtful: Sequence[str], alpha: float) -> Comparison:
    """Returns the row with its p-value, or with the reason why there is none."""
    n = len(ratios)
    critical = schedule((n,), alpha).looks[0].critical if n else -1
    if doubtful:
        return replace(row, finding=f"invalid: {len(doubtful)} launch(es) without an attested transport")
    if critical < 0:
        return replace(row, finding=f"too few: {n} block(s) with both sides")
    sigma = log_sigma(ratios)
    mde = None if sigma is None else minimum_detectable_effect(n, critical, sigma)
    return replace(row, p=sign_p(ratios, 1.0), mde=mde)


def _median(series: Series, blocks: Sequence[int]) -> float | None:
    medians = series.medians()
    return median_interval([medians[block] for block in blocks], 0.0).estimate


def _finding(row: Comparison, q: float, alpha: float, tests: int) -> str:
    if row.ratio is not None and q <= alpha * (1.0 + 1e-9):
        return f"{row.a} {'lower' if row.ratio < 1 else 'higher'} by {percent(abs(row.ratio - 1))}"
    if row.low is not None and row.high is not None and not row.low <= 1 <= row.high:
        return f"the interval excludes 1, but the difference is not significant among the {tests} tests of this curve"
    would = "" if row.mde is None else f" (a difference of {percent(row.mde)} would be detected)"
    return f"no difference detected{would}"
