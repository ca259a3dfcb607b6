# SPDX-License-Identifier: Apache-2.0
"""The table of weak scaling in the section of NPB."""

from dataclasses import dataclass

from fabricbench.report.codes import problem_name
from fabricbench.report.facets import Facet, Measured, suffices
from fabricbench.report.formatting import percent
from fabricbench.report.groups import Number
from fabricbench.verdict.weak_scaling import weak_scaling


@dataclass(frozen=True, slots=True)
class WeakRow:
    """The efficiency of a problem on one lane and scale against a smaller one with as many elements on each rank."""

    problem: str
    lane: str
    scale: str
    base: str
    efficiency: Number


def weak_rows(cells: Measured, confidence: float) -> tuple[WeakRow, ...]:
    """Returns the rows in order of lane and problem."""
    rows = []
    for one in weak_scaling(cells, confidence):
        sure = suffices(one.confidence, confidence)
        spread = f"[{percent(one.efficiency_low)}, {percent(one.efficiency_high)}]" if sure else ""
        problem = problem_name(Facet(one.tool, one.benchmark, one.case, one.ranks, one.nodes))
        base = f"{one.base_benchmark.upper()} on {one.base_scale}"
        rows.append(WeakRow(problem, one.lane, one.scale, base, Number(percent(one.efficiency), spread, one.n, False)))
    return tuple(rows)
