# SPDX-License-Identifier: Apache-2.0
"""Every metric, declared once: name, unit, which way is better, definition, source."""

from dataclasses import dataclass
from typing import Literal

from fabricbench.errors import BadInput, nearest

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that a launch yields; ``unit`` is the unit of every stored value.

    ``main``: comparisons test it. The others of the same launch tell much the same once more, and testing them
    would only dilute the claims.
    """

    name: str
    unit: str
    better: Better
    definition: str
    source: str
    main: bool = False


_ALL = (
    Metric(
        "latency",
        "us",
        "lower",
        "half round trip of a ping-pong, or a one-sided operation: median, or what a tool reports",
        "OSU",
        main=True,
    ),
    Metric("latency_mean", "us", "lower", "as latency: the mean", "IMB PingPong"),
    Metric("latency_max", "us", "lower", "as latency, of the slowest pair of nodes", "own"),
    Metric(
        "bandwidth",
        "MB/s",
        "higher",
        "bytes moved a second, 1 MB = 10^6 bytes: size over half round trip, or all that a window carries",
        "IMB PingPong, OSU",
    ),
    Metric("bandwidth_mean", "MB/s", "higher", "as bandwidth, from the mean time of a window", "OSU osu_bw"),
    Metric("bandwidth_min", "MB/s", "higher", "as bandwidth, of the slowest pair of nodes, either way", "own"),
    Metric(
        "bisection_bandwidth",
        "MB/s",
        "higher",
        "sum over disjoint pairs of nodes that are all there are: mean over rounds and directions",
        "Hoefler 2008",
        main=True,
    ),
    Metric("bisection_bandwidth_min", "MB/s", "higher", "as bisection_bandwidth, of the least round", "own"),
    Metric("message_rate", "msg/s", "higher", "messages a second, of all ranks together", "OSU mbw_mr", main=True),
    Metric(
        "latency_ratio", "ratio", "lower", "latency over that of the plain case of the same launch", "Rashti 2007, 6.4"
    ),
    Metric(
        "normalised_latency", "us", "lower", "half round trip of all connections over their number", "Rashti 2007, 5.1"
    ),
    Metric("round_trip", "us", "lower", "a message there and an empty one back", "P-LogP", main=True),
    Metric("send_overhead", "us", "lower", "o_s(m), the time that a sender spends in its call", "P-LogP"),
    Metric("receive_overhead", "us", "lower", "o_r(m), the time that a receiver spends in its call", "P-LogP"),
    Metric("gap", "us", "lower", "g(m), the time between two messages of many in a row", "P-LogP"),
    Metric("overlap", "share", "higher", "share of communication or computation hidden in the other", "SMB", main=True),
    Metric(
        "progress", "share", "higher", "what of a transfer a long computation hides, without calls", "SMB", main=True
    ),
    Metric("progress_tested", "share", "higher", "as progress, with calls of MPI_Test", "SMB"),
    Metric(
        "time", "us", "lower", "a call or exchange: over iterations, then the mean over ranks", "IMB t_avg", main=True
    ),
    Metric("time_min", "us", "lower", "as time, of the fastest rank", "IMB t_min"),
    Metric("time_max", "us", "lower", "as time, of the slowest rank", "IMB t_max"),
    Metric("time_pure", "us", "lower", "as time, with nothing to overlap it with", "IMB t_pure", main=True),
    Metric("time_overlapped", "us", "lower", "as time, with computation meanwhile, which is inside", "IMB t_ovrl"),
    Metric("time_computing", "us", "lower", "what of time_overlapped the computation took", "IMB t_CPU"),
    Metric("mops", "Mop/s", "higher", "10^6 operations of NASA's count a second, all ranks together", "NPB", main=True),
    Metric(
        "ns_per_day", "ns/day", "higher", "simulated time over wall time, of the counted part", "GROMACS", main=True
    ),
    Metric("run_time", "s", "lower", "the timed region of an application, slowest rank", "NPB"),
    Metric("communication_time", "s", "lower", "what of it was spent in MPI: mean over ranks", "NPB timers"),
    Metric("activity_time", "s", "lower", "what of it the case's activity took, by its share of cycles", "GROMACS"),
    Metric("energy_deviation", "ratio", "lower", "difference from double precision over the potential", "GROMACS"),
    Metric("load_imbalance", "share", "lower", "force load of the most loaded rank over the mean, less 1", "GROMACS"),
    Metric("imbalance_wait", "share", "lower", "of the run time: spent waiting due to load imbalance", "GROMACS"),
    Metric("pme_force_load", "ratio", "lower", "load of separate PME ranks over the others', 1 is even", "GROMACS"),
    Metric(
        "stream_bandwidth", "MB/s", "higher", "bytes that arrived over the time, messages back to back", "iperf3", True
    ),
    Metric("flow_bandwidth", "MB/s", "higher", "as stream_bandwidth, of one flow among several", "iperf3"),
    Metric(
        "fairness", "index", "higher", "Jain's: 1 where n flows share equally, 1/n where one has all", "Jain 1984", True
    ),
    Metric("exchange_bandwidth", "MB/s", "higher", "bytes in and out of a rank over its time", "IMB Sendrecv"),
)

METRICS: dict[str, Metric] = {m.name: m for m in _ALL}


def metric(name: str, where: str = "") -> Metric:
    """The declared metric called ``name``; BadInput with the nearest names otherwise."""
    try:
        return METRICS[name]
    except KeyError:
        raise BadInput(f"unknown metric '{name}'", where=where, expected=nearest(name, METRICS)) from None
