# SPDX-License-Identifier: Apache-2.0
"""Two lanes compared as the ratio of what shared a block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fabricbench.stats.interval import Interval, median_interval


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
    ratios: dict[int, float] = {}
    for block in sorted(numerator.keys() & denominator.keys()):
        if len(numerator[block]) and len(denominator[block]):
            ratio = ratio_of(float(np.median(numerator[block])), float(np.median(denominator[block])))
            if ratio is not None:
                ratios[block] = ratio
    values = tuple(ratios.values())
    return PairedRatio(tuple(ratios), values, median_interval(values, confidence))


def ratio_of(numerator: float, denominator: float) -> float | None:
    """numerator / denominator, or None where that is not a finite number."""
    if denominator == 0 or not np.isfinite(numerator) or not np.isfinite(denominator):
        return None
    ratio = numerator / denominator
    return ratio if np.isfinite(ratio) else None
