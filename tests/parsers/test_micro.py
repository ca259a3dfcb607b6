# SPDX-License-Identifier: Apache-2.0
"""Parses captured outputs of the project's own benchmarks: every value, the payload, the expected rows."""

import statistics
from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.micro import parse
from support.launches import LAUNCHES, launch_of, text_of
from support.micro_output import CAPTURES, SMALL, parse_text, synthetic, values


def test_known_samples(tmp_path: Path) -> None:
    # Size 1000, both ranks together: 2 4 6 100, so median 5 and mean 28; 1000 B / 5 us = 200 MB/s.
    text = synthetic([(0, 0, 3), (0, 0, 1), (0, 0, 2), (1000, 0, 100), (1000, 0, 4), (1000, 1, 2), (1000, 1, 6)])
    assert values(parse_text(tmp_path, text)) == {
        ("latency", 0): 2,
        ("latency_mean", 0): 2,
        ("latency", 1000): 5,
        ("latency_mean", 1000): 28,
        ("bandwidth", 1000): 200,
    }


def test_a_latency_of_0_has_no_bandwidth(tmp_path: Path) -> None:
    assert ("bandwidth", 8) not in values(parse_text(tmp_path, synthetic([(8, 0, 0), (8, 0, 0)])))


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_samples(name: str) -> None:
    samples: dict[int, list[float]] = {}
    for line in text_of(name).splitlines():
        if line.endswith(",latency_us"):
            words = line.split(",")
            samples.setdefault(int(words[2]), []).append(float(words[5]))
    expected = {}
    for size, each in samples.items():
        median = statistics.median(each)
        expected["latency", size] = pytest.approx(median, abs=5e-7)
        expected["latency_mean", size] = pytest.approx(statistics.fmean(each), abs=5e-7)
        if size:
            expected["bandwidth", size] = pytest.approx(size / median, abs=5e-7)
    assert values(parse(LAUNCHES / name, launch_of(name))) == expected
    assert len(samples) == 12


def test_the_captured_samples_at_0_bytes_by_hand() -> None:
    # The middle two of twenty are 4.582 and 4.747; all sum to 94.683.
    result = values(parse(LAUNCHES / SMALL, launch_of(SMALL)))
    assert result["latency", 0] == 4.6645
    assert result["latency_mean", 0] == 4.73415


@pytest.mark.parametrize("name", CAPTURES[:2])
def test_captured_payload(name: str) -> None:
    # 12 sizes, 0 to 1024 B, sum to 2047; 1 verified, 100 warm-up, 20 timed round trips of two messages.
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (2 * 121 * 2047, 2 * 121 * 12)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captures_have_the_expected_rows(name: str) -> None:
    expected = {(item.metric, size) for item in launch_of(name).expected for size in item.msg_sizes_bytes or ()}
    assert set(values(parse(LAUNCHES / name, launch_of(name)))) == expected


ENDPOINTS = ("libfabric-shm-multiconn-small", "libfabric-tcp-multiconn-small")


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_number_of_connections_over_libfabric(name: str) -> None:
    samples: dict[tuple[str, str, str], list[float]] = {}
    for line in text_of(name).splitlines():
        if line.startswith("multiconn,"):
            _, case, bytes_, _, _, value, metric = line.split(",")
            samples.setdefault((metric, case, bytes_), []).append(float(value))
    expected: dict[tuple[str, str, int | None], object] = {}
    for (metric, case, number), each in samples.items():
        size = int(number)
        assert len(each) == 10
        median, messages = statistics.median(each), 16 * int(case.removeprefix("connections="))
        if metric == "normalised_latency_us":
            expected["normalised_latency", case, size] = pytest.approx(median, abs=5e-7)
        else:
            expected["message_rate", case, size] = pytest.approx(messages / median * 1e6, abs=5e-7)
            if size:
                expected["bandwidth", case, size] = pytest.approx(messages * size / median, abs=5e-7)
                expected["bandwidth_mean", case, size] = pytest.approx(
                    messages * size / statistics.fmean(each), abs=5e-7
                )
    parsed = parse(LAUNCHES / name, launch_of(name))
    assert {(row.metric, row.case, row.msg_size_bytes): row.value for row in parsed.rows} == expected
    assert len(samples) == 2 * 2 * 5
    # 36 rounds of 2 messages and 21 windows of 16, on 1 and on 4 connections, of 0, 1, 8, 64 and 512 bytes; of
    # consecutive messages on a connection one counts.
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == ((36 * 2 + 21 * 16) * 5 * 585, (36 + 21) * 2 * 5 * 5)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_output_of_connections_that_is_cut(tmp_path: Path, share: float) -> None:
    lines = text_of(ENDPOINTS[0]).splitlines()
    with pytest.raises(Unreadable, match="cut off"):
        parse_text(tmp_path, "\n".join(lines[: int(len(lines) * share)]), launch_of(ENDPOINTS[0]))


def test_a_sample_of_connections_that_is_lost(tmp_path: Path) -> None:
    lines = [line for line in text_of(ENDPOINTS[0]).splitlines() if "connections=4,8,1,9," not in line]
    with pytest.raises(Unreadable, match="10 samples at 8 bytes, not 9"):
        parse_text(tmp_path, "\n".join(lines), launch_of(ENDPOINTS[0]))


def test_a_number_of_connections_that_was_refused_is_a_skip(tmp_path: Path) -> None:
    lines = [line for line in text_of(ENDPOINTS[0]).splitlines() if "connections:4" not in line]
    lines = [line for line in lines if not line.startswith("multiconn,connections=4")]
    lines.insert(-3, "#@gap.connections:4.8=fi_endpoint: Too many open files")
    parsed = parse_text(tmp_path, "\n".join(lines), launch_of(ENDPOINTS[0]))
    (skip,) = parsed.skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("multiconn", "connections=4", 8)
    assert skip.reason == "fi_endpoint: Too many open files"
    assert {row.case for row in parsed.rows} == {"connections=1"}
