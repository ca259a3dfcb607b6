# SPDX-License-Identifier: Apache-2.0
"""Converts planned rows that were not measured into cells of the table."""

from collections.abc import Iterator
from functools import cache

from fabricbench.launch.record import Unmeasured
from fabricbench.parsers.registry import benchmarks
from fabricbench.verdict.series import CellKey

_known_benchmarks = cache(benchmarks)


def skipped_cells(skip: Unmeasured, benchmark: str = "", metric: str = "") -> Iterator[CellKey]:
    """Yields the cells that ``skip`` leaves without a value; none if its expected rows are unknown.

    ``benchmark`` and ``metric`` select among them; an empty string selects all.
    """
    for row in skip.expected or ():
        if benchmark not in ("", row.benchmark) or metric not in ("", row.metric):
            continue
        for size in (None,) if row.msg_sizes_bytes is None else row.msg_sizes_bytes:
            lane = (skip.system, skip.stack, skip.fabric, skip.variant)
            case = row.case or ""
            yield CellKey(*lane, skip.tool, row.benchmark, case, row.metric, size, skip.ranks or 0, skip.nodes or 0)


def not_measured(skip: Unmeasured) -> str:
    """Returns the reason and the hint as text for a verdict: ``not measured: REASON; HINT``."""
    return f"not measured: {skip.reason}" + (f"; {skip.hint}" if skip.hint else "")


def may_concern(skip: Unmeasured, tool: str, benchmark: str) -> bool:
    """Returns whether a skip with unknown rows may include the benchmark.

    It may if it has the benchmark's name, or a name that stands for several benchmarks.
    """
    if skip.expected is not None or skip.tool not in ("", tool):
        return False
    return skip.benchmark == benchmark or skip.benchmark not in _known_benchmarks()
