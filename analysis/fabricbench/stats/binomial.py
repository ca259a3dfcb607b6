# SPDX-License-Identifier: Apache-2.0
"""The binomial distribution of numbers of blocks.

``scipy.stats`` has it too, but its import takes longer than the rest of ``fabricbench judge``.
"""

import math
from functools import lru_cache


@lru_cache(maxsize=65536)
def at_most(k: int, n: int) -> float:
    """P(Binomial(n, 1/2) <= k), from integers and rounded once; 0.0 for k < 0 and 1.0 for k >= n."""
    if k >= n:
        return 1.0
    return sum(math.comb(n, i) for i in range(k + 1)) / (1 << n)


def chances(n: int) -> list[float]:
    """P(Binomial(n, 1/2) = i) for i from 0 to n."""
    return [math.comb(n, i) / (1 << n) for i in range(n + 1)]


@lru_cache(maxsize=4096)
def chance_for(least: int, n: int, power: float) -> float:
    """The chance p of a single success for which P(Binomial(n, p) >= least) is ``power``, for 1 <= least <= n.

    It is the quantile ``power`` of the beta distribution with parameters ``least`` and ``n - least + 1``, found by
    bisection to the precision of a float.
    """
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _at_least(least, n, middle) < power:
            low = middle
        else:
            high = middle
    return high


def _at_least(least: int, n: int, p: float) -> float:
    """P(Binomial(n, p) >= least) for 0 < p < 1."""
    hit, miss = math.log(p), math.log1p(-p)
    whole = math.lgamma(n + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * hit + (n - i) * miss)
        for i in range(least, n + 1)
    )
