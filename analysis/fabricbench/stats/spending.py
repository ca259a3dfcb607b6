# SPDX-License-Identifier: Apache-2.0
"""Controls the error of a campaign that is tested after several planned numbers of blocks.

A sign test at 5 % after each of 8, 15 and 30 launches would be wrong far more often than in 5 % of campaigns. Here one
nominal level applies at every look (Pocock 1977, Biometrika 64), as large as the exact error of the whole sequence
allows. The number of values above the bound is a random walk on integers, so that error is a finite sum and no
approximation. A single level orders all outcomes of all looks, which a boundary for each look does not. This order
defines a p-value over the looks, which Benjamini-Hochberg needs.
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
    """One planned interim analysis after ``n`` launches.

    ``critical``: the largest number of launches on the minority side with which this look decides; -1 if it cannot
    decide. ``alpha``: the two-sided error of this look alone. ``confidence``: 1 - ``alpha``, the coverage of its
    interval. ``spent``: the exact error of this look and all earlier ones.
    """

    n: int
    critical: int
    alpha: float
    confidence: float
    spent: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """The looks of a campaign in ascending order; their total error ``looks[-1].spent`` is at most ``alpha``."""

    looks: tuple[Look, ...]
    alpha: float

    def last(self, n: int) -> Look | None:
        """Returns the last look that ``n`` launches complete; None before the first."""
        return max((look for look in self.looks if look.n <= n), key=lambda look: look.n, default=None)

    def following(self, n: int) -> Look | None:
        """Returns the first look that ``n`` launches do not complete; None after the last."""
        return min((look for look in self.looks if look.n > n), key=lambda look: look.n, default=None)

    def adjusted(self, p: float) -> float:
        """Returns the p-value over all looks for the p-value of a sign test at one of them; see ``overall_error``."""
        return overall_error(tuple(look.n for look in self.looks), p)

    def __str__(self) -> str:
        lines = [f"alpha {self.alpha:g} over {len(self.looks)} planned look(s)"]
        for look in self.looks:
            decides = f"{look.critical} or fewer on the other side" if look.critical >= 0 else "cannot decide"
            lines.append(
                f"  at {look.n:3d} launches: {decides}, nominal alpha {look.alpha:.4f}, "
                f"interval {look.confidence:.1%}, error so far {look.spent:.4f}"
            )
        return "\n".join(lines)


def schedule(looks: Sequence[int], alpha: float) -> Schedule:
    """Returns critical counts for each look that keep the error of the whole sequence at or below ``alpha``.

    Definition: the largest nominal level a with ``overall_error(looks, a) <= alpha``. A look decides if its two-sided
    sign test has p <= a.

    ``looks``: numbers of launches, each at least 1; an empty sequence gives no look.
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
    """Returns the probability that a lane exactly at the bound has a sign test with p <= ``level`` at any look.

    It is also the p-value over all looks that belongs to the p-value ``level`` at one of them. It is valid at whichever
    look a campaign stops, because it is the exact distribution of the smallest p-value of all planned looks. With one
    look, and a level that its sign test can attain, it equals the level.
    Assumption: independent launches, each above or below the bound with probability 1/2.
    Source: Armitage, McPherson & Rowe (1969), JRSS A 132, for the recursion.

    ``ns``: numbers of launches at the looks.
    """
    if level >= 1.0:
        return 1.0
    return min(1.0, float(_crossing(ns, tuple(critical_count(n, level) for n in ns)).sum()))


def critical_count(n: int, level: float) -> int:
    """Returns the largest k below n / 2 whose two-sided tail is at most ``level``; -1 if there is none."""
    return max((k for k in range((n + 1) // 2) if tail_p(n, k) <= level * _SLACK), default=-1)


def _crossing(ns: tuple[int, ...], critical: tuple[int, ...]) -> NDArray[np.float64]:
    """Returns for each look the probability that a fair walk decides first at that look, shape (looks)."""
    walk, before, crossed = np.ones(1), 0, []
    for n, k in zip(ns, critical, strict=True):
        walk = np.convolve(walk, chances(n - before))
        above = np.arange(n + 1)
        out = np.minimum(above, n - above) <= k
        crossed.append(float(walk[out].sum()))
        walk, before = np.where(out, 0.0, walk), n
    return np.asarray(crossed)
