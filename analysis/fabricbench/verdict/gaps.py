# SPDX-License-Identifier: Apache-2.0
"""What was planned and not measured, as cells of the table."""

from collections.abc import Iterator
from functools import cache

from fabricbench.launch.record import Unmeasured
from fabricbench.parsers.registry import benchmarks
from fabricbench.site.lane import lane_name
from fabricbench.verdict.series import CellKey

_known = cache(benchmarks)


def lane_of(gap: Unmeasured) -> str:
    """Its lane as users write it."""
    return lane_name(gap.stack, gap.fabric, gap.variant)


def cells(gap: Unmeasured, benchmark: str = "", metric: str = "") -> Iterator[CellKey]:
    """The cells that it leaves without a value, all or those of a benchmark's metric; none where its rows are not
    known."""
    for row in gap.rows or ():
        if benchmark not in ("", row.benchmark) or metric not in ("", row.metric):
            continue
        for size in (None,) if row.msg_sizes_bytes is None else row.msg_sizes_bytes:
            yield CellKey(
                gap.system, gap.stack, gap.fabric, gap.variant, gap.tool, row.benchmark, row.case or "", row.metric,
                size, gap.ranks or 0, gap.nodes or 0,
            )  # fmt: skip


def why(gap: Unmeasured) -> str:
    """The reason and the cure in half a sentence."""
    return f"not measured: {gap.reason}" + (f"; {gap.cure}" if gap.cure else "")


def may_be(gap: Unmeasured, tool: str, benchmark: str) -> bool:
    """Whether a gap without rows may be of the benchmark: by its name, or because it is named for several at once."""
    if gap.rows is not None or gap.tool not in ("", tool):
        return False
    return gap.benchmark == benchmark or gap.benchmark not in _known()
