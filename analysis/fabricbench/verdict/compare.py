# SPDX-License-Identifier: Apache-2.0
"""Compares one lane, or one tool, with another over all message sizes.

A comparison is exploratory: it uses all blocks and no requirement. ``verdict.judge`` draws verdicts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fabricbench.errors import BadInput, nearest
from fabricbench.launch.record import Unmeasured
from fabricbench.metrics import METRICS
from fabricbench.stats.interval import median_interval
from fabricbench.stats.multiple import q_values
from fabricbench.stats.paired import PairedRatio, paired_ratio
from fabricbench.stats.power import log_sigma, minimum_detectable_effect
from fabricbench.stats.sign import sign_p
from fabricbench.stats.spending import schedule
from fabricbench.verdict.reasons import percent
from fabricbench.verdict.series import CellKey, Series, all_series, counterpart, order
from fabricbench.verdict.unmeasured_cells import not_measured, skipped_cells

SCHEMA = pl.Schema(
    {
        "a": pl.String,
        "b": pl.String,
        "lane": pl.String,
        "tool": pl.String,
        "benchmark": pl.String,
        "case": pl.String,
        "metric": pl.String,
        "unit": pl.String,
        "msg_size_bytes": pl.Int64,
        "ranks": pl.Int64,
        "nodes": pl.Int64,
        "median_a": pl.Float64,
        "median_b": pl.Float64,
        "ratio": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "confidence": pl.Float64,
        "n": pl.Int64,
        "p": pl.Float64,
        "q": pl.Float64,
        "mde": pl.Float64,
        "finding": pl.String,
    }
)
"""Columns of a comparison. ``a``, ``b``: names of the sides. ``lane`` and the columns after it are those of side a.
``ratio``: median over blocks of a / b, with its interval. ``n``: number of blocks with both sides.
"""


_Row = dict[str, Any]

_CURVE = ("a", "b", "lane", "tool", "benchmark", "case", "metric", "ranks", "nodes")
"""The columns that the rows of one curve share: all but the size."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Two tools' metrics with the same estimator of the same quantity: (tool, benchmark, metric) of each."""

    own: tuple[str, str, str]
    other: tuple[str, str, str]


LIKE_AGAINST_LIKE = (
    # All are means over the launch's iterations. The own `latency` is a median, which IMB and OSU do not report;
    # the own `bandwidth` comes from that median, IMB's from its mean.
    Alike(("micro", "pingpong", "latency_mean"), ("imb", "pingpong", "latency")),
    Alike(("micro", "pingpong", "latency_mean"), ("imb_p2p", "pingpong", "latency")),
    Alike(("micro", "pingpong", "latency_mean"), ("osu", "pingpong", "latency")),
    # These are means over windows.
    Alike(("micro", "unidirectional", "bandwidth_mean"), ("imb", "uniband", "bandwidth")),
    Alike(("micro", "unidirectional", "bandwidth_mean"), ("osu", "unidirectional", "bandwidth")),
    Alike(("micro", "bidirectional", "bandwidth_mean"), ("imb", "biband", "bandwidth")),
    Alike(("micro", "bidirectional", "bandwidth_mean"), ("osu", "bidirectional", "bandwidth")),
)
"""The only metrics that may be compared across tools of one lane."""

