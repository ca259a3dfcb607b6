# SPDX-License-Identifier: Apache-2.0
"""The LogGP parameters of every lane, with intervals over blocks."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fabricbench.parsers.tools.micro.description import MEASURED, TOOL
from fabricbench.report.facets import Measured, estimate
from fabricbench.report.formatting import plural, size_label
from fabricbench.report.groups import Number, number_of
from fabricbench.site.lane import LaneName
from fabricbench.stats.loggp import CURVES, LogGP, line, loggp
from fabricbench.stats.median import median
from fabricbench.verdict.series import CellKey, Series, all_series

PLOGP = frozenset(name for name, one in MEASURED.items() if set(CURVES) <= {metric.name for metric in one.metrics})
"""The project's own benchmarks that report all curves of P-LogP."""


@dataclass(frozen=True, slots=True)
class SegmentView:
    """G of one protocol and the range of message sizes that use it."""

    sizes: str
    per_byte: str
    interval: str


@dataclass(frozen=True, slots=True)
class LogGPView:
    """The parameters of one lane. ``numbers``: L, o of sender and receiver, g, L of P-LogP; ``segments``: G."""

    lane: str
    numbers: tuple[Number, ...]
    segments: tuple[SegmentView, ...]


Curves = dict[str, dict[int, float]]


def loggp_views(table: pl.DataFrame, confidence: float, cells: Measured | None = None) -> list[LogGPView]:
    """A row per measured lane and number of ranks.

    The parameters are fitted in each block; their medians and intervals are over blocks. The sizes at which the
    protocol changes come from one fit to the medians over blocks; G is then fitted in each block between these sizes.
    ``cells``: the result of ``all_series(table)``.
    """
    by_lane: dict[tuple[LaneName, int], dict[int, Curves]] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for key, cell in (all_series(table) if cells is None else cells).items():
        if _belongs(key):
            _add(by_lane[key.lane_name, key.ranks], key, cell)
    views = []
    several = len({ranks for _, ranks in by_lane}) > 1
    for (lane, ranks), blocks in sorted(by_lane.items()):
        fits = [fit for fit in map(_fit, blocks.values()) if fit is not None]
        if fits:
            whole = _fit(_medians(list(blocks.values())))
            name = f"{lane.name}, {plural(ranks, 'rank')}" if several else lane.name
            views.append(LogGPView(name, _numbers(fits, confidence), _segments(whole, blocks, confidence)))
    return views


def _belongs(key: CellKey) -> bool:
    own = key.tool == TOOL and key.benchmark in PLOGP
    return own and key.metric in CURVES and key.msg_size_bytes is not None


def _add(blocks: dict[int, Curves], key: CellKey, cell: Series) -> None:
    for block, value in cell.medians().items():
        assert key.msg_size_bytes is not None
        blocks[block][key.metric][key.msg_size_bytes] = value


def _fit(curves: Curves) -> LogGP | None:
    return loggp(*(curves.get(name, {}) for name in CURVES))


def _medians(blocks: Sequence[Curves]) -> Curves:
    """The medians over blocks at the sizes of most blocks. Launches add sizes of their own at a bend of the curve."""
    medians: Curves = {}
    for name in CURVES:
        sizes = {size for curves in blocks for size in curves.get(name, {})}
        values = {size: [c[name][size] for c in blocks if size in c.get(name, {})] for size in sizes}
        medians[name] = {size: median(v) for size, v in values.items() if 2 * len(v) > len(blocks)}
    return medians


def _numbers(fits: Sequence[LogGP], confidence: float) -> tuple[Number, ...]:
    columns = (
        [fit.latency_us for fit in fits],
        [fit.send_overhead_us for fit in fits],
        [fit.receive_overhead_us for fit in fits],
        [fit.gap_us for fit in fits],
        [fit.plogp_latency_us for fit in fits],
    )
    return tuple(number_of(estimate(column, None, confidence)) for column in columns)


def _segments(whole: LogGP | None, blocks: dict[int, Curves], confidence: float) -> tuple[SegmentView, ...]:
    views = []
    for segment in whole.segments if whole else ():
        lines = [
            line({size: gap for size, gap in curves.get("gap", {}).items() if segment.first <= size <= segment.last})
            for curves in blocks.values()
        ]
        per_byte = number_of(estimate([each.ns_per_byte for each in lines if each is not None], None, confidence))
        sizes = f"{size_label(segment.first)} to {size_label(segment.last)}"
        views.append(SegmentView(sizes, per_byte.estimate, per_byte.interval))
    return tuple(views)
