# SPDX-License-Identifier: Apache-2.0
"""The exact sign test of a median against a bound."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabricbench.stats.binomial import at_most

Values = Sequence[float] | NDArray[Any]
"""Numbers of one unit, in any order, shape (n)."""


def sign_p(values: Values, bound: float) -> float:
    """Returns the two-sided p-value of the hypothesis that the median is ``bound``; 1.0 without values.

    Definition: ``min(1, 2 P(Binomial(n, 1/2) <= k))``, where k is the smaller of the numbers of values above and below
    the bound, and ties count to the smaller side.
    Assumptions: independent values; no assumption about their distribution. Counting ties against the effect is
    conservative, and agrees with an interval that includes its ends.
    Source: Dixon & Mood (1946), The statistical sign test, JASA 41.

    ``bound`` is in the unit of the values.
    """
    return tail_p(len(values), minority(values, bound))


def minority(values: Values, bound: float) -> int:
    """Returns the number of values that are not on the more frequent side of the bound; ties always count."""
    array = np.asarray(values, dtype=float)
    return int(array.size - max((array > bound).sum(), (array < bound).sum()))


def tail_p(n: int, k: int) -> float:
    """Returns ``min(1, 2 P(Binomial(n, 1/2) <= k))``; 0.0 for k < 0 and 1.0 for n = 0."""
    return min(1.0, 2.0 * at_most(k, n))
