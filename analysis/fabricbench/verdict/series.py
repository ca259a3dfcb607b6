# SPDX-License-Identifier: Apache-2.0
"""The long table by cell: one value per block, and the launches that gave none."""

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
from fabricbench.site.lane import lane_name
from fabricbench.stats.median import median


class CellKey(NamedTuple):
    """What is estimated: the columns ``launch.table.CELL``, in that order."""

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
    def lane(self) -> str:
        """``stack@fabric`` or ``stack@fabric:variant``."""
        return lane_name(self.stack, self.fabric, self.variant)

    @property
    def of_one_pair(self) -> bool:
        """Whether it is of a pair of nodes or a round of pairs, which ``verdict.nodes`` looks at all together."""
        return self.tool == "micro" and bool({"from", "round"} & case_parts(self.case).keys())


def order(key: CellKey) -> tuple[tuple[bool, int, str], ...]:
    """Sort key: lane by lane, no size before the smallest."""
    columns = (
        key.system, key.stack, key.fabric, key.variant, key.tool, key.benchmark, key.metric, key.case,
        key.ranks, key.nodes, key.msg_size_bytes,
    )  # fmt: skip
    return tuple((c is not None, c if isinstance(c, int) else 0, str(c)) for c in columns)


@dataclass(frozen=True, slots=True)
class Series:
    """One cell over the blocks, in the metric's unit.

    ``samples``: the values of a block with their launches, in order of launch; several where a launch was
    repeated. ``doubtful``: launches refuted or unknown, with that state. ``failed``: launches without a value that
    count against the cell, with their state: those that failed by themselves, and those that were lost in a block
    without any value; a block that has later ones and no launch of the cell is ``absent``. ``repeated``: block and
    launch of those that were lost and whose block has the value of another launch.
    """

    key: CellKey
    samples: Mapping[int, tuple[tuple[str, float], ...]]
    doubtful: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    repeated: tuple[tuple[int, str], ...] = ()

    def values(self) -> dict[int, tuple[float, ...]]:
        """The values by block."""
        return {block: tuple(value for _, value in found) for block, found in self.samples.items()}

    def medians(self) -> dict[int, float]:
        """One value per block: the median of those it has."""
        return {block: median(found) for block, found in self.values().items()}

    def launches(self, blocks: Iterable[int]) -> tuple[str, ...]:
        """The launches that gave the values of these blocks."""
        return tuple(launch for block in blocks for launch, _ in self.samples.get(block, ()))


@dataclass(slots=True)
class _Gathered:
    blocks: set[int] = field(default_factory=set)
    samples: dict[int, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    doubtful: set[tuple[str, str]] = field(default_factory=set)
    missing: dict[int, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))


def all_series(table: pl.DataFrame) -> dict[CellKey, Series]:
    """Every cell of the timed rows; the order of the rows does not matter.

    Only values of state ``ok`` count. A launch without one is ``failed``, unless it was lost (``LOST_STATES``) and a
    repeat gave its block a value. A block is finished before the next begins, so a cell without any row in a block that
    is not the last lost its launch.
    """
    timed = table.filter(pl.col("mode") == "timed").select(*CELL, "block", "launch", "value", "state")
    finished = sorted(timed["block"].unique())[:-1]
    by_columns: dict[tuple[Any, ...], _Gathered] = defaultdict(_Gathered)
    for row in timed.iter_rows():
        block, launch, value, state = row[-4:]
        cell = by_columns[row[:-4]]
        cell.blocks.add(block)
        if state in ("refuted", "unknown"):
            cell.doubtful.add((launch, state))
        elif state == "ok" and value is not None and math.isfinite(value):
            cell.samples[block].append((launch, float(value)))
        else:
            cell.missing[block].add((launch, state if state != "ok" else "unreadable"))
    gathered = {CellKey(*columns): cell for columns, cell in by_columns.items()}
    for cell in gathered.values():
        for block in finished:
            if block not in cell.blocks:
                cell.missing[block].add((f"b{block:03d}", "absent"))
    return {key: _series(key, gathered[key]) for key in sorted(gathered, key=order)}


def _series(key: CellKey, found: _Gathered) -> Series:
    samples = {block: tuple(sorted(found.samples[block])) for block in sorted(found.samples)}
    missing = [(block, *item) for block in sorted(found.missing) for item in sorted(found.missing[block])]
    repeated = [block in samples and state in LOST_STATES for block, _, state in missing]
    return Series(
        key,
        samples,
        tuple(sorted(found.doubtful)),
        tuple((launch, state) for (_, launch, state), again in zip(missing, repeated, strict=True) if not again),
        tuple((block, launch) for (block, launch, _), again in zip(missing, repeated, strict=True) if again),
    )


def counterpart(key: CellKey, changes: Mapping[str, str | int], known: Collection[CellKey]) -> CellKey | None:
    """The cell with some columns changed, None where it was not measured.

    Tools name their cases differently: where tool or benchmark changes and no case is given, the equal case
    is taken, else the only one there is; BadInput where there are several.
    """
    wanted = CellKey(**{**key._asdict(), **changes})
    if wanted in known or "case" in changes or not {"tool", "benchmark"} & changes.keys():
        return wanted if wanted in known else None
    others = sorted(cell.case for cell in known if cell._replace(case="") == wanted._replace(case=""))
    if len(others) > 1:
        what = f"{wanted.tool} {wanted.benchmark} on {wanted.lane} has several cases"
        raise BadInput(what, expected="'case' named, one of " + ", ".join(repr(case) for case in others))
    return wanted._replace(case=others[0]) if others else None
