# SPDX-License-Identifier: Apache-2.0
"""The median of a few numbers: the same value as ``numpy.median``, without the cost of an array."""

import math
from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the two middle values; nan for no values and for values with a nan."""
    ordered = sorted(map(float, values))
    count = len(ordered)
    if not count or any(map(math.isnan, ordered)):
        return math.nan
    middle = count // 2
    return ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
