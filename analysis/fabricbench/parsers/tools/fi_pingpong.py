# SPDX-License-Identifier: Apache-2.0
"""Reads the table of fi_pingpong (libfabric 1.x and 2.x): one size in each run."""

import re
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row
from fabricbench.parsers.client_server import Run, count, runs
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of
from fabricbench.parsers.quantities import Means

COLUMNS = ["bytes", "#sent", "#ack", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec"]
BENCHMARKS = ("pingpong",)
MEANS: Means = {"half_round_trip_below_mpi": ("pingpong", "latency")}
_LABEL = re.compile(r"^(\d{1,9})([kmg]?)$")


def parse(directory: Path, launch: Launch) -> Parsed:
    """The mean half round trip of all iterations, and size divided by it.

    The tool prints #sent and sizes with three digits, so the iterations are those of the launch's arguments. Each
    iteration is a ping-pong of two messages.
    """
    iterations, case = count(launch, "-I"), canonical_case(launch.case)
    rows: list[Row] = []
    parts: list[PayloadPart] = []
    for run in runs(directory, launch):
        size, latency = run.size, _latency(run)
        values = {"latency": latency} | ({"bandwidth": round(size / latency, 6)} if size and latency else {})
        for metric, value in values.items():
            rows.append(Row(benchmark="pingpong", case=case, metric=metric, msg_size_bytes=size, value=value))
        payload = Payload(bytes=2 * iterations * size, messages=2 * iterations)
        parts.append(PayloadPart(benchmark="pingpong", case=case, msg_size_bytes=size, payload=payload))
    return Parsed(tuple(rows), payload_of(parts), parts=tuple(parts))


def _latency(run: Run) -> float:
    lines = [(at, line.split()) for at, line in run.lines if line.strip()]
    if len(lines) != 2:
        raise Unreadable("stdout", run.at, f"a header and one row of {run.value[:40]} bytes, not {len(lines)} lines")
    (at, header), (below, words) = lines
    if header != COLUMNS:
        raise Unreadable("stdout", at, f"the columns {' '.join(COLUMNS)}")
    if len(words) != len(COLUMNS):
        raise Unreadable("stdout", below, f"{len(COLUMNS)} columns")
    label = _LABEL.match(words[0])
    if label is None or int(label[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[label[2]] != run.size:
        raise Unreadable("stdout", below, f"a row of {run.size} bytes, not '{words[0][:40]}'")
    if words[2] != f"={words[1]}":
        raise Unreadable("stdout", below, "as many messages acknowledged as sent")
    return number(words[6], "stdout", below)
