# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of iperf3 (``-J``, iperf 3.1 and later): throughput of each stream, their sum and their fairness."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricbench.launch.facts import Launch, Scalar, canonical_case
from fabricbench.launch.record import Payload, Row
from fabricbench.parsers.client_server import Run, count, runs
from fabricbench.parsers.output import Parsed, Unreadable

BENCHMARKS = ("stream", "together")


def parse(directory: Path, launch: Launch) -> Parsed:
    """The received bytes per second, as the receivers report them. The payload is the received bytes.

    The rate is iperf3's own, because the seconds that it prints are the sender's (3.12).

    ``stream``: one run; a row per stream (``flow=k``), the sum and the fairness. ``together``: flows over several
    addresses, each alone and then all at once; a row for each flow, and the sum and the fairness of all at once.
    """
    results = [(run, _streams(run, count(launch, "-P"))) for run in runs(directory, launch)]
    received = sum(bytes_ for _, streams in results for bytes_, _ in streams)
    rows = _together(launch, results) if launch.benchmark == "together" else _alone(launch, results)
    return Parsed(tuple(rows), Payload(bytes=received, messages=len(results)))


_BITS_PER_MB = 8e6

Streams = Sequence[tuple[int, float]]
"""Received bytes and MB/s of each stream."""


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 for n equal shares, 1/n if one share has everything, 0 if all shares are 0.

    Definition: (sum x)^2 / (n sum x^2). Source: Jain, Chiu & Hawe (1984), DEC Research Report TR-301.
    ``shares``: n numbers of at least 0, of one unit.
    """
    squares = len(shares) * sum(x * x for x in shares)
    return sum(shares) ** 2 / squares if squares else 0.0


def _alone(launch: Launch, results: Sequence[tuple[Run, Streams]]) -> list[Row]:
    rates = [rate for _, streams in results for _, rate in streams]
    flows = [_row(launch, {"flow": k}, "flow_bandwidth", rate) for k, rate in enumerate(rates, start=1)]
    return [*flows, *_sum(launch, {}, rates)]


def _together(launch: Launch, results: Sequence[tuple[Run, Streams]]) -> list[Row]:
    """The rows of flows over several addresses, numbered in the order of their addresses, which is that of the last
    round."""
    order = [run.value for run, _ in results if run.round == results[-1][0].round]
    rows, rates_together = [], []
    for run, streams in results:
        at_once = run.round == results[-1][0].round
        rate = sum(rate for _, rate in streams)
        case: dict[str, Scalar] = {"flow": order.index(run.value) + 1, "run": "together" if at_once else "alone"}
        rows.append(_row(launch, case, "flow_bandwidth", rate))
        rates_together += [rate] if at_once else []
    return [*rows, *_sum(launch, {"run": "together"}, rates_together)]


def _sum(launch: Launch, case: Mapping[str, Scalar], rates: Sequence[float]) -> list[Row]:
    return [
        _row(launch, case, "stream_bandwidth", sum(rates)),
        _row(launch, case, "fairness", jain(rates)),
    ]


def _row(launch: Launch, case: Mapping[str, Scalar], metric: str, value: float) -> Row:
    case_text = canonical_case({**launch.case, **case})
    return Row(benchmark=launch.benchmark, case=case_text, metric=metric, msg_size_bytes=None, value=round(value, 6))


def _streams(run: Run, expected: int) -> Streams:
    try:
        # Python's JSON reader accepts NaN and Infinity, which are not JSON.
        document = json.loads("\n".join(line for _, line in run.lines), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Unreadable("stdout", run.at, "iperf3's JSON") from None
    if isinstance(document, dict) and "error" in document:
        raise Unreadable("stdout", run.at, f"no error, not '{str(document['error'])[:80]}'")
    try:
        receivers = [one["receiver"] for one in document["end"]["streams"]]
        streams = [(one["bytes"], one["bits_per_second"]) for one in receivers]
    except (TypeError, KeyError):
        raise Unreadable("stdout", run.at, "bytes and rate of every receiver in end.streams") from None
    if len(streams) != expected:
        raise Unreadable("stdout", run.at, f"{expected} streams, not {len(streams)}")
    if not all(map(_is_valid, streams)):
        raise Unreadable("stdout", run.at, "bytes and bits_per_second of every receiver, at least 0")
    return [(bytes_, bits / _BITS_PER_MB) for bytes_, bits in streams]


def _is_valid(stream: tuple[Any, Any]) -> bool:
    bytes_, bits = stream
    return type(bytes_) is int and 0 <= bytes_ < 2**63 and type(bits) in (int, float) and 0 <= bits < 1e18


def _no_constant(name: str) -> None:
    raise ValueError(name)
