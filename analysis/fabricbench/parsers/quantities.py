# SPDX-License-Identifier: Apache-2.0
"""Quantities that several tools measure, each as a mean over the iterations of a launch.

A parser declares in ``MEANS`` by which benchmark and metric its tool measures them. Values of other metrics are not
comparable across tools: their estimators differ.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Quantity = Literal["half_round_trip", "half_round_trip_below_mpi", "windows_one_way", "windows_both_ways"]
"""``half_round_trip``: of a blocking ping-pong between two MPI ranks; ``half_round_trip_below_mpi``: of a library below
MPI. ``windows_one_way`` and ``windows_both_ways``: bandwidth of windows of non-blocking messages.
"""

Means = Mapping[Quantity, tuple[str, str]]
"""The benchmark and the metric of each quantity that a tool measures."""


class Mean(NamedTuple):
    """A metric of one benchmark of one tool."""

    tool: str
    benchmark: str
    metric: str
