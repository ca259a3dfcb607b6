# SPDX-License-Identifier: Apache-2.0
"""Looking more than once: how the error is spent over the planned looks.

A sign test at 5 % at each of 8, 15 and 30 launches would be wrong far more often than 5 %. Here one nominal
level holds at every look (Pocock 1977, Biometrika 64), as large as the exact error of the whole sequence
allows. The number of values above the bound is a walk of integers, so that error is summed, not approximated.
Unlike one boundary per spending function, a single level orders all outcomes of all looks: that ordering is
what makes a p-value over the looks, which Benjamini-Hochberg needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fabricbench.stats.binomial import chances
from fabricbench.stats.sign import tail_p

_SLACK = 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class Look:
    """One planned look at ``n`` launches.

    ``critical`` is the largest number of launches on the minority side with which this look decides, -1
    where it cannot; ``alpha`` the two-sided error of this look alone and ``confidence`` its complement, the
    coverage of its interval; ``spent`` the exact error of this look and all before it.
    """

    n: int
    critical: int
    alpha: float
    confidence: float
    spent: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """The looks of a campaign, ascending; their total error ``looks[-1].spent`` is at most ``alpha``."""

    looks: tuple[Look, ...]
    alpha: float

    def last(self, n: int) -> Look | None:
        """The last look that ``n`` launches complete, None before the first."""
        return max((look for look in self.looks if look.n <= n), key=lambda look: look.n, default=None)

    def following(self, n: int) -> Look | None:
        """The look that ``n`` launches have not completed yet, None after the last."""
        return min((look for look in self.looks if look.n > n), key=lambda look: look.n, default=None)

    def adjusted(self, p: float) -> float:
        """The p-value over all looks for a sign test's ``p`` at one of them; see ``overall_error``."""
        return overall_error(tuple(look.n for look in self.looks), p)

    def __str__(self) -> str:
        lines = [f"alpha {self.alpha:g} over {len(self.looks)} planned look(s)"]
        for look in self.looks:
            decides = f"{look.critical} or fewer on the other side" if look.critical >= 0 else "cannot decide"
            lines.append(
                f"  at {look.n:3d} launches: {decides}, nominal alpha {look.alpha:.4f}, "
                f"interval {look.confidence:.1%}, spent so far {look.spent:.4f}"
            )
        return "\n".join(lines)


def schedule(looks: Sequence[int], alpha: float) -> Schedule:
    """Critical counts at each look that keep the error of the whole sequence at or below ``alpha``.

    Definition: the largest nominal level a for which ``overall_error(looks, a) <= alpha``; look k decides
    when its two-sided sign test has p <= a. ``looks``: launch counts of at least 1; none gives no look.
    """
    return _schedule(tuple(sorted(set(looks))), alpha)


@lru_cache(maxsize=64)
def _schedule(ns: tuple[int, ...], alpha: float) -> Schedule:
    levels = sorted({tail_p(n, k) for n in ns for k in range(n // 2)})
    level = max((a for a in levels if overall_error(ns, a) <= alpha * _SLACK), default=0.0)
    critical = tuple(critical_count(n, level) for n in ns)
    nominal = [tail_p(n, k) for n, k in zip(ns, critical, strict=True)]
    spent = np.cumsum(_crossing(ns, critical))
    rows = zip(ns, critical, nominal, spent, strict=True)
    return Schedule(tuple(Look(n, k, a, 1.0 - a, float(s)) for n, k, a, s in rows), alpha)


@lru_cache(maxsize=4096)
def overall_error(ns: tuple[int, ...], level: float) -> float:
    """Probability that a lane exactly at the bound shows a sign test's p <= ``level`` at any look of ``ns``.

    It is the p-value over all looks of a p-value seen at one of them: valid at whichever look a campaign
    stops, since it is the exact distribution of the smallest p-value of all planned looks. With one look, and
    a level that its sign test can attain, it is the level itself.
    Assumption: independent launches, each above or below the bound with probability 1/2.
    Source: Armitage, McPherson & Rowe (1969), JRSS A 132, for the recursion.
    """
    if level >= 1.0:
        return 1.0
    return min(1.0, float(_crossing(ns, tuple(critical_count(n, level) for n in ns)).sum()))


def critical_count(n: int, level: float) -> int:
    """The largest k below n / 2 whose two-sided tail is at most ``level``, -1 where none is."""
    return max((k for k in range((n + 1) // 2) if tail_p(n, k) <= level * _SLACK), default=-1)


def _crossing(ns: tuple[int, ...], critical: tuple[int, ...]) -> NDArray[np.float64]:
    """Probability (one per look) of deciding first at that look, for a fair walk."""
    walk, before, crossed = np.ones(1), 0, []
    for n, k in zip(ns, critical, strict=True):
        walk = np.convolve(walk, chances(n - before))
        above = np.arange(n + 1)
        out = np.minimum(above, n - above) <= k
        crossed.append(float(walk[out].sum()))
        walk, before = np.where(out, 0.0, walk), n
    return np.asarray(crossed)
