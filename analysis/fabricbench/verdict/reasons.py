# SPDX-License-Identifier: Apache-2.0
"""Formats the reasons of verdicts."""

import math
from collections.abc import Iterable, Sequence

from fabricbench.site.requirements import Requirement
from fabricbench.stats.interval import Interval
from fabricbench.stats.spending import Schedule
from fabricbench.verdict.estimate import Estimate
from fabricbench.verdict.series import Series

_SHOWN = 5


def invalid(series: Sequence[Series]) -> str:
    """Returns why these series cannot be judged; empty if they can."""
    reasons = []
    for state, what in (
        ("refuted", "the lane's transport did not carry the bytes of"),
        ("unknown", "there is no evidence which transport carried the bytes of"),
    ):
        names = [launch for one in series for launch, launch_state in one.doubtful if launch_state == state]
        if names:
            reasons.append(f"{state}: {what} {listed(names)}")
    failed = [f"{launch} ({state})" for one in series for launch, state in one.failed]
    if failed:
        reasons.append(f"launches failed, or were lost without a repeat in their block: {listed(failed)}")
    return "; ".join(reasons)


def too_many_lost(losses: int, launches: int, share: float) -> str:
    """Returns why a cell with ``losses`` of ``launches`` lost is invalid; empty if it is not.

    ``launches`` includes the lost ones; ``share`` of it is rounded up to whole launches.
    """
    allowed = math.ceil(share * launches - 1e-9)
    if losses <= allowed:
        return ""
    total = _count(launches, "launch", "launches")
    return f"{losses} of {total} were lost; {allowed} are allowed (a share of {share:.3g}, rounded up)"


def unusable_profile(states: Iterable[str]) -> str:
    """Returns why profiles may not be judged, from the state of each; empty without any."""
    different = sorted(set(states))
    return f"the profile may not be used: {'; '.join(different)}" if different else ""


def undefined(blocks: Sequence[int]) -> str:
    """Returns the reason for a ratio that is not a number."""
    return f"the ratio is not a number, because its denominator is 0, in {_count(len(blocks), 'block')}"


def too_early(available: int, plan: Schedule) -> str:
    """Returns the reason before the first look."""
    look = plan.following(available)
    if look is None:
        return f"{_count(available, 'block')}: the campaign has no planned look"
    return f"{available} of {look.n} blocks, too few for the first look"


def decided(result: Estimate, item: Requirement, direction: int) -> str:
    """Returns the reason of a PASS (``direction`` above 0) or FAIL."""
    return f"{interval_words(result.interval, item)}: {'satisfies' if direction > 0 else 'violates'} '{item.bound}'"


def undecided(result: Estimate, item: Requirement, direction: int, q: float, tests: int, plan: Schedule) -> str:
    """Returns the reason of a cell with values and without a decision."""
    n = len(result.sample.values)
    if result.look is not None and result.look.critical < 0:
        least = math.ceil(math.log2(2.0 / plan.alpha))
        reason = f"{_count(n, 'block')} cannot decide: {1 - plan.alpha:.0%} confidence needs at least {least}"
    elif direction:
        side = f"{interval_words(result.interval, item)}, {'satisfies' if direction > 0 else 'violates'} the bound"
        together = f"among {_count(tests, 'cell')} tested together q = {q:.2g} is above {plan.alpha:g}"
        reason = f"{side}, but {together}"
    else:
        reason = f"{interval_words(result.interval, item)}, contains the bound ({item.bound})"
    if result.mde is not None and not direction:
        launches = _count(n, "launch", "launches")
        reason += f"; smallest change that {launches} would detect: {percent(result.mde)}"
    look = plan.following(n)
    return reason + (f"; the next look is at {look.n} blocks" if look else "")


def interval_words(interval: Interval, item: Requirement) -> str:
    """Returns median and interval with their unit."""
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
    """Returns a number with four significant digits, without an exponent from 0.0001 to ten million."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3e}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def percent(value: float) -> str:
    """Returns a relative effect as a percentage with two significant digits."""
    return f"{100 * value:.2g} %" if abs(value) < 1 else f"{100 * value:.0f} %"


def listed(names: Sequence[str]) -> str:
    """Returns names separated by commas: the first few, and the number of the others."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
