# SPDX-License-Identifier: Apache-2.0
"""Reads the CSV of ucx_perftest, final numbers only (``-f -v``; UCX 1.12 and later)."""

from dataclasses import dataclass
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row
from fabricbench.parsers.client_server import Run, count, option, runs
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, whole
from fabricbench.parsers.quantities import Means

TIMES = ("percentile_lat", "avg_lat", "overall_lat")
RATES = ("avg_bw", "overall_bw", "avg_mr", "overall_mr")
USED = ("percentile_lat", "overall_lat", "overall_mr")
"""The averages of the time since the last report; infinite if there were no operations."""

COLUMNS = len(("iterations", *TIMES, *RATES))


@dataclass(frozen=True, slots=True)
class UcpTest:
    """A test of UCP: its benchmark, its metrics, and the messages of an iteration in both directions.

    ``streams``: they are sent back to back and may share segments."""

    benchmark: str
    metrics: tuple[str, ...]
    messages: int
    streams: bool = False
    atomic: bool = False

    def least(self, iterations: int, size: int) -> tuple[int, int]:
        """Returns the least bytes and messages of the timed iterations."""
        each = 2 if self.metrics[0] == "latency" else 1
        return each * iterations * size, 1 if self.streams else self.messages * iterations


TESTS = {
    "tag_lat": UcpTest("pingpong", ("latency", "latency_mean"), 2),
    "tag_bw": UcpTest("stream", ("stream_bandwidth",), 1, streams=True),
    "ucp_put_lat": UcpTest("put_pingpong", ("latency", "latency_mean"), 2),
    "ucp_put_bw": UcpTest("put_stream", ("stream_bandwidth",), 1, streams=True),
    "ucp_get": UcpTest("get", ("time",), 2),
    "ucp_fadd": UcpTest("fetch_and_add", ("time",), 2, atomic=True),
    "ucp_cswap": UcpTest("compare_and_swap", ("time",), 2, atomic=True),
}
"""The printed latency of a ping-pong is a half round trip; that of a get or an atomic operation is its duration."""

BENCHMARKS = tuple(test.benchmark for test in TESTS.values())
MEANS: Means = {"half_round_trip_below_mpi": ("pingpong", "latency_mean")}


def parse(directory: Path, launch: Launch) -> Parsed:
    """A row per size and metric. MB/s follow from the message rate, because the tool prints units of 2^20 bytes."""
    name = option(launch, "-t")
    if name not in TESTS:
        raise Unreadable("launch.json", None, f"a known test, not '{name[:40]}'")
    test, iterations = TESTS[name], count(launch, "-n")
    case = canonical_case(launch.case)
    rows: list[Row] = []
    parts: list[PayloadPart] = []
    for run in runs(directory, launch):
        values = _values(run, iterations)
        for metric in test.metrics:
            value = round(values["overall_mr"] * run.size / 1e6, 6) if test.streams else values[_COLUMN[metric]]
            rows.append(Row(benchmark=test.benchmark, case=case, metric=metric, msg_size_bytes=run.size, value=value))
        bytes_, messages = test.least(iterations, run.size)
        payload = Payload(bytes=bytes_, messages=messages)
        parts.append(PayloadPart(benchmark=test.benchmark, case=case, msg_size_bytes=run.size, payload=payload))
    return Parsed(tuple(rows), payload_of(parts), parts=tuple(parts))


_COLUMN = {"latency": "percentile_lat", "latency_mean": "overall_lat", "time": "overall_lat"}


def _values(run: Run, iterations: int) -> dict[str, float]:
    lines = [(at, line) for at, line in run.lines if line.strip()]
    if len(lines) != 2:
        raise Unreadable("stdout", run.at, f"a header and one row of {run.value[:40]} bytes, not {len(lines)} lines")
    (at, header), (below, row) = lines
    names = ["percentile_lat" if n == "50.0_percentile_lat" else n for n in header.strip().split(",")]
    if names != ["iterations", *TIMES, *RATES]:
        raise Unreadable("stdout", at, "the columns iterations, 50.0_percentile_lat, avg_lat, …")
    words = row.strip().split(",")
    if len(words) != COLUMNS:
        raise Unreadable("stdout", below, f"{COLUMNS} columns")
    if whole(words[0], "stdout", below) != iterations:
        raise Unreadable("stdout", below, f"{iterations} iterations, not {words[0][:40]}")
    return {name: number(word, "stdout", below) for name, word in zip(names, words, strict=True) if name in USED}
