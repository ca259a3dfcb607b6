# SPDX-License-Identifier: Apache-2.0
"""Parses the tools below MPI: every number of real outputs, and outputs that must be rejected."""

import contextlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools import fi_pingpong, iperf3, perftest, qperf, ucx_perftest

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
CAPTURES = {
    "libfabric-shm-pingpong-small": fi_pingpong.parse,
    "libfabric-tcp-pingpong-large": fi_pingpong.parse,
    "ucx-shm-pingpong-small": ucx_perftest.parse,
    "ucx-tcp-pingpong-small": ucx_perftest.parse,
    "ucx-tcp-put-stream-large": ucx_perftest.parse,
    "ucx-tcp-get-small": ucx_perftest.parse,
    "ucx-tcp-fetch-and-add": ucx_perftest.parse,
    "sockets-tcp-qperf-pingpong-small": qperf.parse,
    "sockets-tcp-qperf-stream-large": qperf.parse,
    "sockets-tcp-iperf3-streams-4": iperf3.parse,
    "sockets-tcp-iperf3-together": iperf3.parse,
}
TABLES = [name for name, parse in CAPTURES.items() if parse is not iperf3.parse]
IPERF3 = "sockets-tcp-iperf3-streams-4"

Parse = Callable[[Path, Launch], Parsed]


def launch_of(name: str) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes())


def text_of(name: str) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, name: str, text: str | bytes, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return CAPTURES[name](tmp_path, launch or launch_of(name))


def unreadable(tmp_path: Path, name: str, text: str | bytes, launch: Launch | None = None) -> str:
    with pytest.raises(Unreadable) as caught:
        parse_text(tmp_path, name, text, launch)
    return str(caught.value)


def values(rows: tuple[Row, ...], metric: str) -> dict[int | None, float]:
    return {row.msg_size_bytes: row.value for row in rows if row.metric == metric}


def by_case(rows: tuple[Row, ...], metric: str) -> dict[str, float]:
    return {row.case: row.value for row in rows if row.metric == metric}


def sections(name: str) -> dict[int, str]:
    """Returns the text after each line that names a value, with code that is independent of the parser."""
    parts = re.split(r"^#@round=\d+ value=(\S+)\n", text_of(name), flags=re.MULTILINE)[1:]
    return {int(size): body for size, body in zip(parts[::2], parts[1::2], strict=True)}


# ---- every number of the captures


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
    lines = [one["receiver"]["bits_per_second"] / 8e6 for one in document["end"]["streams"]]
    assert list(flows) == [f"flow={k} streams=4" for k in range(1, 5)]
    assert list(flows.values()) == pytest.approx(lines, rel=1e-6)
    assert by_case(parsed.rows, "stream_bandwidth") == {"streams=4": pytest.approx(sum(lines), rel=1e-6)}
    index = sum(lines) ** 2 / (4 * sum(x * x for x in lines))
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


# ---- outputs that must be rejected


