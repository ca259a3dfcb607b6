# SPDX-License-Identifier: Apache-2.0
"""Parses the tools below MPI: every number of real outputs, and outputs that must be rejected."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools import fi_pingpong, iperf3, qperf, ucx_perftest
from parsers.client_server_captures import CAPTURES, IPERF3, sections
from support.launches import LAUNCHES, launch_of, text_of

Parse = Callable[[Path, Launch], Parsed]


def values(rows: tuple[Row, ...], metric: str) -> dict[int | None, float]:
    return {row.msg_size_bytes: row.value for row in rows if row.metric == metric}


def by_case(rows: tuple[Row, ...], metric: str) -> dict[str, float]:
    return {row.case: row.value for row in rows if row.metric == metric}


@pytest.mark.parametrize("name", [n for n, parse in CAPTURES.items() if parse is ucx_perftest.parse])
def test_every_number_of_ucx(name: str) -> None:
    parsed = CAPTURES[name](LAUNCHES / name, launch_of(name))
    for size, body in sections(name).items():
        row = re.search(r"^ *(\d+),([\d.]+),[\d.]+,([\d.]+),[\d.]+,[\d.]+,\d+,(\d+)$", body, re.MULTILINE)
        assert row is not None
        values_at_size = {r.metric: r.value for r in parsed.rows if r.msg_size_bytes == size}
        median, mean, rate = float(row[2]), float(row[3]), int(row[4])
        assert values_at_size in (
            {"latency": median, "latency_mean": mean},
            {"stream_bandwidth": pytest.approx(rate * size / 1e6)},
            {"time": mean},
        )
    assert len({row.msg_size_bytes for row in parsed.rows}) == len(sections(name))


@pytest.mark.parametrize("name", [n for n, parse in CAPTURES.items() if parse is fi_pingpong.parse])
def test_every_number_of_fi_pingpong(name: str) -> None:
    parsed = CAPTURES[name](LAUNCHES / name, launch_of(name))
    latency, bandwidth = values(parsed.rows, "latency"), values(parsed.rows, "bandwidth")
    for size, body in sections(name).items():
        words = body.splitlines()[1].split()
        assert latency[size] == float(words[6])
        if size:  # printed with two decimals, like the latency from which the test computes it
            assert bandwidth[size] == pytest.approx(float(words[5]), rel=0.05, abs=0.01)
    assert 0 not in bandwidth
    iterations = int(launch_of(name).argv[list(launch_of(name).argv).index("-I") + 1])
    assert parsed.payload is not None
    assert parsed.payload.messages == 2 * iterations * len(latency)
    assert parsed.payload.bytes == 2 * iterations * sum(size or 0 for size in latency)


def test_every_number_of_qperf_latency() -> None:
    name = "sockets-tcp-qperf-pingpong-small"
    parsed = qperf.parse(LAUNCHES / name, launch_of(name))
    text = text_of(name)
    nanoseconds = [float(v) for v in re.findall(r"latency += +([\d.]+) ns", text)]
    assert list(values(parsed.rows, "latency").values()) == pytest.approx([v / 1e3 for v in nanoseconds], abs=1e-6)
    sizes = [int(v) for v in re.findall(r"msg_size += +(\d+) bytes", text)]
    assert list(values(parsed.rows, "latency")) == sizes
    messages = [int(v) for v in re.findall(r"loc_(?:send|recv)_msgs += +(\d+)", text)]
    assert parsed.payload is not None
    assert parsed.payload.messages == sum(messages)
    # Half of a round trip is the run time of 1 s divided by the messages of both directions.
    for value, count in zip(nanoseconds, zip(messages[::2], messages[1::2], strict=True), strict=True):
        assert value == pytest.approx(1e9 / sum(count), rel=0.05)


def test_every_number_of_qperf_bandwidth() -> None:
    name = "sockets-tcp-qperf-stream-large"
    parsed = qperf.parse(LAUNCHES / name, launch_of(name))
    text = text_of(name)
    rates = [int(v) / 1e6 for v in re.findall(r"bw += +(\d+) bytes/sec", text)]
    assert list(values(parsed.rows, "stream_bandwidth").values()) == pytest.approx(rates)
    assert parsed.payload is not None
    assert parsed.payload.bytes == sum(int(v) for v in re.findall(r"[^_]recv_bytes += +(\d+) bytes", text))


def test_every_stream_of_iperf3() -> None:
    parsed = iperf3.parse(LAUNCHES / IPERF3, launch_of(IPERF3))
    document = json.loads(text_of(IPERF3).split("\n", 1)[1].rsplit("#@end", 1)[0])
    flows = by_case(parsed.rows, "flow_bandwidth")
    bandwidths = [one["receiver"]["bits_per_second"] / 8e6 for one in document["end"]["streams"]]
    assert list(flows) == [f"flow={k} streams=4" for k in range(1, 5)]
    assert list(flows.values()) == pytest.approx(bandwidths, rel=1e-6)
    assert by_case(parsed.rows, "stream_bandwidth") == {"streams=4": pytest.approx(sum(bandwidths), rel=1e-6)}
    index = sum(bandwidths) ** 2 / (4 * sum(x * x for x in bandwidths))
    assert by_case(parsed.rows, "fairness") == {"streams=4": pytest.approx(index, abs=1e-6)}
    assert parsed.payload is not None
    assert parsed.payload.bytes == document["end"]["sum_received"]["bytes"]


def test_iperf3_flows_alone_and_together() -> None:
    name = "sockets-tcp-iperf3-together"
    parsed = iperf3.parse(LAUNCHES / name, launch_of(name))
    rates = [float(v) for v in re.findall(r'"receiver":\s*{[^}]*?"bits_per_second":\s*([\d.e+]+)', text_of(name))]
    alone, together = ([rate / 8e6 for rate in part] for part in (rates[:2], rates[2:]))
    flows = by_case(parsed.rows, "flow_bandwidth")
    assert flows == {
        "flow=1 run=alone streams=1": pytest.approx(alone[0], rel=1e-6),
        "flow=2 run=alone streams=1": pytest.approx(alone[1], rel=1e-6),
        "flow=1 run=together streams=1": pytest.approx(together[0], rel=1e-6),
        "flow=2 run=together streams=1": pytest.approx(together[1], rel=1e-6),
    }
    assert by_case(parsed.rows, "stream_bandwidth") == {
        "run=together streams=1": pytest.approx(sum(together), rel=1e-6)
    }


@pytest.mark.parametrize(
    ("shares", "index"),
    [([5.0], 1.0), ([3.0, 3.0, 3.0], 1.0), ([1.0, 0.0, 0.0, 0.0], 0.25), ([2.0, 1.0], 0.9), ([0.0, 0.0], 0.0)],
)
def test_jains_index(shares: list[float], index: float) -> None:
    assert iperf3.jain(shares) == pytest.approx(index)
