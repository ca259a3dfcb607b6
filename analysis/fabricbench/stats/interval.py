# SPDX-License-Identifier: Apache-2.0
"""The confidence interval of a median by order statistics, which needs no assumption about the distribution."""

from dataclasses import dataclass

from fabricbench.stats.median import median
from fabricbench.stats.sign import Values, tail_p


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and its confidence interval, in the unit of the values.

    ``confidence``: the coverage of this interval, 0 to 1. ``rank``: the order statistics (rank, n + 1 - rank) are the
    ends, counted from 1. With fewer than two values ``low``, ``high`` and ``confidence`` are None and ``rank`` is 0;
    without values the estimate is None too.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float | None
    n: int
    rank: int = 0

    def side(self, bound: float) -> int:
        """Returns -1 if the whole interval is below the bound, +1 if it is above, otherwise 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > bound) - int(self.high < bound)


def median_interval(values: Values, confidence: float) -> Interval:
    """Returns the median of the launch values with an interval of at least ``confidence``, if n allows one.

    Definition: the tightest symmetric pair of order statistics (x_r, x_{n+1-r}) whose coverage ``1 - 2 P(Binomial(n,
    1/2) <= r - 1)`` is at least ``confidence``. If even (x_1, x_n) covers less (n < 6 at 0.95), it is the interval,
    with its own coverage.
    Assumptions: independent launches from one continuous distribution; ties only increase the coverage.
    Source: Thompson (1936), Ann. Math. Stat. 7; David & Nagaraja, Order Statistics (2003), section 7.1.

    ``values``: n finite numbers of one unit; ``confidence``: 0 to 1.
    """
    ordered = sorted(map(float, values))
    n = len(ordered)
    if n == 0:
        return Interval(None, None, None, None, 0)
    estimate = median(ordered)
    if n == 1:
        return Interval(estimate, None, None, None, 1)
    rank = interval_rank(n, confidence)
    low, high = ordered[rank - 1], ordered[n - rank]
    return Interval(estimate, low, high, 1.0 - tail_p(n, rank - 1), n, rank)


def interval_rank(n: int, confidence: float) -> int:
    """Returns the largest r from 1 to n // 2 for which (x_r, x_{n+1-r}) covers ``confidence``; 1 if none does."""
    allowed = (1.0 - confidence) * (1.0 + 1e-9)
    rank = 1
    while rank < n // 2 and tail_p(n, rank) <= allowed:
        rank += 1
    return rank
