# SPDX-License-Identifier: Apache-2.0
"""The metrics of different tools that have the same estimator of the same quantity. Only these may be compared."""

from functools import cache
from typing import NamedTuple

from fabricbench.parsers.quantities import Mean, Quantity
from fabricbench.parsers.registry import means
from fabricbench.parsers.tools.micro.description import TOOL
from fabricbench.verdict.series import CellKey

_IN_MPI: tuple[Quantity, ...] = ("half_round_trip", "windows_one_way", "windows_both_ways")


class Alike(NamedTuple):
    """The metric of a benchmark of the project and that of a public one for the same quantity."""

    own: Mean
    other: Mean


@cache
def like_against_like() -> tuple[Alike, ...]:
    """Returns the only metrics that may be compared across tools of one lane.

    All are means over the launch's iterations. The project's own ``latency`` is a median, which IMB and OSU do not
    report; its ``bandwidth`` comes from that median, IMB's from its mean.
    """
    return tuple(
        Alike(own, other)
        for quantity in _IN_MPI
        for own in means(quantity)
        for other in means(quantity)
        if own.tool == TOOL and other.tool != TOOL
    )


def mpi_mean() -> Mean:
    """Returns the project's own half round trip in MPI, the only metric that may be compared with those below MPI."""
    return next(one for one in means("half_round_trip") if one.tool == TOOL)


def user_means() -> tuple[Mean, ...]:
    """Returns the half round trips below MPI, the only metrics that may be compared with one in MPI."""
    return means("half_round_trip_below_mpi")


def metric_of(key: CellKey) -> Mean:
    """Returns tool, benchmark and metric of a cell."""
    return Mean(key.tool, key.benchmark, key.metric)