@pytest.mark.parametrize("name", CAPTURES)
def test_a_cut_output(tmp_path: Path, name: str) -> None:
    lines = text_of(name).splitlines(keepends=True)
    for end in {0, 1, 2, 3, len(lines) // 2, len(lines) - 2, len(lines) - 1}:
        assert "stdout" in unreadable(tmp_path, name, "".join(lines[:end]))


@pytest.mark.parametrize("name", TABLES)
def test_a_missing_line_is_unreadable(tmp_path: Path, name: str) -> None:
    """A missing line of a table or a missing value is an error, except for qperf's further facts."""
    lines = text_of(name).splitlines(keepends=True)
    for index, line in enumerate(lines):
        needless = re.match(
            r"quit:| +(port|time|timeout|rem_|loc_(?!send_msgs|recv_msgs)|msg_rate|send_|recv_msgs)", line
        )
        text = "".join(lines[:index] + lines[index + 1 :])
        if needless and "qperf" in name:
            assert parse_text(tmp_path, name, text) == CAPTURES[name](LAUNCHES / name, launch_of(name))
        elif line.strip():
            unreadable(tmp_path, name, text)


@pytest.mark.parametrize("name", CAPTURES)
def test_noise_raises_no_other_error(tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    raw = text_of(name).encode()
    for _ in range(150):
        noisy = bytearray(raw)
        for _ in range(chance.choice((1, 1, 3, 20))):
            noisy[chance.randrange(len(noisy))] = chance.randrange(256)
        with contextlib.suppress(Unreadable):
            for row in parse_text(tmp_path, name, bytes(noisy)).rows:
                assert row.value >= 0


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\0" * 64, b"#@end=ok\n", b"\xff\xfe\n#@end=ok\n", b"[" * 100_000])
def test_no_output_at_all(tmp_path: Path, name: str, raw: bytes) -> None:
    unreadable(tmp_path, name, raw)


@pytest.mark.parametrize("name", CAPTURES)
def test_runs_other_than_the_requested_ones(tmp_path: Path, name: str) -> None:
    launch = launch_of(name)
    each = list(launch.argv)[list(launch.argv).index("--each") + 1]
    for other in (f"{each},7", each.rpartition(",")[0] or "7", "", f"{each}1"):
        argv = tuple(other if word == each else word for word in launch.argv)
        message = unreadable(tmp_path, name, text_of(name), launch.model_copy(update={"argv": argv}))
        assert "one for each of --each" in message


@pytest.mark.parametrize("name", CAPTURES)
def test_a_launch_without_its_options(tmp_path: Path, name: str) -> None:
    launch = launch_of(name)
    if CAPTURES[name] is qperf.parse:
        pytest.skip("the parser of qperf needs no options of the launch")
    argv = tuple(word for word in launch.argv if word not in ("-n", "-I", "-P"))
    assert "launch.json" in unreadable(tmp_path, name, text_of(name), launch.model_copy(update={"argv": argv}))


CHANGES = [
    ("ucx-tcp-pingpong-small", r"^1000,", " 999,", "1000 iterations, not 999"),
    ("ucx-tcp-pingpong-small", r"^(1000,)[^,]+", r"\1nan", "a finite number"),
    ("ucx-tcp-pingpong-small", r"^(1000,)[^,]+", r"\1-3", "a finite number"),
    ("ucx-tcp-pingpong-small", r"^(1000,)", r"\g<1>5,", "8 columns"),
    ("ucx-tcp-pingpong-small", r"50\.0_", "99.0_", "the columns iterations, 50.0_percentile_lat"),
    ("libfabric-tcp-pingpong-large", r"^64k ", "32k ", "a row of 65536 bytes, not '32k'"),
    ("libfabric-tcp-pingpong-large", r"=10 ", "=9 ", "as many messages acknowledged as sent"),
    ("libfabric-tcp-pingpong-large", r"usec/xfer", "sec/xfer", "the columns bytes #sent"),
    ("libfabric-tcp-pingpong-large", r"^(64k .*) \S+$", r"\1", "8 columns"),
    ("libfabric-tcp-pingpong-large", r"^(64k .*)$", r"\1\n\1", "a header and one row of 65536 bytes, not 3 lines"),
    ("sockets-tcp-qperf-pingpong-small", r"(latency +=.*) ns", r"\1 us", "latency in ns, not 'us'"),
    ("sockets-tcp-qperf-pingpong-small", r"(latency += +)\S+", r"\1inf", "a finite number"),
    ("sockets-tcp-qperf-pingpong-small", r"^tcp_lat:", "tcp_lot:", "a line of qperf, not 'tcp_lot:'"),
    (IPERF3, r'("end":\s*{\s*)"streams"', r'\1"flows"', "bytes and rate of every receiver"),
    (IPERF3, r'"end":\s*{', '"error": "no route", "end": {', "no error, not 'no route'"),
    (IPERF3, r'("receiver":\s*{[^}]*"bytes":\s*)\d+', r"\g<1>-5", "bytes and bits_per_second of every receiver"),
    (IPERF3, r'("receiver":\s*{[^}]*"bytes":\s*)\d+', r"\g<1>true", "bytes and bits_per_second of every receiver"),
    (
        IPERF3,
        r'("receiver":\s*{[^}]*"bits_per_second":\s*)[\d.]+',
        r"\g<1>-1",
        "bytes and bits_per_second of every receiver",
    ),
    (IPERF3, r'("receiver":\s*{[^}]*"bits_per_second":\s*)[\d.]+', r"\g<1>NaN", "iperf3's JSON"),
    (IPERF3, r'("receiver":\s*{[^}]*"bits_per_second":\s*)[\d.]+', r"\g<1>1e999", "bytes and bits_per_second of every"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), CHANGES)
def test_changed_outputs(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    text = text_of(name)
    changed, count = re.subn(old, new, text, count=1, flags=re.MULTILINE)
    assert count == 1, "nothing was changed"
    assert re.search(message, unreadable(tmp_path, name, changed))


def test_another_number_of_streams(tmp_path: Path) -> None:
    launch = launch_of(IPERF3)
    argv = tuple("3" if word == "4" else word for word in launch.argv)
    message = unreadable(tmp_path, IPERF3, text_of(IPERF3), launch.model_copy(update={"argv": argv}))
    assert "3 streams, not 4" in message


def test_averages_since_the_last_report_may_be_infinite(tmp_path: Path) -> None:
    """UCX prints ``inf`` if a report coincides with the last iteration. The parser does not use these values."""
    name = "ucx-tcp-pingpong-small"
    text = re.sub(r"^(1000,[^,]+),[^,]+,([^,]+),[^,]+,", r"\1,inf,\2,inf,", text_of(name), flags=re.MULTILINE)
    assert text.count("inf,") == 2 * len(sections(name))
    assert parse_text(tmp_path, name, text) == ucx_perftest.parse(LAUNCHES / name, launch_of(name))


def test_an_unknown_test_of_ucx(tmp_path: Path) -> None:
    name = "ucx-tcp-get-small"
    argv = tuple("io_demo" if word == "ucp_get" else word for word in launch_of(name).argv)
    launch = launch_of(name).model_copy(update={"argv": argv})
    assert "a known test, not 'io_demo'" in unreadable(tmp_path, name, text_of(name), launch)


# ---- perftest: the headers are from its source code; the tables are not captured from an RDMA device

LATENCY = """\
#@round=0 value=2
---------------------------------------------------------------------------------------
                    Send Latency Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          0.98           4.45         1.01                1.02             0.06            1.97                    4.45
---------------------------------------------------------------------------------------
#@end=ok
"""  # noqa: E501

BANDWIDTH = """\
#@round=0 value=65536
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1000             97.90              97.50              0.185966
#@end=ok
"""


def perftest_launch(benchmark: str, size: int) -> Launch:
    facts: dict[str, Any] = json.loads((LAUNCHES / "ucx-tcp-pingpong-small/launch.json").read_text())
    argv = ("pair", "--each", str(size), "--", "s", "::", "c", "-n", "1000")
    return Launch.model_validate(facts | {"tool": "perftest", "benchmark": benchmark, "case": {}, "argv": argv})


def perftest_parsed(tmp_path: Path, text: str, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_text(text)
    return perftest.parse(tmp_path, launch)


def test_perftests_tables(tmp_path: Path) -> None:
    parsed = perftest_parsed(tmp_path, LATENCY, perftest_launch("pingpong", 2))
    assert {row.metric: row.value for row in parsed.rows} == {"latency": 1.01, "latency_mean": 1.02}
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == (4000, 2000)
    parsed = perftest_parsed(tmp_path, LATENCY, perftest_launch("get", 2))
    assert {row.metric: row.value for row in parsed.rows} == {"time": 1.02}
    parsed = perftest_parsed(tmp_path, BANDWIDTH, perftest_launch("put_stream", 65536))
    assert {row.metric: row.value for row in parsed.rows} == {"stream_bandwidth": pytest.approx(12187.5)}


@pytest.mark.parametrize(
    ("text", "benchmark", "size", "message"),
    [
        (LATENCY.replace(" 2       1000", " 4       1000"), "pingpong", 2, "2 bytes and 1000 iterations"),
        (LATENCY.replace("1000  ", "999  "), "pingpong", 2, "2 bytes and 1000 iterations"),
        (LATENCY.replace("t_typical", "t_tipical"), "pingpong", 2, r"the column t_typical\[usec\]"),
        (LATENCY.replace("1.01 ", "nan "), "pingpong", 2, "a finite number"),
        (LATENCY.replace("1.97", ""), "pingpong", 2, "9 columns"),
        (LATENCY.replace("#bytes", "bytes"), "pingpong", 2, "a table with a row of 2 bytes"),
        (LATENCY, "stream", 2, r"the column BW average\[Gb/sec\]"),
        (BANDWIDTH.replace("Gb/sec", "MB/sec"), "stream", 65536, r"the column BW average\[Gb/sec\]"),
        (BANDWIDTH, "bcast", 65536, "a known benchmark, not 'bcast'"),
    ],
)
def test_text_without_a_perftest_table(tmp_path: Path, text: str, benchmark: str, size: int, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        perftest_parsed(tmp_path, text, perftest_launch(benchmark, size))
