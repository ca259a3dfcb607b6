# SPDX-License-Identifier: Apache-2.0
"""Reads the two lines of results of rdma-core's ibv_rc_pingpong: one size in each run."""

import re
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row
from fabricbench.parsers.client_server import Run, count, runs
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, whole
from fabricbench.parsers.quantities import Means

BENCHMARKS = ("pingpong",)
MEANS: Means = {"half_round_trip_below_mpi": ("pingpong", "latency")}
_BYTES = re.compile(r"^(\d+) bytes in \S+ seconds = \S+ Mbit/sec$")
_ITERATIONS = re.compile(r"^(\d+) iters in \S+ seconds = (\S+) usec/iter$")


def parse(directory: Path, launch: Launch) -> Parsed:
    """The mean half round trip: half of the printed time of an iteration, which is a message each way."""
    iterations, case = count(launch, "-n"), canonical_case(launch.case)
    rows: list[Row] = []
    parts: list[PayloadPart] = []
    for run in runs(directory, launch):
        size, latency = run.size, _microseconds(run, iterations) / 2
        values = {"latency": latency} | ({"bandwidth": round(size / latency, 6)} if latency else {})
        for metric, value in values.items():
            rows.append(Row(benchmark="pingpong", case=case, metric=metric, msg_size_bytes=size, value=value))
        payload = Payload(bytes=2 * iterations * size, messages=2 * iterations)
        parts.append(PayloadPart(benchmark="pingpong", case=case, msg_size_bytes=size, payload=payload))
    return Parsed(tuple(rows), payload_of(parts), parts=tuple(parts))


def _microseconds(run: Run, iterations: int) -> float:
    """Returns the printed time of an iteration, after a comparison of bytes and iterations with those requested."""
    moved = next(((at, match) for at, line in run.lines if (match := _BYTES.match(line))), None)
    timed = next(((at, match) for at, line in run.lines if (match := _ITERATIONS.match(line))), None)
    if moved is None or timed is None:
        raise Unreadable("stdout", run.at, "lines of bytes and of iterations")
    if whole(moved[1][1], "stdout", moved[0]) != 2 * iterations * run.size:
        raise Unreadable("stdout", moved[0], f"{2 * iterations * run.size} bytes, both ways")
    if whole(timed[1][1], "stdout", timed[0]) != iterations:
        raise Unreadable("stdout", timed[0], f"{iterations} iterations")
    return number(timed[1][2], "stdout", timed[0])
