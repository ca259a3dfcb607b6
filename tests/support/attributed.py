# SPDX-License-Identifier: Apache-2.0
"""Curves from outputs of fabricbench-micro, as a campaign's attribution arranges them."""

from collections.abc import Iterable

from fabricbench.models.curves import Curves
from fabricbench.parsers.tools.micro.description import TOOL
from fabricbench.verdict.curves import LaneCurves
from fabricbench.verdict.series import CellKey, Series
from support.micro import Values

PLACE = ("system", "stack", "fabric", "")


def curves_of(outputs: Iterable[tuple[str, int, Values]]) -> Curves:
    """Returns the curves of one lane from outputs of fabricbench-micro: benchmark, number of ranks, values.

    The application has as many ranks as the output with the most ranks.
    """
    cells: dict[CellKey, Series] = {}
    most = 2
    for benchmark, ranks, values in outputs:
        most = max(most, ranks)
        for (metric, case, size), value in values.items():
            key = CellKey(*PLACE, TOOL, benchmark, case, metric, size, ranks, ranks)
            cells[key] = Series(key, {0: (("launch", value),)})
    return LaneCurves(cells).at(0, most)
