# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of perftest's ``ib_*`` (4.x and later): one size in each run; bandwidth with ``--report_gbits``."""

from dataclasses import dataclass
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row
from fabricbench.parsers.client_server import Run, count, runs
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, whole
from fabricbench.parsers.quantities import Means


@dataclass(frozen=True, slots=True)
class VerbsTest:
    """One program with its options. Metric ``latency`` is a half round trip, ``time`` the duration of an operation."""

    program: str
    benchmark: str
    metrics: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def atomic(self) -> bool:
        """Whether the test measures an atomic operation. Atomic operations always have 8 bytes."""
        return self.program.startswith("ib_atomic")

    @property
    def streams(self) -> bool:
        """Whether operations are posted back to back."""
        return self.metrics == ("stream_bandwidth",)


_GBITS = ("--report_gbits",)
TESTS = {
    "send_lat": VerbsTest("ib_send_lat", "pingpong", ("latency", "latency_mean")),
    "send_bw": VerbsTest("ib_send_bw", "stream", ("stream_bandwidth",), _GBITS),
    "write_lat": VerbsTest("ib_write_lat", "put_pingpong", ("latency", "latency_mean")),
    "write_bw": VerbsTest("ib_write_bw", "put_stream", ("stream_bandwidth",), _GBITS),
    "read_lat": VerbsTest("ib_read_lat", "get", ("time",)),
    "read_bw": VerbsTest("ib_read_bw", "get_stream", ("stream_bandwidth",), _GBITS),
    "fetch_and_add": VerbsTest("ib_atomic_lat", "fetch_and_add", ("time",), ("-A", "FETCH_AND_ADD")),
    "compare_and_swap": VerbsTest("ib_atomic_lat", "compare_and_swap", ("time",), ("-A", "CMP_AND_SWAP")),
}
BENCHMARKS = tuple(test.benchmark for test in TESTS.values())
MEANS: Means = {"half_round_trip_below_mpi": ("pingpong", "latency_mean")}

_COLUMNS = {
    "latency": "t_typical[usec]",
    "latency_mean": "t_avg[usec]",
    "time": "t_avg[usec]",
    "stream_bandwidth": "BW average[Gb/sec]",
}
_MB_PER_GBIT = 125.0


def parse(directory: Path, launch: Launch) -> Parsed:
    """A row per size and metric; ``launch.benchmark`` names the test. Gb/s are 10^9 bits, MB/s 10^6 bytes."""
    tests = {test.benchmark: test for test in TESTS.values()}
    if launch.benchmark not in tests:
        raise Unreadable("launch.json", None, f"a known benchmark, not '{launch.benchmark[:40]}'")
    test, iterations, case = tests[launch.benchmark], count(launch, "-n"), canonical_case(launch.case)
    rows: list[Row] = []
    parts: list[PayloadPart] = []
    for run in runs(directory, launch):
        values = _values(run, test, iterations)
        for metric, value in values.items():
            rows.append(Row(benchmark=test.benchmark, case=case, metric=metric, msg_size_bytes=run.size, value=value))
        transfers = (2 if "latency" in test.metrics else 1) * iterations
        messages = 1 if test.streams else 2 * iterations
        payload = Payload(bytes=transfers * run.size, messages=messages)
        parts.append(PayloadPart(benchmark=test.benchmark, case=case, msg_size_bytes=run.size, payload=payload))
    return Parsed(tuple(rows), payload_of(parts), parts=tuple(parts))


def _values(run: Run, test: VerbsTest, iterations: int) -> dict[str, float]:
    """Returns the values of a row by column.

    The first columns are #bytes and #iterations. The names of the others contain blanks and end with a bracket.
    """
    header: tuple[int, list[str]] | None = None
    for at, line in run.lines:
        if line.lstrip().startswith("#bytes"):
            names = ["#bytes", "#iterations"]
            rest = line.split("#iterations", 1)[-1]
            names += [part.strip() + "]" for part in rest.split("]")[:-1]]
            header = (at, names)
        elif header is not None and line.strip() and not line.lstrip().startswith("-"):
            return _row(line.split(), at, header[1], run, test, iterations)
    raise Unreadable("stdout", run.at, f"a table with a row of {run.value[:40]} bytes")


def _row(words: list[str], at: int, names: list[str], run: Run, test: VerbsTest, iterations: int) -> dict[str, float]:
    if len(words) < len(names):
        raise Unreadable("stdout", at, f"{len(names)} columns")
    if (whole(words[0], "stdout", at), whole(words[1], "stdout", at)) != (run.size, iterations):
        raise Unreadable("stdout", at, f"{run.size} bytes and {iterations} iterations")
    values = {}
    for metric in test.metrics:
        if _COLUMNS[metric] not in names:
            raise Unreadable("stdout", at, f"the column {_COLUMNS[metric]}")
        value = number(words[names.index(_COLUMNS[metric])], "stdout", at)
        values[metric] = round(value * _MB_PER_GBIT, 6) if test.streams else value
    return values
