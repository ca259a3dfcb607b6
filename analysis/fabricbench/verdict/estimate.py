# SPDX-License-Identifier: Apache-2.0
"""From a cell's values to what a verdict needs: an interval, p-values and the smallest visible effect."""

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
    """The values that are judged, one per block, in the order of ``blocks``: launch values, or paired ratios.

    ``undefined``: blocks whose ratio is no number.
    """

    blocks: tuple[int, ...]
    values: tuple[float, ...]
    undefined: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the last completed look shows; ``look`` and ``p`` are None before the first.

    ``sample`` holds the values used, ``available`` counts all there are. ``sign`` is the sign test's two-sided
    p-value at this look alone. ``p`` is over all planned looks and one-sided: a verdict claims a direction, a
    median exactly at the bound keeps it, so only a claim in the wrong direction is an error. By symmetry that is
    half of the two-sided one (Benjamini & Yekutieli 2005, JASA 100, on directional errors).
    """

    sample: Sample
    available: int
    look: Look | None
    interval: Interval
    sign: float | None
    p: float | None
    mde: float | None


def sample(measured: Series, reference: Series | None) -> Sample:
    """One value per block: the median of the block's values, divided by the reference's of the same block."""
    values = measured.medians()
    if reference is None:
        return Sample(tuple(values), tuple(values.values()))
    others = reference.medians()
    pairs = {block: finite_ratio(values[block], others[block]) for block in values if block in others}
    defined = {block: ratio for block, ratio in pairs.items() if ratio is not None}
    undefined = tuple(block for block, ratio in pairs.items() if ratio is None)
    return Sample(tuple(defined), tuple(defined.values()), undefined)


def estimate(found: Sample, bounds: Bounds, plan: Schedule) -> Estimate:
    """The estimate at the last completed look, from that look's blocks alone.

    Blocks beyond it wait for the next look: a campaign that judged after each block would, sooner or later,
    see what it hopes for.
    """
    look = plan.last(len(found.values))
    if look is None:
        interval = median_interval(found.values, 1.0 - plan.alpha)
        return Estimate(found, len(found.values), None, interval, None, None, None)
    used = Sample(found.blocks[: look.n], found.values[: look.n], found.undefined)
    interval = median_interval(used.values, look.confidence)
    sign = bound_p(used.values, interval, bounds)
    sigma = log_sigma(used.values)
    mde = None if sigma is None else minimum_detectable_effect(look.n, look.critical, sigma)
    return Estimate(used, len(found.values), look, interval, sign, plan.adjusted(sign) / 2, mde)


def bound_p(values: Sequence[float], interval: Interval, bounds: Bounds) -> float:
    """Two-sided sign-test p-value for the side on which the median lies.

    Against one bound it is ``sign_p``. Against two, a median between them must be shown to differ from both
    (the larger p-value: the intersection-union test, Berger & Hsu 1996, Statistical Science 11); a median
    outside must be shown to differ from the bound that it passed.
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
    """+1 where the whole interval keeps the bounds, -1 where the whole of it breaks one, else 0."""
    lower, upper = bounds
    sides = [interval.side(lower)] if lower is not None else []
    sides += [-interval.side(upper)] if upper is not None else []
    return min(sides)
