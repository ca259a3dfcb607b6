# SPDX-License-Identifier: Apache-2.0
"""Computes from a cell's values the numbers that a verdict needs: interval, p-values, smallest detectable effect."""

from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.site.requirements import Bounds
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.paired import finite_ratio
from fabricbench.stats.power import log_sigma, minimum_detectable_effect
from fabricbench.stats.sign import sign_p
from fabricbench.stats.spending import Look, Schedule
from fabricbench.verdict.series import Series


@dataclass(frozen=True, slots=True)
class Sample:
    """The values that are judged, one per block in the order of ``blocks``: launch values, or paired ratios.

    ``undefined``: blocks whose ratio is not a number.
    """

    blocks: tuple[int, ...]
    values: tuple[float, ...]
    undefined: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate at the last completed look; ``look`` and ``p`` are None before the first.

    ``sample``: the values used. ``available``: the number of all values. ``sign``: two-sided p-value of the sign test
    at this look alone. ``p``: one-sided p-value over all planned looks. A verdict claims a direction, and a median
    exactly at the bound satisfies it, so only a claim in the wrong direction is an error; by symmetry ``p`` is half of
    the two-sided value (Benjamini & Yekutieli 2005, JASA 100, on directional errors).
    """

    sample: Sample
    available: int
    look: Look | None
    interval: Interval
    sign: float | None
    p: float | None
    mde: float | None


def sample(measured: Series, reference: Series | None) -> Sample:
    """Returns one value per block: its median, divided by the reference's median if there is a reference."""
    values = measured.medians()
    if reference is None:
        return Sample(tuple(values), tuple(values.values()))
    others = reference.medians()
    pairs = {block: finite_ratio(values[block], others[block]) for block in values if block in others}
    defined = {block: ratio for block, ratio in pairs.items() if ratio is not None}
    undefined = tuple(block for block, ratio in pairs.items() if ratio is None)
    return Sample(tuple(defined), tuple(defined.values()), undefined)


def estimate(available: Sample, bounds: Bounds, plan: Schedule) -> Estimate:
    """Returns the estimate at the last completed look, from the blocks of that look only.

    Later blocks are used at the next look. A campaign that was tested after each block would exceed its error rate.
    """
    look = plan.last(len(available.values))
    if look is None:
        interval = median_interval(available.values, 1.0 - plan.alpha)
        return Estimate(available, len(available.values), None, interval, None, None, None)
    used = Sample(available.blocks[: look.n], available.values[: look.n], available.undefined)
    interval = median_interval(used.values, look.confidence)
    sign = bound_p(used.values, interval, bounds)
    sigma = log_sigma(used.values)
    mde = None if sigma is None else minimum_detectable_effect(look.n, look.critical, sigma)
    return Estimate(used, len(available.values), look, interval, sign, plan.adjusted(sign) / 2, mde)


def bound_p(values: Sequence[float], interval: Interval, bounds: Bounds) -> float:
    """Returns the two-sided sign-test p-value for the side of the bounds on which the median is.

    With one bound it is ``sign_p``. With two bounds, a median between them must differ from both (the larger p-value:
    the intersection-union test, Berger & Hsu 1996, Statistical Science 11); a median outside must differ from the bound
    that it violates.
    """
    lower, upper = bounds
    middle = interval.estimate
    if middle is None:
        return 1.0
    if lower is not None and (upper is None or middle < lower):
        return sign_p(values, lower)
    if upper is not None and (lower is None or middle > upper):
        return sign_p(values, upper)
    return max(sign_p(values, end) for end in bounds if end is not None)


def side(interval: Interval, bounds: Bounds) -> int:
    """Returns +1 if the whole interval satisfies the bounds, -1 if the whole interval violates one, otherwise 0."""
    lower, upper = bounds
    sides = [interval.side(lower)] if lower is not None else []
    sides += [-interval.side(upper)] if upper is not None else []
    return min(sides)
