# SPDX-License-Identifier: Apache-2.0
"""The reasons of verdicts in plain words."""

import math
from collections.abc import Sequence

from fabricbench.site.requirements import Requirement
from fabricbench.stats.interval import Interval
from fabricbench.stats.spending import Schedule
from fabricbench.verdict.estimate import Estimate
from fabricbench.verdict.series import Series

_SHOWN = 5


def invalid(series: Sequence[Series]) -> str:
    """Why nothing can be said from these series, empty where all is well."""
    reasons = []
    for state, what in (
        ("refuted", "the lane's transport did not carry the bytes of"),
        ("unknown", "no evidence which transport carried the bytes of"),
    ):
        names = [launch for one in series for launch, found in one.doubtful if found == state]
        if names:
            reasons.append(f"{state}: {what} {listed(names)}")
    failed = [f"{launch} ({state})" for one in series for launch, state in one.failed]
    if failed:
        reasons.append(f"launches that failed, or were lost without a repeat in their block: {listed(failed)}")
    return "; ".join(reasons)


def too_many_lost(lost: int, launches: int, share: float) -> str:
    """Why so many lost launches make a cell invalid, empty where they do not; a share of ``launches``, which include
    the lost ones, is rounded up to whole launches."""
    allowed = math.ceil(share * launches - 1e-9)
    if lost <= allowed:
        return ""
    tried = _count(launches, "launch", "launches")
    return f"{lost} of {tried} were lost; {allowed} are allowed (a share of {share:.3g}, rounded up)"


def undefined(blocks: Sequence[int]) -> str:
    """The reason for a ratio that is no number."""
    return f"the ratio is no number, its denominator is 0, in {_count(len(blocks), 'block')}"


def too_early(available: int, plan: Schedule) -> str:
    """The reason before the first look."""
    look = plan.following(available)
    if look is None:
        return f"{_count(available, 'block')}: the campaign planned no look at its data"
    return f"{available} of {look.n} blocks: nothing is judged before"


def decided(shown: Estimate, item: Requirement, kept: int) -> str:
    """The reason of a PASS (``kept`` above 0) or FAIL."""
    return f"{interval_words(shown.interval, item)}: {'keeps' if kept > 0 else 'breaks'} '{item.bound}'"


def undecided(shown: Estimate, item: Requirement, kept: int, q: float, judged: int, plan: Schedule) -> str:
    """The reason where values are there and still nothing is claimed."""
    n = len(shown.sample.values)
    if shown.look is not None and shown.look.critical < 0:
        least = math.ceil(math.log2(2.0 / plan.alpha))
        reason = f"{_count(n, 'block')} cannot decide: {1 - plan.alpha:.0%} confidence takes at least {least}"
    elif kept:
        side = f"{interval_words(shown.interval, item)}, speaks {'in favour' if kept > 0 else 'against'}"
        together = f"among {_count(judged, 'cell')} judged together q = {q:.2g} is above {plan.alpha:g}"
        reason = f"{side}, but {together}"
    else:
        reason = f"{interval_words(shown.interval, item)}, holds the bound ({item.bound})"
    if shown.mde is not None and not kept:
        launches = _count(n, "launch", "launches")
        reason += f"; smallest change that {launches} would have shown: {percent(shown.mde)}"
    look = plan.following(n)
    return reason + (f"; the next look is at {look.n} blocks" if look else "")


def interval_words(interval: Interval, item: Requirement) -> str:
    """Median and interval with their unit."""
    unit = "" if item.relative else f" {item.unit}"
    what = "median ratio" if item.relative else "median"
    if interval.estimate is None:
        return "no value"
    text = f"{what} {number(interval.estimate)}{unit}"
    if interval.low is None or interval.high is None or interval.confidence is None:
        return text
    ends = f"{number(interval.low)} to {number(interval.high)}"
    return f"{text}, interval {ends} ({interval.confidence:.1%} of {interval.n})"


def number(value: float) -> str:
    """Four significant digits, without an exponent from 0.0001 to ten million."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3e}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def percent(value: float) -> str:
    """A relative effect as a percentage with two significant digits."""
    return f"{100 * value:.2g} %" if abs(value) < 1 else f"{100 * value:.0f} %"


def listed(names: Sequence[str]) -> str:
    """Names joined, the first few in full and the number of the rest."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