MPI_MEAN = ("micro", "pingpong", "latency_mean")
USER_MEANS = (
    ("fi_pingpong", "pingpong", "latency"),
    ("perftest", "pingpong", "latency_mean"),
    ("qperf", "pingpong", "latency"),
    ("ucx_perftest", "pingpong", "latency_mean"),
)
"""(tool, benchmark, metric) of the half round trip as a mean over a launch's iterations, in MPI and below it. Only
these may be compared across levels.
"""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells to compare, with the names of their sides; None if a side was not measured."""

    names: tuple[str, str]
    a: CellKey | None
    b: CellKey | None

    @property
    def across_levels(self) -> bool:
        """Whether the two sides have different tools, one of them below MPI."""
        return self.a is not None and self.b is not None and self.a.tool != self.b.tool


def compare(
    table: pl.DataFrame,
    lane_a: str,
    lane_b: str,
    alpha: float = 0.05,
    *,
    across_levels: bool = True,
    unmeasured: Sequence[Unmeasured] = (),
    table_cells: Mapping[CellKey, Series] | None = None,
) -> pl.DataFrame:
    """Returns a comparison of lane a with lane b, one row per tool, benchmark, metric, case and size, as in ``SCHEMA``.

    Definition: the ratio a / b, paired by block, with an order-statistics interval at 1 - ``alpha``; ``p`` of the sign
    test against a ratio of 1; ``q`` by Benjamini-Hochberg over those sizes of one curve that have enough blocks to
    decide. Only main metrics (``metrics``) are tested.
    A lane below MPI has its own tools: with ``across_levels`` its ping-pong is compared with ``MPI_MEAN``, which has
    the same estimator. Values of single node pairs are excluded. A cell that only one lane measured has a row too, with
    the reason from ``unmeasured``.
    Assumptions: as in ``stats.paired`` and ``stats.multiple``; one look, after the last block.
    ``table_cells``: the result of ``all_series(table)``, to save the time of computing it again.
    """
    cells = all_series(table) if table_cells is None else table_cells
    series = {key: values for key, values in cells.items() if not key.of_node_pair}
    lanes = {key.lane: (key.stack, key.fabric, key.variant) for key in series}
    for lane in (lane_a, lane_b):
        if lane not in lanes:
            reasons_of_lane = sorted({not_measured(skip) for skip in unmeasured if skip.lane == lane})
            nothing = f"nothing was measured on '{lane}': {reasons_of_lane[0]}" if reasons_of_lane else ""
            what = nothing or f"unknown lane '{lane}'"
            raise BadInput(what, expected=nearest(lane, lanes))
    if lane_a == lane_b:
        raise BadInput(f"lane '{lane_a}' against itself", expected="two lanes")
    find = _alike_on if across_levels else _same_on
    pairs = []
    for key in series:
        if key.lane == lane_a:
            pairs.append(_Pair((lane_a, lane_b), key, find(key, lanes[lane_b], series)))
        elif key.lane == lane_b and find(key, lanes[lane_a], series) is None:
            pairs.append(_Pair((lane_a, lane_b), None, key))
    if any(pair.across_levels for pair in pairs):
        # Metrics that exist on one level only are not compared.
        pairs = [pair for pair in pairs if pair.a and pair.b]
    reasons = {
        key: not_measured(skip) for skip in unmeasured for key in skipped_cells(skip) if key.lane in (lane_a, lane_b)
    }
    elsewhere = {lane_a: lanes[lane_b], lane_b: lanes[lane_a]}
    why = {key: reasons.get(_on(key, elsewhere[key.lane]), "") for key in series if key.lane in elsewhere}
    return _compared(pairs, series, alpha, main_only=True, why=why)


def measured_on_neither(unmeasured: Sequence[Unmeasured], lane_a: str, lane_b: str) -> list[str]:
    """Returns lines of text: the planned benchmarks that neither lane measured, with the first lane's reason."""
    of: dict[str, dict[str, str]] = {lane_a: {}, lane_b: {}}
    for skip in unmeasured:
        if skip.lane in of and skip.applies:
            names = {row.benchmark for row in skip.expected} if skip.expected else {skip.benchmark}
            of[skip.lane] |= {f"{skip.tool} {name}".strip(): not_measured(skip) for name in names}
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name in sorted(of[lane_a].keys() & of[lane_b].keys()):
        by_reason[of[lane_a][name]].append(name)
    return [f"on neither lane: {', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def compare_tools(
    table: pl.DataFrame,
    lane: str | None = None,
    alpha: float = 0.05,
    *,
    cells: Mapping[CellKey, Series] | None = None,
) -> pl.DataFrame:
    """Returns a comparison of the project's own tools with public ones on the same lane, as in ``SCHEMA``.

    Definition: as in ``compare``, with the metrics of ``LIKE_AGAINST_LIKE``; for all lanes, or the given one. ``cells``
    as in ``compare``.
    """
    series = all_series(table) if cells is None else cells
    lanes = {key.lane for key in series}
    if lane is not None and lane not in lanes:
        raise BadInput(f"unknown lane '{lane}'", expected=nearest(lane, lanes))
    pairs = []
    for alike in LIKE_AGAINST_LIKE:
        names = (f"{alike.own[0]} {alike.own[2]}", f"{alike.other[0]} {alike.other[2]}")
        changes = dict(zip(("tool", "benchmark", "metric"), alike.other, strict=True))
        for key in series:
            if (key.tool, key.benchmark, key.metric) == alike.own and lane in (None, key.lane):
                other = counterpart(key, {**changes, "case": key.case}, series)
                pairs += [_Pair(names, key, other)] if other else []
    return _compared(pairs, series, alpha, main_only=False)


def _on(key: CellKey, lane: tuple[str, str, str]) -> CellKey:
    return key._replace(stack=lane[0], fabric=lane[1], variant=lane[2])


def _same_on(key: CellKey, lane: tuple[str, str, str], series: Mapping[CellKey, Series]) -> CellKey | None:
    """Returns the same cell on another lane; None if it was not measured."""
    same = _on(key, lane)
    return same if same in series else None


