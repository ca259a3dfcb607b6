# SPDX-License-Identifier: Apache-2.0
"""The metrics of different tools that have the same estimator of the same quantity. Only these may be compared."""

from typing import NamedTuple

from fabricbench.verdict.series import CellKey


class Quantity(NamedTuple):
    """A metric of one benchmark of one tool."""

    tool: str
    benchmark: str
    metric: str


class Alike(NamedTuple):
    """Metrics of an own benchmark and of a public one with the same estimator of the same quantity."""

    own: Quantity
    other: Quantity


LIKE_AGAINST_LIKE = (
    # All are means over the launch's iterations. The own `latency` is a median, which IMB and OSU do not report;
    # the own `bandwidth` comes from that median, IMB's from its mean.
    Alike(Quantity("micro", "pingpong", "latency_mean"), Quantity("imb", "pingpong", "latency")),
    Alike(Quantity("micro", "pingpong", "latency_mean"), Quantity("imb_p2p", "pingpong", "latency")),
    Alike(Quantity("micro", "pingpong", "latency_mean"), Quantity("osu", "pingpong", "latency")),
    # These are means over windows.
    Alike(Quantity("micro", "unidirectional", "bandwidth_mean"), Quantity("imb", "uniband", "bandwidth")),
    Alike(Quantity("micro", "unidirectional", "bandwidth_mean"), Quantity("osu", "unidirectional", "bandwidth")),
    Alike(Quantity("micro", "bidirectional", "bandwidth_mean"), Quantity("imb", "biband", "bandwidth")),
    Alike(Quantity("micro", "bidirectional", "bandwidth_mean"), Quantity("osu", "bidirectional", "bandwidth")),
)
"""The only metrics that may be compared across tools of one lane."""

MPI_MEAN = Quantity("micro", "pingpong", "latency_mean")
USER_MEANS = (
    Quantity("fi_pingpong", "pingpong", "latency"),
    Quantity("perftest", "pingpong", "latency_mean"),
    Quantity("qperf", "pingpong", "latency"),
    Quantity("ucx_perftest", "pingpong", "latency_mean"),
)
"""The half round trip as a mean over a launch's iterations, in MPI and below it. Only these may be compared across
levels.
"""


def quantity_of(key: CellKey) -> Quantity:
    """Returns the quantity of a cell."""
    return Quantity(key.tool, key.benchmark, key.metric)
