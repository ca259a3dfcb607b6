# SPDX-License-Identifier: Apache-2.0
"""The part of the section of NPB about its two codes: what each is, and the own kernels over NASA's programs."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fabricbench.launch.facts import case_parts
from fabricbench.report.comparisons import ratio_point
from fabricbench.report.facets import Facet, Measured
from fabricbench.report.groups import Number, number_of
from fabricbench.verdict.codes import CODE, NASA, OWN, TOOL, code_of, own_over_nasa
from fabricbench.verdict.comparison import Comparison
from fabricbench.verdict.frames import rows_of

NAMES = {OWN: "own kernel", NASA: "NASA’s program"}
INSTALL = "fabricbench setup --source NPB3.4.3.tar.gz"


@dataclass(frozen=True, slots=True)
class CodeRatio:
    """The own kernel over NASA's program on one lane and number of ranks: Mop/s, and communication time."""

    problem: str
    lane: str
    ranks: int
    rate: Number
    communication: Number


@dataclass(frozen=True, slots=True)
class CodesView:
    """``ratios``: where both codes ran. ``install``: the command that installs NASA's programs if they did not run."""

    ratios: tuple[CodeRatio, ...]
    install: str


def problem_name(facet: Facet) -> str:
    """Returns the heading of a problem of NPB: ``CG.A (own kernel, code=own)``."""
    case = case_parts(facet.case)
    code = case.pop(CODE, "")
    words = [facet.benchmark.upper()]
    if code:
        words.append(f"({NAMES[code]}, {CODE}={code})" if code in NAMES else f"({CODE}={code})")
    return " ".join([*words, *(f"{name}={value}" for name, value in case.items())])


def codes_view(cells: Measured, alpha: float) -> CodesView:
    """Returns the part of the section about both codes; ``cells``: those of timed launches."""
    rows: dict[tuple[str, str, int, int], dict[str, Comparison]] = defaultdict(dict)
    for row in rows_of(Comparison, own_over_nasa(cells, alpha)):
        if row.ratio is not None:
            rows[row.benchmark.upper(), row.lane, row.ranks, row.nodes][row.metric] = row
    ratios = tuple(
        CodeRatio(problem, lane, ranks, _number(metrics["mops"], alpha), _number(_communication(metrics, ranks), alpha))
        for (problem, lane, ranks, _), metrics in sorted(rows.items())
        if "mops" in metrics
    )
    has_nasa = any(key.tool == TOOL and code_of(key.case) == NASA for key in cells)
    return CodesView(ratios, "" if has_nasa else INSTALL)


def _communication(metrics: Mapping[str, Comparison], ranks: int) -> Comparison | None:
    """Returns the ratio of the communication times; None for one rank, which has no other to wait for."""
    return metrics.get("communication_time") if ranks > 1 else None


def _number(row: Comparison | None, alpha: float) -> Number:
    return number_of(None if row is None else ratio_point(row, row.interval, alpha))
