# SPDX-License-Identifier: Apache-2.0
"""Predicts the time of a profiled run on another network, and the error of such predictions."""

from collections.abc import Sequence

from fabricbench.models.attribution import attribute_run
from fabricbench.models.curves import Curves
from fabricbench.parsers.tau.operations import RankOperations


def predicted_seconds(ranks: Sequence[RankOperations], own: Curves, other: Curves) -> float:
    """Returns the predicted time of the run with the curves of another lane, the mean over ranks in seconds.

    Definition: T + Lat' + Bw' - Lat - Bw, with Lat and Bw of the lane's ``own`` curves, Lat' and Bw' of
    the ``other`` curves.
    Assumptions: computation, waiting and rest are those of the measured lane; the ranks enter each operation with the
    same head starts.
    Source: table convolution (Snavely et al. 2002, SC'02).
    """
    here, there = attribute_run(ranks, own).mean, attribute_run(ranks, other).mean
    return here.total - here.latency - here.bandwidth + there.latency + there.bandwidth


def prediction_error(predicted: float, measured: float) -> float | None:
    """Returns predicted over measured time, minus 1; None without a measured time."""
    return predicted / measured - 1 if measured > 0 else None
