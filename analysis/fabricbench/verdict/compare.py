# SPDX-License-Identifier: Apache-2.0
"""Compares one lane, or one tool, with another over all message sizes.

A comparison is exploratory: it uses all blocks and no requirement. ``verdict.judge`` draws verdicts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from fabricbench.errors import BadInput, nearest
from fabricbench.launch.record import Unmeasured
from fabricbench.site.lane import LaneName
from fabricbench.verdict.alike import like_against_like, metric_of, mpi_mean, user_means
from fabricbench.verdict.comparison import Sides, comparison
from fabricbench.verdict.series import CellKey, Series, all_series, counterpart
from fabricbench.verdict.unmeasured_cells import not_measured, skipped_cells


def compare(
    table: pl.DataFrame,
    lane_a: str,
    lane_b: str,
    alpha: float = 0.05,
    *,
    across_levels: bool = True,
    unmeasured: Sequence[Unmeasured] = (),
    cells: Mapping[CellKey, Series] | None = None,
) -> pl.DataFrame:
    """Returns a comparison of lane a with lane b, one ``Comparison`` per benchmark, metric, case and size.

    Definition: the ratio a / b, paired by block, with an order-statistics interval at 1 - ``alpha``; ``p`` of the sign
    test against a ratio of 1; ``q`` by Benjamini-Hochberg over those sizes of one curve that have enough blocks to
    decide. Only main metrics (``metrics``) are tested.
    A lane below MPI has its own tools: with ``across_levels`` its ping-pong is compared with ``alike.mpi_mean``, which
    has the same estimator. Values of single node pairs are excluded. A cell that only one lane measured has a row too,
    with the reason from ``unmeasured``.
    Assumptions: as in ``stats.paired`` and ``stats.multiple``; one look, after the last block.
    ``cells``: the result of ``all_series(table)``, to save the time of computing it again.
    """
    every = all_series(table) if cells is None else cells
    series = {key: values for key, values in every.items() if not key.of_node_pair}
    lanes = {key.lane: key.lane_name for key in series}
    for lane in (lane_a, lane_b):
        if lane not in lanes:
            reasons = sorted({not_measured(skip) for skip in unmeasured if skip.lane == lane})
            nothing = f"nothing was measured on '{lane}': {reasons[0]}" if reasons else ""
            raise BadInput(nothing or f"unknown lane '{lane}'", expected=nearest(lane, lanes))
    if lane_a == lane_b:
        raise BadInput(f"both lanes are '{lane_a}'", expected="two different lanes")
    a, b = lanes[lane_a], lanes[lane_b]
    compared = _sides(series, a, b, across_levels=across_levels)
    return comparison(compared, series, alpha, main_only=True, reasons=_reasons(series, unmeasured, a, b))


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
    """Returns a comparison of the project's own tools with public ones on the same lane: a table of ``Comparison``.

    Definition: as in ``compare``, with the metrics of ``alike.like_against_like``; for all lanes, or the given one.
    ``cells`` as in ``compare``.
    """
    series = all_series(table) if cells is None else cells
    lanes = {key.lane for key in series}
    if lane is not None and lane not in lanes:
        raise BadInput(f"unknown lane '{lane}'", expected=nearest(lane, lanes))
    compared = []
    for alike in like_against_like():
        names = (f"{alike.own.tool} {alike.own.metric}", f"{alike.other.tool} {alike.other.metric}")
        for key in series:
            if metric_of(key) == alike.own and lane in (None, key.lane):
                other = counterpart(key, {**alike.other._asdict(), "case": key.case}, series)
                compared += [Sides(names, key, other)] if other else []
    return comparison(compared, series, alpha, main_only=False)


def _sides(series: Mapping[CellKey, Series], a: LaneName, b: LaneName, *, across_levels: bool) -> list[Sides]:
    """Returns the cells of both lanes, each with its counterpart on the other lane if there is one."""
    find = _alike_on if across_levels else _same_on
    names, compared = (a.name, b.name), []
    for key in series:
        if key.lane == a.name:
            compared.append(Sides(names, key, find(key, b, series)))
        elif key.lane == b.name and find(key, a, series) is None:
            compared.append(Sides(names, None, key))
    if any(sides.across_levels for sides in compared):
        # Metrics that exist on one level only are not compared.
        return [sides for sides in compared if sides.a and sides.b]
    return compared


def _reasons(
    series: Mapping[CellKey, Series], unmeasured: Sequence[Unmeasured], a: LaneName, b: LaneName
) -> dict[CellKey, str]:
    """Returns for each cell of a lane why it was not measured on the other lane; empty text if no reason is known."""
    other = {a.name: b, b.name: a}
    skipped = {key: not_measured(skip) for skip in unmeasured for key in skipped_cells(skip) if key.lane in other}
    return {key: skipped.get(_on(key, other[key.lane]), "") for key in series if key.lane in other}


def _on(key: CellKey, lane: LaneName) -> CellKey:
    return key._replace(stack=lane.stack, fabric=lane.fabric, variant=lane.variant)


def _same_on(key: CellKey, lane: LaneName, series: Mapping[CellKey, Series]) -> CellKey | None:
    """Returns the same cell on another lane; None if it was not measured."""
    same = _on(key, lane)
    return same if same in series else None


def _alike_on(key: CellKey, lane: LaneName, series: Mapping[CellKey, Series]) -> CellKey | None:
    """Returns the same cell on another lane; on a lane of another level, the cell with the same estimator."""
    what = metric_of(key)
    alike = user_means() if what == mpi_mean() else (mpi_mean(),) if what in user_means() else ()
    others = (_on(key, lane)._replace(**other._asdict()) for other in alike)
    return _same_on(key, lane, series) or next((other for other in others if other in series), None)
