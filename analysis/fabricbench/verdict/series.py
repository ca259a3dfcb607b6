# SPDX-License-Identifier: Apache-2.0
"""Arranges the long table by cell: one value per block, and the launches without a value."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from fabricbench.errors import BadInput
from fabricbench.launch.facts import case_parts
from fabricbench.launch.record import LOST_STATES
from fabricbench.launch.table import CELL
from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro.description import TOOL
from fabricbench.site.lane import LaneName
from fabricbench.stats.median import median


class CellKey(NamedTuple):
    """The identity of a cell: the columns ``launch.table.CELL``, in that order."""

    system: str
    stack: str
    fabric: str
    variant: str
    tool: str
    benchmark: str
    case: str
    metric: str
    msg_size_bytes: int | None
    ranks: int
    nodes: int

    @property
    def lane_name(self) -> LaneName:
        """The lane of the cell."""
        return LaneName(self.stack, self.fabric, self.variant)

    @property
    def lane(self) -> str:
        """The name of the lane as text."""
        return self.lane_name.name

    @property
    def of_node_pair(self) -> bool:
        """Whether the cell belongs to a single node pair or to a round of them.

        ``verdict.nodes`` analyses these cells together.
        """
        return self.tool == TOOL and bool({"from", "round"} & case_parts(self.case).keys())


def order(key: CellKey) -> tuple[tuple[bool, int, str], ...]:
    """Returns a sort key: lane by lane, values without a size first."""
    columns = (
        key.system, key.stack, key.fabric, key.variant, key.tool, key.benchmark, key.metric, key.case,
        key.ranks, key.nodes, key.msg_size_bytes,
    )  # fmt: skip
    return tuple((c is not None, c if isinstance(c, int) else 0, str(c)) for c in columns)


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one cell over the blocks, in the metric's unit.

    ``samples``: values of a block with their launches, in order of launch; several if a launch was repeated.
    ``doubtful``: launches that are refuted or unknown, with that state. ``failed``: launches without a value that count
    against the cell, with their state: those that failed by themselves, and those that were lost in a block without any
    value. A finished block without a launch of the cell is ``absent``. ``repeated``: block and name of lost launches
    whose block has the value of another launch.
    """

    key: CellKey
    samples: Mapping[int, tuple[tuple[str, float], ...]]
    doubtful: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    repeated: tuple[tuple[int, str], ...] = ()

    def values(self) -> dict[int, tuple[float, ...]]:
        """Returns the values by block."""
        return {block: tuple(value for _, value in sample) for block, sample in self.samples.items()}

    def medians(self) -> dict[int, float]:
        """Returns one value per block: the median of its values."""
        return {block: median(values) for block, values in self.values().items()}

    def launches(self, blocks: Iterable[int]) -> tuple[str, ...]:
        """Returns the launches with the values of these blocks."""
        return tuple(launch for block in blocks for launch, _ in self.samples.get(block, ()))


@dataclass(slots=True)
class _CellValues:
    blocks: set[int] = field(default_factory=set)
    samples: dict[int, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    doubtful: set[tuple[str, str]] = field(default_factory=set)
    losses: dict[int, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))


def all_series(table: pl.DataFrame, mode: str = "timed") -> dict[CellKey, Series]:
    """Returns every cell of the rows of launches of one ``mode``, independent of the order of rows.

    Only values of state ``ok`` count. A launch without one is ``failed``, unless it was lost (``LOST_STATES``) and a
    repeat gave its block a value. A block is finished before the next begins, so a cell without any row in a block that
    is not the last has lost its launch.
    """
    rows = table.filter(pl.col("mode") == mode).select(*CELL, "block", "launch", "value", "state")
    finished = sorted(rows["block"].unique())[:-1]
    by_columns: dict[tuple[Any, ...], _CellValues] = defaultdict(_CellValues)
    for row in rows.iter_rows():
        block, launch, value, state = row[-4:]
        cell = by_columns[row[:-4]]
        cell.blocks.add(block)
        if state in ("refuted", "unknown"):
            cell.doubtful.add((launch, state))
        elif state == "ok" and value is not None and math.isfinite(value):
            cell.samples[block].append((launch, float(value)))
        else:
            cell.losses[block].add((launch, state if state != "ok" else "unreadable"))
    gathered = {CellKey(*columns): cell for columns, cell in by_columns.items()}
    for cell in gathered.values():
        for block in finished:
            if block not in cell.blocks:
                cell.losses[block].add((f"b{block:03d}", "absent"))
    return {key: _series(key, gathered[key]) for key in sorted(gathered, key=order)}


def judged_series(table: pl.DataFrame) -> dict[CellKey, Series]:
    """Returns the cells on which requirements can be judged.

    These are the cells of timed launches, and of profiled launches those of metrics that only a profile measures.
    """
    profiled = all_series(table, "profiled")
    return all_series(table) | {key: one for key, one in profiled.items() if METRICS[key.metric].profiled}


def _series(key: CellKey, cell: _CellValues) -> Series:
    samples = {block: tuple(sorted(cell.samples[block])) for block in sorted(cell.samples)}
    losses = [(block, *item) for block in sorted(cell.losses) for item in sorted(cell.losses[block])]
    repeated = [block in samples and state in LOST_STATES for block, _, state in losses]
    return Series(
        key,
        samples,
        tuple(sorted(cell.doubtful)),
        tuple((launch, state) for (_, launch, state), again in zip(losses, repeated, strict=True) if not again),
        tuple((block, launch) for (block, launch, _), again in zip(losses, repeated, strict=True) if again),
    )


def counterpart(key: CellKey, changes: Mapping[str, str | int], cells: Collection[CellKey]) -> CellKey | None:
    """Returns the cell with some columns changed; None if it was not measured.

    Tools name their cases differently. If tool or benchmark changes and no case is given, the same case is used,
    otherwise the only one that exists; raises BadInput if there are several.
    """
    target = CellKey(**{**key._asdict(), **changes})
    if target in cells or "case" in changes or not {"tool", "benchmark"} & changes.keys():
        return target if target in cells else None
    others = sorted(cell.case for cell in cells if cell._replace(case="") == target._replace(case=""))
    if len(others) > 1:
        what = f"{target.tool} {target.benchmark} on {target.lane} has several cases"
        raise BadInput(what, expected="a 'case', one of " + ", ".join(repr(case) for case in others))
    return target._replace(case=others[0]) if others else None
