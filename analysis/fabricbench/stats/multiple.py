# SPDX-License-Identifier: Apache-2.0
"""Many cells judged together: the false discovery rate."""

from collections.abc import Sequence

import numpy as np


def q_values(p_values: Sequence[float]) -> tuple[float, ...]:
    """Benjamini-Hochberg q-values, in the order of the p-values.

    Definition: with p sorted ascending, ``q_(i) = min over j >= i of m p_(j) / j``, at most 1. Acting on
    every cell with q <= alpha keeps the expected share of false ones among them at or below alpha.
    Assumptions: p-values independent or positively dependent (PRDS), as sizes of one curve are. With
    two-sided p-values and the sign of the estimate as the claim, the directional rate is controlled too, at
    half the level where only a claim in the wrong direction is an error: verdicts use one-sided p-values.
    Source: Benjamini & Hochberg (1995), JRSS B 57; direction: Benjamini & Yekutieli (2005), JASA 100.

    ``p_values``: m numbers from 0 to 1. Equal p-values give equal q-values; a smaller p never a larger q.
    """
    p = np.asarray(p_values, dtype=float)
    m = p.size
    if m == 0:
        return ()
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return tuple(float(value) for value in q)
