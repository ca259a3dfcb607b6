# SPDX-License-Identifier: Apache-2.0
"""Reads qperf with unified units and statistics (``-uu -vvs -vvu``, qperf 0.4): ``key = value unit`` for each size."""

import re
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row
from fabricbench.parsers.client_server import Run, runs
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, whole
from fabricbench.parsers.quantities import Means

BENCHMARKS = ("pingpong", "stream")
MEANS: Means = {"half_round_trip_below_mpi": ("pingpong", "latency")}
QUIT = "quit:"
"""Printed when the server ends."""

TESTS = {"tcp_lat": "pingpong", "tcp_bw": "stream"}

_TITLE = re.compile(r"^(\w+):$")
_FIELD = re.compile(r"^ +(\w+) += +(\S+)(?: (\S+))? *$")

Fields = dict[str, tuple[str, str, int]]


def parse(directory: Path, launch: Launch) -> Parsed:
    """``tcp_lat``: mean half round trip; ``tcp_bw``: received bytes per second, messages back to back.

    qperf runs for a given time, so the payload follows from the counts that it reports. Each message of a latency test
    waits for the previous one; messages of a stream may share segments, so they count as one.
    """
    case = canonical_case(launch.case)
    rows: list[Row] = []
    parts: list[PayloadPart] = []
    for run in runs(directory, launch):
        test, fields = _section(run)
        at, size = run.at, run.size
        if _field(fields, "msg_size", "bytes", at) != str(size):
            raise Unreadable("stdout", at, f"messages of {size} bytes")
        if test == "tcp_lat":
            value = number(_field(fields, "latency", "ns", at), "stdout", at) / 1e3
            values = {"latency": value} | ({"bandwidth": size / value} if value else {})
            sent, back = (whole(_field(fields, f"loc_{way}_msgs", "", at), "stdout", at) for way in ("send", "recv"))
            payload = Payload(bytes=(sent + back) * size, messages=sent + back)
        else:
            values = {"stream_bandwidth": number(_field(fields, "bw", "bytes/sec", at), "stdout", at) / 1e6}
            received = whole(_field(fields, "recv_bytes", "bytes", at), "stdout", at)
            payload = Payload(bytes=received, messages=1)
        parts.append(PayloadPart(benchmark=TESTS[test], case=case, msg_size_bytes=size, payload=payload))
        rows += [
            Row(benchmark=TESTS[test], case=case, metric=metric, msg_size_bytes=size, value=round(value, 6))
            for metric, value in values.items()
        ]
    return Parsed(tuple(rows), payload_of(parts), parts=tuple(parts))


def _section(run: Run) -> tuple[str, Fields]:
    """Returns the name of the only test of a run, and its keys and values."""
    tests: list[str] = []
    fields: Fields = {}
    for at, line in run.lines:
        if (title := _TITLE.match(line)) and title[1] in TESTS:
            tests.append(title[1])
        elif field := _FIELD.match(line):
            fields[field[1]] = (field[2], field[3] or "", at)
        elif line.strip() and line != QUIT:
            raise Unreadable("stdout", at, f"a line of qperf, not '{line.strip()[:40]}'")
    if len(tests) != 1:
        raise Unreadable("stdout", run.at, f"one test of {', '.join(TESTS)}, not {len(tests)}")
    return tests[0], fields


def _field(fields: Fields, name: str, unit: str, at: int) -> str:
    if name not in fields:
        raise Unreadable("stdout", at, f"a section with the line '{name} ='")
    text, printed_unit, line = fields[name]
    if printed_unit != unit:
        raise Unreadable("stdout", line, f"{name} in {unit or 'no unit'}, not '{printed_unit[:40]}'")
    return text
