# SPDX-License-Identifier: Apache-2.0
"""What was planned and not measured, as cells of the table."""

from collections.abc import Iterator
from functools import cache

from fabricbench.launch.record import Unmeasured
from fabricbench.parsers.registry import benchmarks
from fabricbench.verdict.series import CellKey

_known = cache(benchmarks)


def cells(skip: Unmeasured, benchmark: str = "", metric: str = "") -> Iterator[CellKey]:
    """The cells that it leaves without a value, all or those of a benchmark's metric; none where its rows are not
    known."""
    for row in skip.rows or ():
        if benchmark not in ("", row.benchmark) or metric not in ("", row.metric):
            continue
        for size in (None,) if row.msg_sizes_bytes is None else row.msg_sizes_bytes:
            place = (skip.system, skip.stack, skip.fabric, skip.variant)
            case = row.case or ""
            yield CellKey(*place, skip.tool, row.benchmark, case, row.metric, size, skip.ranks or 0, skip.nodes or 0)


def why(skip: Unmeasured) -> str:
    """The reason and the hint in half a sentence."""
    return f"not measured: {skip.reason}" + (f"; {skip.hint}" if skip.hint else "")


def may_be(skip: Unmeasured, tool: str, benchmark: str) -> bool:
    """Whether a skip without rows may be of the benchmark: by its name, or because it is named for several at once."""
    if skip.rows is not None or skip.tool not in ("", tool):
        return False
    return skip.benchmark == benchmark or skip.benchmark not in _known()