def _alike_on(key: CellKey, lane: tuple[str, str, str], series: Mapping[CellKey, Series]) -> CellKey | None:
    """Returns the same cell on another lane; on a lane of another level, the cell with the same estimator."""
    what = (key.tool, key.benchmark, key.metric)
    alike = USER_MEANS if what == MPI_MEAN else (MPI_MEAN,) if what in USER_MEANS else ()
    there = _on(key, lane)
    others = (there._replace(tool=tool, benchmark=name, metric=metric) for tool, name, metric in alike)
    return _same_on(key, lane, series) or next((other for other in others if other in series), None)


def _compared(
    pairs: Sequence[_Pair],
    series: Mapping[CellKey, Series],
    alpha: float,
    *,
    main_only: bool,
    why: Mapping[CellKey, str] | None = None,
) -> pl.DataFrame:
    pairs = sorted(pairs, key=lambda pair: order(_displayed_key(pair)))
    rows = [_row(pair, series, alpha, (why or {}).get(_displayed_key(pair), "")) for pair in pairs]
    for row, pair in zip(rows, pairs, strict=True):
        is_test = not main_only or METRICS[row["metric"]].main or pair.across_levels
        if row["p"] is not None and not is_test:
            row |= {"p": None, "finding": "not tested: only the benchmark's main metric is tested"}
    curves: dict[tuple[object, ...], list[_Row]] = defaultdict(list)
    for row in rows:
        if row["p"] is not None:
            curves[tuple(row[column] for column in _CURVE)].append(row)
    for curve in curves.values():
        for row, q in zip(curve, q_values([row["p"] for row in curve]), strict=True):
            row["q"] = q
            row["finding"] = _finding(row, alpha, len(curve))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _displayed_key(pair: _Pair) -> CellKey:
    key = pair.a or pair.b
    if key is None:
        raise ValueError("a pair has at least one side")
    return key


def _row(pair: _Pair, series: Mapping[CellKey, Series], alpha: float, why: str) -> _Row:
    key = _displayed_key(pair)
    a, b = (None if one is None else series[one] for one in (pair.a, pair.b))
    row: _Row = dict.fromkeys(SCHEMA)
    columns = ("tool", "benchmark", "case", "metric", "msg_size_bytes", "ranks", "nodes")
    row |= {column: getattr(key, column) for column in columns}
    row |= {
        "a": pair.names[0],
        "b": pair.names[1],
        "lane": key.lane,
        "unit": METRICS[key.metric].unit,
        "n": 0,
    }
    if a is None or b is None:
        reason = f"too few: {pair.names[0 if a is None else 1]} was not measured"
        return row | {"finding": f"{reason}: {why.removeprefix('not measured: ')}" if why else reason}
    paired = paired_ratio(a.values(), b.values(), 1.0 - alpha)
    row |= _estimates(paired, a, b)
    doubtful = [launch for one in (a, b) for launch, _ in one.doubtful]
    n = len(paired.ratios)
    critical = schedule((n,), alpha).looks[0].critical if n else -1
    if doubtful:
        return row | {"finding": f"invalid: {len(doubtful)} launch(es) without an attested transport"}
    if critical < 0:
        return row | {"finding": f"too few: {n} block(s) with both sides"}
    sigma = log_sigma(paired.ratios)
    mde = None if sigma is None else minimum_detectable_effect(n, critical, sigma)
    return row | {"p": sign_p(paired.ratios, 1.0), "mde": mde}


def _estimates(paired: PairedRatio, a: Series, b: Series) -> _Row:
    interval = paired.interval
    return {
        "median_a": _median(a, paired.blocks),
        "median_b": _median(b, paired.blocks),
        "ratio": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "confidence": interval.confidence,
        "n": interval.n,
    }


def _median(series: Series, blocks: Sequence[int]) -> float | None:
    medians = series.medians()
    return median_interval([medians[block] for block in blocks], 0.0).estimate


def _finding(row: _Row, alpha: float, tests: int) -> str:
    ratio, q, mde = row["ratio"], row["q"], row["mde"]
    if isinstance(ratio, float) and isinstance(q, float) and q <= alpha * (1.0 + 1e-9):
        return f"{row['a']} {'lower' if ratio < 1 else 'higher'} by {percent(abs(ratio - 1))}"
    if row["low"] is not None and row["high"] is not None and not row["low"] <= 1 <= row["high"]:
        return f"the interval excludes 1, but is not significant among the {tests} tests of this curve"
    would = f" (a difference of {percent(mde)} would be detected)" if isinstance(mde, float) else ""
    return f"no difference detected{would}"
