# SPDX-License-Identifier: Apache-2.0
"""The interval of a median by order statistics: nothing is assumed about the distribution."""

from dataclasses import dataclass

from fabricbench.stats.median import median
from fabricbench.stats.sign import Values, tail_p


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and its interval, in the unit of the values.

    ``confidence`` is the coverage of this very interval, 0 to 1; ``rank`` counts from 1 and names the order
    statistics (rank, n + 1 - rank). With fewer than two values ``low``, ``high`` and ``confidence`` are None
    and ``rank`` is 0; with none the estimate is None too.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float | None
    n: int
    rank: int = 0

    def side(self, bound: float) -> int:
        """-1 where the interval lies wholly below the bound, +1 wholly above, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > bound) - int(self.high < bound)


def median_interval(values: Values, confidence: float) -> Interval:
    """Median of the launch values with an interval of at least ``confidence``, where n allows one.

    Definition: the tightest symmetric pair of order statistics (x_r, x_{n+1-r}) whose coverage
    ``1 - 2 P(Binomial(n, 1/2) <= r - 1)`` is at least ``confidence``. Where even (x_1, x_n) covers less
    (n < 6 at 0.95) it is given all the same, with its own coverage.
    Assumptions: independent launches of one continuous distribution; ties only widen the coverage.
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
    """The largest r from 1 to n // 2 for which (x_r, x_{n+1-r}) covers ``confidence``; 1 where none does."""
    allowed = (1.0 - confidence) * (1.0 + 1e-9)
    rank = 1
    while rank < n // 2 and tail_p(n, rank) <= allowed:
        rank += 1
    return rank
