# SPDX-License-Identifier: Apache-2.0
"""Two lanes compared by what shared a block: as a ratio, or as a difference."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.median import median


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """Ratios numerator / denominator in the order of their blocks, and the interval of their median."""

    blocks: tuple[int, ...]
    ratios: tuple[float, ...]
    interval: Interval


def paired_ratio(
    numerator: Mapping[int, Sequence[float]], denominator: Mapping[int, Sequence[float]], confidence: float
) -> PairedRatio:
    """Median over blocks of the ratio of two lanes, with its order-statistics interval.

    Definition: in each block each lane's values are reduced to their median and divided; the interval is
    ``median_interval`` of the ratios. A block is dropped where either lane has no value, or where the ratio
    is not a finite number (a denominator of zero).
    Assumptions: blocks are independent; within a block both lanes met the same machine, so that what a block
    does to both cancels. The median ratio is not the ratio of the medians.
    Source: the paired sign test (Dixon & Mood 1946) inverted; blocking as in Hunold & Carpen-Amarie (2016),
    Reproducible MPI benchmarking is still not as easy as you think, IEEE TPDS 27.

    ``numerator``, ``denominator``: block to values of one unit; ratios have no unit.
    """
    ratios = _by_block(numerator, denominator, ratio_of)
    values = tuple(ratios.values())
    return PairedRatio(tuple(ratios), values, median_interval(values, confidence))


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Differences minuend - subtrahend in the order of their blocks, and the interval of their median."""

    blocks: tuple[int, ...]
    differences: tuple[float, ...]
    interval: Interval


def paired_difference(
    minuend: Mapping[int, Sequence[float]], subtrahend: Mapping[int, Sequence[float]], confidence: float
) -> PairedDifference:
    """Median over blocks of the difference of two lanes, with its order-statistics interval.

    Definition, assumptions and source as of ``paired_ratio``, with the difference of the medians of a block in
    place of their ratio. A block's common factor does not cancel in it, only what it adds to both.

    ``minuend``, ``subtrahend``: block to values of one unit; differences are in that unit.
    """
    differences = _by_block(minuend, subtrahend, lambda a, b: a - b if math.isfinite(a - b) else None)
    values = tuple(differences.values())
    return PairedDifference(tuple(differences), values, median_interval(values, confidence))


def _by_block(
    first: Mapping[int, Sequence[float]],
    second: Mapping[int, Sequence[float]],
    combine: Callable[[float, float], float | None],
) -> dict[int, float]:
    """What ``combine`` makes of both medians of each block that has values of both."""
    found: dict[int, float] = {}
    for block in sorted(first.keys() & second.keys()):
        if len(first[block]) and len(second[block]):
            value = combine(median(first[block]), median(second[block]))
            if value is not None:
                found[block] = value
    return found


def ratio_of(numerator: float, denominator: float) -> float | None:
    """numerator / denominator, or None where that is not a finite number."""
    if denominator == 0 or not math.isfinite(numerator) or not math.isfinite(denominator):
        return None
    ratio = numerator / denominator
    return ratio if math.isfinite(ratio) else None
