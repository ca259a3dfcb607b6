# SPDX-License-Identifier: Apache-2.0
"""How the run time of an application depends on a delay that is injected into its messages."""

from collections.abc import Mapping, Sequence
from statistics import fmean

CONSTANT = 0.10
"""The largest change of a constant slope between the lower and the upper levels, relative to the lower one."""


def slope(times: Mapping[float, float]) -> float | None:
    """Returns the slope of run time over delay by least squares; None with fewer than two delays.

    Definition: sum((x - mean x)(t - mean t)) / sum((x - mean x)^2). With times in seconds and delays in seconds per
    message it is the number of messages on the critical path; with delays in seconds per byte the number of bytes.
    Assumptions: the critical path is the same at all delays; the errors of the times are independent of the delay.
    Source: LLAMP (Shen et al. 2024), lambda_L = dT/dL and lambda_G = dT/dG; injected delays as in Martin et al. 1997.

    ``times``: the run time by delay.
    """
    if len(times) < 2:
        return None
    mean_delay, mean_time = fmean(times), fmean(times.values())
    spread = sum((delay - mean_delay) ** 2 for delay in times)
    return sum((delay - mean_delay) * (time - mean_time) for delay, time in times.items()) / spread


def halves(delays: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Returns the lower and the upper delays, which share the one in the middle; None with fewer than three."""
    ordered = sorted(set(delays))
    if len(ordered) < 3:
        return None
    middle = len(ordered) // 2
    return tuple(ordered[: middle + 1]), tuple(ordered[middle:])


def within(times: Mapping[float, float], delays: Sequence[float]) -> dict[float, float]:
    """Returns the run times at the given delays."""
    return {delay: times[delay] for delay in delays if delay in times}


def time_without(time: float, slope_per_delay: float, delay: float) -> float:
    """Returns the run time if a delay that is part of ``time`` were zero: T - slope * delay.

    Assumptions: the slope also holds below the delays that were injected. Where less delay moves the critical path to
    computation the slope falls, so the result is a lower bound of the run time.
    """
    return time - slope_per_delay * delay
