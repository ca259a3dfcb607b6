# SPDX-License-Identifier: Apache-2.0
"""What could have been seen: the dispersion between launches and the smallest effect it leaves visible."""

import math
from statistics import NormalDist

import numpy as np

from fabricbench.stats.binomial import chance_for
from fabricbench.stats.sign import Values

POWER = 0.8

_MAD_TO_SIGMA = 1.4826
_SMALL_N = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}


def log_sigma(values: Values) -> float | None:
    """Robust standard deviation of ln(values): the relative dispersion between launches, or of paired ratios.

    Definition: 1.4826 times the median absolute deviation of the logarithms, times a factor that removes its
    bias at small n; the plain standard deviation where more than half of the values are equal. None for fewer
    than two values or where one is not positive.
    Assumptions: near-normal logarithms around the middle; up to half of the values may be wild.
    Source: Croux & Rousseeuw (1992), Time-efficient algorithms for two highly robust estimators of scale,
    COMPSTAT, for the factors.
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
    """The smallest relative change that n launches show with probability ``power``; None where none can be.

    Definition: the sign test decides when at most ``critical`` launches lie on the other side. It does so
    with probability ``power`` when each launch lies on the right side with probability
    ``pi = BetaInv(power; n - critical, critical + 1)``; a normal logarithm of deviation ``sigma`` has that
    when its median is ``z(pi) sigma`` away from the bound. The result is ``exp(z(pi) sigma) - 1``.
    Assumptions: log-normal launches, independent, with the dispersion seen; the level of one look for one
    cell. Beside many undecided cells Benjamini-Hochberg asks for more: it is the least, not a promise.
    Source: Noether (1987), Sample size determination for some common nonparametric tests, JASA 82.

    ``sigma``: from ``log_sigma``, no unit; the result 0.02 stands for 2 %.
    """
    if critical < 0 or n < 1 or not math.isfinite(sigma):
        return None
    right_side = chance_for(n - critical, n, power)
    return math.expm1(NormalDist().inv_cdf(right_side) * sigma)
