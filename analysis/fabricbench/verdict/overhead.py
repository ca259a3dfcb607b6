# SPDX-License-Identifier: Apache-2.0
"""Computes the cost of MPI over the user-level library on the same fabric: ratio and difference of latencies by
size.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fabricbench.stats.multiple import q_values
from fabricbench.stats.paired import paired_difference, paired_ratio
from fabricbench.stats.sign import sign_p
from fabricbench.stats.spending import schedule
from fabricbench.verdict.compare import MPI_MEAN, USER_MEANS
from fabricbench.verdict.series import CellKey, Series, all_series

SCHEMA = pl.Schema(
    {
        "fabric": pl.String,
        "stack": pl.String,
        "variant": pl.String,
        "library": pl.String,
        "tool": pl.String,
        "ranks": pl.Int64,
        "nodes": pl.Int64,
        "msg_size_bytes": pl.Int64,
        "ratio": pl.Float64,
        "ratio_low": pl.Float64,
        "ratio_high": pl.Float64,
        "difference_us": pl.Float64,
        "difference_low_us": pl.Float64,
        "difference_high_us": pl.Float64,
        "confidence": pl.Float64,
        "n": pl.Int64,
        "p": pl.Float64,
        "q": pl.Float64,
    }
)
"""``stack`` and ``variant`` are those of the MPI lane, ``library`` and ``tool`` those of the user level; ``n`` is the
number of blocks with both. ``p`` and ``q`` are null if the blocks are too few to decide, or if a launch of either side
is not attested.
"""


_CURVE = ("fabric", "stack", "variant", "library", "tool", "ranks", "nodes")


def overhead(
    table: pl.DataFrame, alpha: float = 0.05, *, cells: Mapping[CellKey, Series] | None = None
) -> pl.DataFrame:
    """Returns the cost of each MPI stack over each user-level library of its fabric, per message size.

    Columns are those of ``SCHEMA``.

    Definition: half round trips of a ping-pong, as the mean over a launch's iterations on both sides; per size the
    median over blocks of MPI / user level and of MPI - user level, each with an order-statistics interval at 1 -
    ``alpha``; ``p`` of the sign test against a ratio of 1, which equals that against a difference of 0; ``q`` by
    Benjamini-Hochberg over the sizes of one curve.
    Assumptions: as in ``stats.paired`` and ``stats.multiple``; one look, after the last block.
    ``cells``: the result of ``all_series(table)``, to save the time of computing it again.
    """
    series = all_series(table) if cells is None else cells
    users = defaultdict(list)
    for key in series:
        if (key.tool, key.benchmark, key.metric) in USER_MEANS:
            users[_place(key)].append(key)
    rows = [
        _row(key, user, series[key], series[user], alpha)
        for key in series
        if (key.tool, key.benchmark, key.metric) == MPI_MEAN
        for user in users[_place(key)]
    ]
    rows = sorted((row for row in rows if row["n"]), key=lambda row: tuple(row[c] for c in (*_CURVE, "msg_size_bytes")))
    _add_q_values(rows)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _place(key: CellKey) -> tuple[object, ...]:
    """Returns the columns that both sides share."""
    return key.system, key.fabric, key.ranks, key.nodes, key.msg_size_bytes


def _row(mpi: CellKey, user: CellKey, a: Series, b: Series, alpha: float) -> dict[str, Any]:
    ratio = paired_ratio(a.values(), b.values(), 1.0 - alpha)
    difference = paired_difference(a.values(), b.values(), 1.0 - alpha)
    n = len(ratio.ratios)
    decides = n > 0 and schedule((n,), alpha).looks[0].critical >= 0 and not a.doubtful and not b.doubtful
    return {
        "fabric": mpi.fabric,
        "stack": mpi.stack,
        "variant": mpi.variant,
        "library": user.stack,
        "tool": user.tool,
        "ranks": mpi.ranks,
        "nodes": mpi.nodes,
        "msg_size_bytes": mpi.msg_size_bytes,
        "ratio": ratio.interval.estimate,
        "ratio_low": ratio.interval.low,
        "ratio_high": ratio.interval.high,
        "difference_us": difference.interval.estimate,
        "difference_low_us": difference.interval.low,
        "difference_high_us": difference.interval.high,
        "confidence": ratio.interval.confidence,
        "n": n,
        "p": sign_p(ratio.ratios, 1.0) if decides else None,
        "q": None,
    }


def _add_q_values(rows: Sequence[dict[str, Any]]) -> None:
    curves = defaultdict(list)
    for row in rows:
        if row["p"] is not None:
            curves[tuple(row[column] for column in _CURVE)].append(row)
    for curve in curves.values():
        for row, q in zip(curve, q_values([row["p"] for row in curve]), strict=True):
            row["q"] = q
