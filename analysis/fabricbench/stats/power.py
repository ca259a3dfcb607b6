# SPDX-License-Identifier: Apache-2.0
"""Computes the dispersion between launches, and the smallest effect that a number of launches can detect."""

import math
from statistics import NormalDist

import numpy as np

from fabricbench.stats.binomial import chance_for
from fabricbench.stats.sign import Values

POWER = 0.8

_MAD_TO_SIGMA = 1.4826
_SMALL_N = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}


def log_sigma(values: Values) -> float | None:
    """Returns the robust standard deviation of ln(values), which is the relative dispersion of launches or ratios.

    Definition: 1.4826 times the median absolute deviation of the logarithms, times a factor that corrects its bias at
    small n; the standard deviation if more than half of the values are equal. None for fewer than two values, or if a
    value is not positive.
    Assumptions: logarithms are nearly normal around the middle; up to half of the values may be outliers.
    Source: Croux & Rousseeuw (1992), Time-efficient algorithms for two highly robust estimators of scale, COMPSTAT, for
    the factors.

    ``values``: shape (n), of one unit. The result has no unit; 0.02 stands for 2 %.
    """
    array = np.asarray(values, dtype=float)
    if array.size < 2 or not (np.isfinite(array) & (array > 0)).all():
        return None
    logs = np.log(array)
    n = int(array.size)
    mad = float(np.median(np.abs(logs - np.median(logs))))
    if mad == 0.0:
        return float(np.std(logs, ddof=1))
    return _SMALL_N.get(n, n / (n - 0.8)) * _MAD_TO_SIGMA * mad


def minimum_detectable_effect(n: int, critical: int, sigma: float, power: float = POWER) -> float | None:
    """Returns the smallest relative change that n launches detect with probability ``power``.

    None if no change is detectable.

    Definition: the sign test decides if at most ``critical`` launches are on the other side of the bound. It does so
    with probability ``power`` if each launch is on the right side with probability ``pi = BetaInv(power; n - critical,
    critical + 1)``. A normal logarithm with standard deviation ``sigma`` has this probability if its median is ``z(pi)
    sigma`` away from the bound. The result is ``exp(z(pi) sigma) - 1``.
    Assumptions: independent log-normal launches with the observed dispersion; the level of one look and one cell. Among
    many undecided cells Benjamini-Hochberg needs a larger effect, so the result is a lower limit.
    Source: Noether (1987), Sample size determination for some common nonparametric tests, JASA 82.

    ``sigma``: from ``log_sigma``, without a unit; a result of 0.02 stands for 2 %.
    """
    if critical < 0 or n < 1 or not math.isfinite(sigma):
        return None
    right_side = chance_for(n - critical, n, power)
    return math.expm1(NormalDist().inv_cdf(right_side) * sigma)
