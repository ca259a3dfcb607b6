# SPDX-License-Identifier: Apache-2.0
"""Damaged outputs of a client and a server are unreadable."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools import iperf3, qperf, ucx_perftest
from parsers.client_server_captures import CAPTURES, IPERF3, sections
from support.launches import LAUNCHES, launch_of, text_of

TABLES = [name for name, parse in CAPTURES.items() if parse is not iperf3.parse]


def parse_text(tmp_path: Path, name: str, text: str | bytes, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return CAPTURES[name](tmp_path, launch or launch_of(name))


def unreadable(tmp_path: Path, name: str, text: str | bytes, launch: Launch | None = None) -> str:
    with pytest.raises(Unreadable) as caught:
        parse_text(tmp_path, name, text, launch)
    return str(caught.value)


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
