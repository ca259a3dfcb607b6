# SPDX-License-Identifier: Apache-2.0
"""The long table, one row per value. Statistics and verdicts read only this table, not the launches."""

from collections.abc import Iterable, Iterator

import polars as pl

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Record
from fabricbench.metrics import METRICS

SCHEMA = pl.Schema(
    {
        "system": pl.String,
        "fabric": pl.String,
        "transport": pl.String,
        "stack": pl.String,
        "variant": pl.String,
        "tool": pl.String,
        "benchmark": pl.String,
        "case": pl.String,
        "mode": pl.String,
        "metric": pl.String,
        "unit": pl.String,
        "msg_size_bytes": pl.Int64,
        "ranks": pl.Int64,
        "nodes": pl.Int64,
        "hosts": pl.String,
        "block": pl.Int64,
        "launch": pl.String,
        "value": pl.Float64,
        "better": pl.String,
        "state": pl.String,
    }
)

LANE = ["stack", "fabric", "variant"]
"""The columns that name a lane."""

CELL = ["system", *LANE, "tool", "benchmark", "case", "metric", "msg_size_bytes", "ranks", "nodes"]
"""The columns that identify a cell. The rows of a cell differ only in block and launch."""

_ORDER = ["block", "launch", "benchmark", "case", "metric", "msg_size_bytes"]


Value = str | int | float | None


def table(records: Iterable[Record]) -> pl.DataFrame:
    """Returns the long table of a campaign, in a fixed order of rows.

    A launch that is not ``ok`` has its expected rows with a null value, so that missing values are visible. Sizes that
    a launch skipped have no row.
    """
    hosts: dict[str, int] = {}
    rows = [row for record in records for row in _rows(record, hosts.setdefault(" ".join(record.hosts), len(hosts)))]
    frame = pl.DataFrame(rows, schema={**SCHEMA, "hosts": pl.Int64}, orient="row")
    # A selection from a column of strings shares their memory; 1,000 names are a text of several kilobytes.
    names = pl.Series("hosts", list(hosts), dtype=pl.String).gather(frame["hosts"])
    return frame.with_columns(names).sort(_ORDER, nulls_last=False)


def usable(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that statistics may use: timed, attested, with a value."""
    return frame.filter((pl.col("mode") == "timed") & (pl.col("state") == "ok") & pl.col("value").is_not_null())


def _rows(record: Record, hosts: int) -> Iterator[tuple[Value, ...]]:
    """Yields the rows of a launch, with the number ``hosts`` in place of the names of its nodes."""
    launch = record.launch
    if launch is None or launch.mode == "wireup":
        return
    present: set[tuple[str, str | None, str, int | None]] = set()
    for row in record.rows:
        for case in (row.case, None):
            present.add((row.benchmark, case, row.metric, row.msg_size_bytes))
        yield _row(record, hosts, launch, row.benchmark, row.case, row.metric, row.msg_size_bytes, row.value)
    skips = {(skip.benchmark, case, skip.msg_size_bytes) for skip in record.skips for case in (skip.case, None)}
    own = canonical_case(launch.case)
    for item in launch.expected:
        for size in item.msg_sizes_bytes or (None,):
            is_skipped = (item.benchmark, item.case, size) in skips
            if not is_skipped and (item.benchmark, item.case, item.metric, size) not in present:
                case = own if item.case is None else item.case
                yield _row(record, hosts, launch, item.benchmark, case, item.metric, size, None)


def _row(
    record: Record,
    hosts: int,
    launch: Launch,
    benchmark: str,
    case: str,
    name: str,
    size: int | None,
    value: float | None,
) -> tuple[Value, ...]:
    declared = METRICS[name]
    return (
        launch.system, launch.fabric, launch.transport, launch.stack, launch.variant, launch.tool, benchmark, case,
        launch.mode, name, declared.unit, size, launch.ranks, launch.nodes, hosts, launch.block,
        record.directory, value, declared.better, record.state,
    )  # fmt: skip
