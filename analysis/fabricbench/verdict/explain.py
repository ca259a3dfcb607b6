# SPDX-License-Identifier: Apache-2.0
"""Prints how a verdict follows from the launches' values, so that it can be recomputed by hand."""

from collections.abc import Mapping

import polars as pl

from fabricbench.errors import BadInput, nearest
from fabricbench.metrics import METRICS
from fabricbench.stats.spending import Schedule, schedule
from fabricbench.verdict.estimate import sample
from fabricbench.verdict.reasons import number, percent
from fabricbench.verdict.result import FOREIGN_LOAD, CampaignContext, Cell, Judgement
from fabricbench.verdict.series import CellKey, Series, judged_series


def explain(name: str, judgement: Judgement, table: pl.DataFrame, context: CampaignContext | None = None) -> list[str]:
    """Returns lines of text: values by block and launch, order statistics, p, q, the bound and the verdict."""
    context = context or CampaignContext()
    cells = {cell.name: cell for cell in judgement.cells}
    if name not in cells:
        raise BadInput(f"unknown cell '{name}'", expected=nearest(name, cells))
    cell = cells[name]
    lines = [f"{cell.name}: {cell.verdict}", f"  {cell.text}", f"  bound: {_bound(cell)}"]
    if cell.measured is not None:
        series = judged_series(table)
        lines += ["", *_values(cell, series, context.foreign_load), *_unusable_launches(cell, series)]
        lines += ["", *_numbers(cell, judgement, series)]
    lines += [""] * bool(cell.notes) + [f"  note: {note}" for note in cell.notes]
    skipped = [one for one in judgement.skipped if one.requirement == cell.requirement]
    lines += [f"  skipped: {one.name}: {one.reason}" for one in skipped]
    return [*lines, "", f"  {cell.verdict}: {cell.reason}"]


def _bound(cell: Cell) -> str:
    what = f"{cell.tool} {cell.benchmark} {cell.metric} on {cell.lane}"
    size = "" if cell.msg_size_bytes is None else f" at {cell.msg_size_bytes} bytes"
    against = f", as a ratio to {cell.against}" if cell.against else ""
    return f"{what}{size}{against}: {cell.bound}"


def _sides(cell: Cell) -> tuple[CellKey, ...]:
    return tuple(key for key in (cell.measured, cell.reference) if key is not None)


def _values(cell: Cell, series: Mapping[CellKey, Series], loads: Mapping[str, float]) -> list[str]:
    """Returns each value with its launch and block, and the reason if it was not used; then the ratios."""
    lines = []
    why = _unused(cell, series)
    for key in _sides(cell):
        cell_series, unit = series[key], METRICS[key.metric].unit
        lines.append(f"  {key.tool} {key.benchmark} {key.metric} on {key.lane}, {unit}:")
        for block, values in cell_series.samples.items():
            for launch, value in values:
                load = loads.get(launch, 0.0)
                beside = f"  (with foreign load of {percent(load)})" if load > FOREIGN_LOAD else ""
                lines.append(f"    block {block:3d}  {value:.6g}  {launch}{beside}{why.get(block, '')}")
    if cell.reference is not None and cell.measured is not None:
        pairs = sample(series[cell.measured], series[cell.reference])
        ratios = zip(pairs.blocks[: cell.n], pairs.values[: cell.n], strict=True)
        lines.append("  ratio by block, the block's medians divided:")
        lines += [f"    block {block:3d}  {ratio:.6g}" for block, ratio in ratios]
    return lines


def _unused(cell: Cell, series: Mapping[CellKey, Series]) -> dict[int, str]:
    """Returns the reason, in parentheses, for each block whose values were not used."""
    if cell.measured is None or (cell.reference is None and cell.against is not None):
        return {}
    values = sample(series[cell.measured], None if cell.reference is None else series[cell.reference])
    why = dict.fromkeys(values.undefined, "  (not used: the denominator of the ratio is 0)")
    blocks = {block for key in _sides(cell) for block in series[key].samples}
    for block in blocks - {*values.blocks, *values.undefined}:
        why[block] = "  (not used: the other side has no value in this block)"
    if cell.n:
        why |= dict.fromkeys(values.blocks[cell.n :], "  (after the last completed look)")
    return why


def _unusable_launches(cell: Cell, series: Mapping[CellKey, Series]) -> list[str]:
    sides = [series[key] for key in _sides(cell)]
    unusable = [item for one in sides for item in (*one.doubtful, *one.failed)]
    lines = ["  launches that count against the cell:"] * bool(unusable)
    lines += [f"    {name}: {state}" for name, state in unusable]
    again = [
        f"    block {block:3d}  {launch}, repeated by {', '.join(one.launches((block,)))}"
        for one in sides
        for block, launch in one.repeated
    ]
    return lines + ["  launches that were lost, and their repeats:"] * bool(again) + again


def _numbers(cell: Cell, judgement: Judgement, series: Mapping[CellKey, Series]) -> list[str]:
    """Returns order statistics, p, q and the smallest detectable effect, each with its inputs."""
    if cell.n == 0 or cell.measured is None or cell.estimate is None:
        return ["  nothing was estimated"]
    plan = schedule(judgement.looks, judgement.alpha)
    pairs = sample(series[cell.measured], None if cell.reference is None else series[cell.reference])
    ordered = sorted(pairs.values[: cell.n])
    lines = ["  in order: " + "  ".join(number(value) for value in ordered)]
    lines.append(f"  median of {cell.n}: {number(cell.estimate)} {cell.unit}")
    if cell.low is not None and cell.high is not None and cell.confidence is not None:
        rank = ordered.index(cell.low) + 1
        ends = f"values {rank} and {cell.n + 1 - rank} in order, {number(cell.low)} to {number(cell.high)}"
        lines.append(f"  interval: {ends}, which contain the median with {cell.confidence:.1%}")
    return lines + _tests(cell, judgement, plan)


def _tests(cell: Cell, judgement: Judgement, plan: Schedule) -> list[str]:
    lines = ["  " + line for line in str(plan).splitlines()]
    if cell.p_value is None or cell.q_value is None:
        return [*lines, "  not tested"]
    together = sum(other.p_value is not None for other in judgement.cells)
    lines.append(f"  sign test against the bound, over all planned looks: p = {cell.p_value:.4g}")
    q = f"q = {cell.q_value:.4g}; a verdict needs at most {judgement.alpha:g}"
    lines.append(f"  Benjamini-Hochberg over {together} cell(s): {q}")
    if cell.mde is not None:
        lines.append(f"  smallest change that {cell.n} launches detect with power 0.8: {percent(cell.mde)}")
    return lines
