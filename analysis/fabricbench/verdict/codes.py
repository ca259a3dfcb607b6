# SPDX-License-Identifier: Apache-2.0
"""Compares the project's own NAS kernels with NASA's programs on the same lane."""

from collections.abc import Mapping

import polars as pl

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.verdict.comparison import Sides, comparison
from fabricbench.verdict.series import CellKey, Series

TOOL = "npb"
CODE = "code"
"""The parameter of the case that says whose program ran: ``own`` or ``nasa``."""
OWN, NASA = "own", "nasa"
METRICS = ("mops", "communication_time")


def own_over_nasa(cells: Mapping[CellKey, Series], alpha: float) -> pl.DataFrame:
    """Returns a comparison of both codes, one ``Comparison`` per problem, lane and number of ranks.

    Definition: as ``verdict.compare.compare``, with the own kernel as side a and NASA's program as side b; both metrics
    are tested. Cells that only one of them measured have no row. ``cells``: those of timed launches.
    """
    compared = []
    for key in cells:
        other = counterpart_of_nasa(key)
        if other is not None and other in cells:
            compared.append(Sides((OWN, NASA), key, other))
    return comparison(compared, cells, alpha, main_only=False)


def counterpart_of_nasa(key: CellKey) -> CellKey | None:
    """Returns the cell of NASA's program for a cell of the own kernel; None for any other cell."""
    case = case_parts(key.case)
    if key.tool != TOOL or key.metric not in METRICS or case.get(CODE) != OWN:
        return None
    return key._replace(case=canonical_case({**case, CODE: NASA}))


def code_of(case: str) -> str:
    """Returns whose program a case of NPB names: ``own``, ``nasa``, or empty."""
    return case_parts(case).get(CODE, "")
