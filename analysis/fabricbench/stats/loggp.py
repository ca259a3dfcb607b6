# SPDX-License-Identifier: Apache-2.0
"""Computes LogGP's L, o, g and G from the measured parameters of P-LogP, with one line for each protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CURVES = ("round_trip", "send_overhead", "receive_overhead", "gap")
"""The metrics of P-LogP, in the order of the arguments of ``loggp``."""

LEAST_POINTS = 3
"""The least number of sizes for a line; two points fit any line."""

MOST_SEGMENTS = 4

FLOOR = 1e-4
"""A fit with a smaller relative error counts as exact. Without this floor, noise-free data would be divided into ever
more lines.
"""

Curve = Mapping[int, float]
"""Microseconds by message size in bytes."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A line g(m) = ``gap_us`` + ``ns_per_byte`` m / 1000 over the sizes ``first`` to ``last``, in bytes."""

    first: int
    last: int
    gap_us: float
    ns_per_byte: float


@dataclass(frozen=True, slots=True)
class LogGP:
    """The parameters for messages of ``size`` bytes, the smallest measured size.

    ``latency_us``: L. ``send_overhead_us``, ``receive_overhead_us``: o of the sender and of the receiver. ``gap_us``:
    g. ``segments``: G for each protocol, small messages first. ``plogp_latency_us``: L in the definition of P-LogP.
    """

    size: int
    latency_us: float
    plogp_latency_us: float
    send_overhead_us: float
    receive_overhead_us: float
    gap_us: float
    segments: tuple[Segment, ...]


def loggp(round_trip: Curve, send_overhead: Curve, receive_overhead: Curve, gap: Curve) -> LogGP | None:
    """Returns the parameters from the curves of one launch, or from medians over launches; None without a common size.

    Definition: at the smallest common size m, L = RTT(m) / 2 - o_s(m) - o_r(m) (Culler et al. 1996), where RTT is m
    bytes in one direction and 0 bytes back. In P-LogP, L = RTT(m) / 2 - g(m) (Kielmann, Bal, Verstoep 2000, with m =
    0). G: slopes of the lines through the gaps (``segments``).

    All curves: microseconds by message size in bytes.
    """
    common = sorted(round_trip.keys() & send_overhead.keys() & receive_overhead.keys() & gap.keys())
    if not common:
        return None
    size = common[0]
    half = round_trip[size] / 2
    return LogGP(
        size=size,
        latency_us=half - send_overhead[size] - receive_overhead[size],
        plogp_latency_us=half - gap[size],
        send_overhead_us=send_overhead[size],
        receive_overhead_us=receive_overhead[size],
        gap_us=gap[size],
        segments=segments(gap),
    )


def segments(gap: Curve) -> tuple[Segment, ...]:
    """Returns the lines that fit a curve best, at most ``MOST_SEGMENTS``.

    Definition: least squares of relative residuals on each run of at least ``LEAST_POINTS`` sizes, with slopes of at
    least 0; the number of lines and their ends minimise the Bayesian information criterion.
    Assumptions: errors are relative, of the same size at all message sizes, and independent of each other.
    """
    sizes = np.array(sorted(size for size, value in gap.items() if value > 0), dtype=float)
    values = np.array([gap[int(size)] for size in sizes])
    count = len(sizes)
    if count < LEAST_POINTS:
        return ()
    error = {
        (i, j): _line(sizes[i:j], values[i:j])[2] for i in range(count) for j in range(i + LEAST_POINTS, count + 1)
    }
    best: dict[int, tuple[float, tuple[int, ...]]] = {1: (error[0, count], (0, count))}
    partial: dict[int, tuple[float, tuple[int, ...]]] = {
        j: (error[0, j], (0, j)) for j in range(LEAST_POINTS, count + 1)
    }
    for lines in range(2, MOST_SEGMENTS + 1):
        partial = {
            j: min((partial[i][0] + error[i, j], (*partial[i][1], j)) for i in partial if (i, j) in error)
            for j in range(lines * LEAST_POINTS, count + 1)
        }
        if count in partial:
            best[lines] = partial[count]
    number = min(best, key=lambda lines: _criterion(best[lines][0], lines, count))
    ends = best[number][1]
    return tuple(_segment(sizes[i:j], values[i:j]) for i, j in pairwise(ends))


def line(gap: Curve) -> Segment | None:
    """Returns the single line through a whole curve, fitted as in ``segments``; None with fewer than two sizes."""
    sizes = np.array(sorted(size for size, value in gap.items() if value > 0), dtype=float)
    return _segment(sizes, np.array([gap[int(size)] for size in sizes])) if len(sizes) > 1 else None


def _criterion(squares: float, lines: int, count: int) -> float:
    """Returns the Bayesian information criterion of a fit with ``lines`` lines to ``count`` points.

    Each line has an intercept, a slope and an end. The end counts twice, because it results from a search.
    """
    return count * float(np.log(squares / count + FLOOR**2)) + (4 * lines - 2) * float(np.log(count))


def _line(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Returns intercept, slope, and the sum of squares of relative residuals."""
    weights = 1 / values
    design = np.column_stack([weights, weights * sizes])
    intercept, slope = np.linalg.lstsq(design, np.ones(len(sizes)), rcond=None)[0]
    if slope < 0:
        slope, intercept = 0.0, np.sum(weights) / np.sum(weights**2)
    residuals = (intercept + slope * sizes) * weights - 1
    return float(intercept), float(slope), float(residuals @ residuals)


def _segment(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> Segment:
    intercept, slope, _ = _line(sizes, values)
    return Segment(int(sizes[0]), int(sizes[-1]), intercept, 1000 * slope)
