# SPDX-License-Identifier: Apache-2.0
"""All metrics: name, unit, whether lower or higher is better, definition and source of each."""

from dataclasses import dataclass
from typing import Literal

from fabricbench.errors import BadInput, nearest

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that a launch measures; all stored values are in ``unit``.

    ``main``: comparisons test this metric. The other metrics of a launch are strongly correlated with it, so that tests
    of them would only weaken the claims. ``profiled``: launches with a profiler measure it, which are never timed;
    requirements on it are judged by their values. ``timing``: the value depends on how fast the machine is; False for
    counts.
    """

    name: str
    unit: str
    better: Better
    definition: str
    source: str
    main: bool = False
    profiled: bool = False
    timing: bool = True


_ALL = (
    Metric(
        "latency",
        "us",
        "lower",
        "half round trip of a ping-pong, or a one-sided operation: median, or the tool's own estimate",
        "OSU",
        main=True,
    ),
    Metric("latency_mean", "us", "lower", "as latency, the mean", "IMB PingPong"),
    Metric("latency_max", "us", "lower", "as latency, of the slowest node pair", "this project"),
    Metric(
        "bandwidth",
        "MB/s",
        "higher",
        "bytes per second, 1 MB = 10^6 bytes: size over half round trip, or bytes of a window over its time",
        "IMB PingPong, OSU",
    ),
    Metric("bandwidth_mean", "MB/s", "higher", "as bandwidth, from the mean time of a window", "OSU osu_bw"),
    Metric(
        "bandwidth_min", "MB/s", "higher", "as bandwidth, of the slowest node pair, either direction", "this project"
    ),
    Metric(
        "bisection_bandwidth",
        "MB/s",
        "higher",
        "sum over disjoint node pairs that cover all nodes, mean over rounds and directions",
        "Hoefler 2008",
        main=True,
    ),
    Metric("bisection_bandwidth_min", "MB/s", "higher", "as bisection_bandwidth, of the slowest round", "this project"),
    Metric("message_rate", "msg/s", "higher", "messages per second, all ranks together", "OSU mbw_mr", main=True),
    Metric(
        "latency_ratio",
        "ratio",
        "lower",
        "latency over the latency of the plain case of the same launch",
        "Rashti 2007, 6.4",
    ),
    Metric(
        "normalised_latency",
        "us",
        "lower",
        "half round trip over all connections, divided by their number",
        "Rashti 2007, 5.1",
    ),
    Metric("round_trip", "us", "lower", "round trip of a message and an empty reply", "P-LogP", main=True),
    Metric("send_overhead", "us", "lower", "o_s(m), time of the send call", "P-LogP"),
    Metric("receive_overhead", "us", "lower", "o_r(m), time of the receive call", "P-LogP"),
    Metric("gap", "us", "lower", "g(m), time between consecutive messages", "P-LogP"),
    Metric(
        "overlap",
        "share",
        "higher",
        "share of the shorter of communication and computation that overlaps the other",
        "SMB",
        main=True,
    ),
    Metric(
        "progress",
        "share",
        "higher",
        "share of a transfer that overlaps a long computation without MPI calls",
        "SMB",
        main=True,
    ),
    Metric("progress_tested", "share", "higher", "as progress, with calls of MPI_Test", "SMB"),
    Metric(
        "time",
        "us",
        "lower",
        "time of a call or exchange: over iterations, then the mean over ranks",
        "IMB t_avg",
        main=True,
    ),
    Metric("time_min", "us", "lower", "as time, of the fastest rank", "IMB t_min"),
    Metric("time_max", "us", "lower", "as time, of the slowest rank", "IMB t_max"),
    Metric("time_pure", "us", "lower", "as time, without computation", "IMB t_pure", main=True),
    Metric("time_overlapped", "us", "lower", "as time, with concurrent computation, which is included", "IMB t_ovrl"),
    Metric("time_computing", "us", "lower", "time of the computation in time_overlapped", "IMB t_CPU"),
    Metric(
        "mops", "Mop/s", "higher", "10^6 operations per second by NASA's count, all ranks together", "NPB", main=True
    ),
    Metric("ns_per_day", "ns/day", "higher", "simulated time over wall time, of the timed steps", "GROMACS", main=True),
    Metric("run_time", "s", "lower", "time of an application's timed region, slowest rank", "NPB"),
    Metric("communication_time", "s", "lower", "part of run_time in MPI, mean over ranks", "NPB timers"),
    Metric(
        "mpi_share", "share", "lower", "part of the profiled time in MPI: mean over ranks", "TAU format", profiled=True
    ),
    Metric("mpi_share_min", "share", "lower", "as mpi_share, of the rank with the least", "TAU format", profiled=True),
    Metric("mpi_share_max", "share", "lower", "as mpi_share, of the rank with the most", "TAU format", profiled=True),
    Metric(
        "parallel_efficiency",
        "share",
        "higher",
        "mean over ranks of the time outside MPI, over the profiled time: the product of the next two",
        "POP CoE",
        profiled=True,
    ),
    Metric(
        "load_balance",
        "share",
        "higher",
        "time outside MPI: mean over ranks over that of the rank with the most",
        "POP CoE",
        profiled=True,
    ),
    Metric(
        "communication_efficiency",
        "share",
        "higher",
        "largest time outside MPI of a rank, over the profiled time",
        "POP CoE",
        profiled=True,
    ),
    Metric(
        "profiled_time",
        "s",
        "lower",
        "time under a profiler: the marked region, or between MPI_Init and MPI_Finalize; slowest rank",
        "TAU format",
    ),
    Metric(
        "mpi_calls",
        "calls",
        "lower",
        "calls of the case's MPI function in that time, all ranks",
        "TAU format",
        timing=False,
    ),
    Metric("mpi_time", "s", "lower", "time in the case's MPI function, all threads: mean over ranks", "TAU format"),
    Metric("mpi_time_max", "s", "lower", "as mpi_time, of the rank with the most", "TAU format"),
    Metric(
        "mpi_bytes",
        "B",
        "lower",
        "sum of the message sizes of these calls, as TAU defines them",
        "TAU format",
        timing=False,
    ),
    Metric(
        "mpi_calls_by_size",
        "calls",
        "lower",
        "as mpi_calls, of at least msg_size_bytes and less than twice as much",
        "TAU format",
        timing=False,
    ),
    Metric("activity_time", "s", "lower", "part of run_time in the case's activity, by its share of cycles", "GROMACS"),
    Metric(
        "energy_deviation",
        "ratio",
        "lower",
        "difference from the double-precision energy, over the potential",
        "GROMACS",
        timing=False,
    ),
    Metric("load_imbalance", "share", "lower", "force load of the most loaded rank over the mean, minus 1", "GROMACS"),
    Metric(
        "imbalance_wait", "share", "lower", "share of the run time spent waiting because of load imbalance", "GROMACS"
    ),
    Metric(
        "pme_force_load",
        "ratio",
        "lower",
        "load of separate PME ranks over that of the others, 1 if balanced",
        "GROMACS",
    ),
    Metric("stream_bandwidth", "MB/s", "higher", "received bytes over the time, messages back to back", "iperf3", True),
    Metric("flow_bandwidth", "MB/s", "higher", "as stream_bandwidth, of one of several flows", "iperf3"),
    Metric(
        "fairness",
        "index",
        "higher",
        "Jain's index: 1 if n flows share equally, 1/n if one flow has everything",
        "Jain 1984",
        True,
    ),
    Metric(
        "exchange_bandwidth", "MB/s", "higher", "bytes that a rank sends and receives, over its time", "IMB Sendrecv"
    ),
)

METRICS: dict[str, Metric] = {m.name: m for m in _ALL}


def metric(name: str, where: str = "") -> Metric:
    """The declared metric called ``name``; raises BadInput with the nearest names otherwise."""
    try:
        return METRICS[name]
    except KeyError:
        raise BadInput(f"unknown metric '{name}'", where=where, expected=nearest(name, METRICS)) from None
