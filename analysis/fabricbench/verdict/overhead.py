# SPDX-License-Identifier: Apache-2.0
"""Computes the cost of MPI over the user-level library on the same fabric: ratio and difference of latencies by
size.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fabricbench.stats.interval import Interval
from fabricbench.stats.multiple import q_values
from fabricbench.stats.paired import paired_difference, paired_ratio
from fabricbench.stats.sign import sign_p
from fabricbench.stats.spending import schedule
from fabricbench.verdict.alike import metric_of, mpi_mean, user_means
from fabricbench.verdict.frames import frame_of
from fabricbench.verdict.series import CellKey, Series, all_series


@dataclass(frozen=True, slots=True)
class Overhead:
    """The cost of MPI at one message size; the fields are the columns of the table.

    ``stack`` and ``variant`` are those of the MPI lane, ``library`` and ``tool`` those of the user level; ``n`` is the
    number of blocks with both. ``p`` and ``q`` are None if the blocks are too few to decide, or if a launch of either
    side is not attested.
    """

    fabric: str
    stack: str
    variant: str
    library: str
    tool: str
    ranks: int
    nodes: int
    msg_size_bytes: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    difference_us: float | None
    difference_low_us: float | None
    difference_high_us: float | None
    confidence: float | None
    n: int
    p: float | None
    q: float | None = None

    @property
    def ratio_interval(self) -> Interval:
        """The ratio with its interval."""
        return Interval(self.ratio, self.ratio_low, self.ratio_high, self.confidence, self.n)

    @property
    def difference_interval(self) -> Interval:
        """The difference in microseconds with its interval."""
        return Interval(self.difference_us, self.difference_low_us, self.difference_high_us, self.confidence, self.n)

    @property
    def curve(self) -> tuple[str | int, ...]:
        """The columns that the rows of one curve share: all that identify the row, but the size."""
        return self.fabric, self.stack, self.variant, self.library, self.tool, self.ranks, self.nodes


def overhead(
    table: pl.DataFrame, alpha: float = 0.05, *, cells: Mapping[CellKey, Series] | None = None
) -> pl.DataFrame:
    """Returns the cost of each MPI stack over each user-level library of its fabric, per message size.

    The rows of the table are ``Overhead``.

    Definition: half round trips of a ping-pong, as the mean over a launch's iterations on both sides; per size the
    median over blocks of MPI / user level and of MPI - user level, each with an order-statistics interval at 1 -
    ``alpha``; ``p`` of the sign test against a ratio of 1, which equals that against a difference of 0; ``q`` by
    Benjamini-Hochberg over the sizes of one curve.
    Assumptions: as in ``stats.paired`` and ``stats.multiple``; one look, after the last block.
    ``cells``: the result of ``all_series(table)``, to save the time of computing it again.
    """
    series = all_series(table) if cells is None else cells
    users: dict[tuple[object, ...], list[CellKey]] = defaultdict(list)
    for key in series:
        if metric_of(key) in user_means():
            users[_place(key)].append(key)
    rows = [
        _row(key, user, key.msg_size_bytes, series[key], series[user], alpha)
        for key in series
        if metric_of(key) == mpi_mean() and key.msg_size_bytes is not None
        for user in users[_place(key)]
    ]
    rows = sorted((row for row in rows if row.n), key=lambda row: (row.curve, row.msg_size_bytes))
    return frame_of(Overhead, _with_q_values(rows))


def _place(key: CellKey) -> tuple[object, ...]:
    """Returns the columns that both sides share."""
    return key.system, key.fabric, key.ranks, key.nodes, key.msg_size_bytes


def _row(mpi: CellKey, user: CellKey, msg_size_bytes: int, a: Series, b: Series, alpha: float) -> Overhead:
    ratio = paired_ratio(a.values(), b.values(), 1.0 - alpha)
    difference = paired_difference(a.values(), b.values(), 1.0 - alpha)
    n = len(ratio.ratios)
    decides = n > 0 and schedule((n,), alpha).looks[0].critical >= 0 and not a.doubtful and not b.doubtful
    return Overhead(
        fabric=mpi.fabric,
        stack=mpi.stack,
        variant=mpi.variant,
        library=user.stack,
        tool=user.tool,
        ranks=mpi.ranks,
        nodes=mpi.nodes,
        msg_size_bytes=msg_size_bytes,
        ratio=ratio.interval.estimate,
        ratio_low=ratio.interval.low,
        ratio_high=ratio.interval.high,
        difference_us=difference.interval.estimate,
        difference_low_us=difference.interval.low,
        difference_high_us=difference.interval.high,
        confidence=ratio.interval.confidence,
        n=n,
        p=sign_p(ratio.ratios, 1.0) if decides else None,
    )


def _with_q_values(rows: Sequence[Overhead]) -> list[Overhead]:
    """Returns the rows with the q-values of those that have a p-value."""
    curves: dict[tuple[str | int, ...], list[tuple[int, float]]] = defaultdict(list)
    for at, row in enumerate(rows):
        if row.p is not None:
            curves[row.curve].append((at, row.p))
    result = list(rows)
    for curve in curves.values():
        for (at, _), q in zip(curve, q_values([p for _, p in curve]), strict=True):
            result[at] = replace(rows[at], q=q)
    return result
