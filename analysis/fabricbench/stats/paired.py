# SPDX-License-Identifier: Apache-2.0
"""Compares two lanes by values of the same block, as a ratio or as a difference."""

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
    """Returns the median over blocks of the ratio of two lanes, with its order-statistics interval.

    Definition: the ratio of a block is the median of the numerator's values divided by the median of the denominator's;
    the interval is ``median_interval`` of the ratios. A block is excluded if either lane has no value in it, or if its
    ratio is not a finite number (denominator 0).
    Assumptions: blocks are independent; within a block both lanes ran under the same conditions, so that effects of the
    block on both cancel. The median ratio is not the ratio of the medians.
    Source: the paired sign test (Dixon & Mood 1946) inverted; blocking as in Hunold & Carpen-Amarie (2016),
    Reproducible MPI benchmarking is still not as easy as you think, IEEE TPDS 27.

    ``numerator``, ``denominator``: values of one unit by block; ratios have no unit.
    """
    ratios = _by_block(numerator, denominator, finite_ratio)
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
    """Returns the median over blocks of the difference of two lanes, with its order-statistics interval.

    Definition, assumptions and source: as in ``paired_ratio``, with the difference of a block's medians in place of
    their ratio. It cancels what a block adds to both lanes, but not a common factor.

    ``minuend``, ``subtrahend``: values of one unit by block; differences are in that unit.
    """
    differences = _by_block(minuend, subtrahend, lambda a, b: a - b if math.isfinite(a - b) else None)
    values = tuple(differences.values())
    return PairedDifference(tuple(differences), values, median_interval(values, confidence))


def _by_block(
    first: Mapping[int, Sequence[float]],
    second: Mapping[int, Sequence[float]],
    combine: Callable[[float, float], float | None],
) -> dict[int, float]:
    """Returns the result of ``combine`` on both medians of each block that has values of both lanes."""
    combined: dict[int, float] = {}
    for block in sorted(first.keys() & second.keys()):
        if len(first[block]) and len(second[block]):
            value = combine(median(first[block]), median(second[block]))
            if value is not None:
                combined[block] = value
    return combined


def finite_ratio(numerator: float, denominator: float) -> float | None:
    """Returns numerator / denominator, or None if it is not a finite number."""
    if denominator == 0 or not math.isfinite(numerator) or not math.isfinite(denominator):
        return None
    ratio = numerator / denominator
    return ratio if math.isfinite(ratio) else None
