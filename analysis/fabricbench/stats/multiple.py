# SPDX-License-Identifier: Apache-2.0
"""Adjusts the p-values of many cells for the false discovery rate."""

from collections.abc import Sequence


def q_values(p_values: Sequence[float]) -> tuple[float, ...]:
    """Returns the Benjamini-Hochberg q-values of ``p_values``, in the same order.

    Definition: with the p-values in ascending order, ``q_(i) = min over j >= i of m p_(j) / j``, at most 1. If all
    cells with q <= alpha are claimed, the expected share of false claims among them is at most alpha.
    Assumptions: the p-values are independent or positively dependent (PRDS), as those of the sizes of one curve are.
    With two-sided p-values and the sign of the estimate as the claim, the directional false discovery rate is
    controlled too. Verdicts use one-sided p-values.
    Source: Benjamini & Hochberg (1995), JRSS B 57; direction: Benjamini & Yekutieli (2005), JASA 100.

    ``p_values``: shape (m), from 0 to 1. Equal p-values have equal q-values; a smaller p never has a larger q.
    """
    if len(p_values) < 2:
        return tuple(float(p) for p in p_values)
    from scipy.stats import false_discovery_control  # importing scipy.stats takes a second

    return tuple(float(q) for q in false_discovery_control(p_values, method="bh"))
