# SPDX-License-Identifier: Apache-2.0
"""Parses IMB-MPI1's tables: every number of the captures, and texts that contain no valid table."""

import re
from pathlib import Path

import pytest

from fabricbench.launch.record import Row
from fabricbench.parsers.tools.imb import parse
from parsers.imb_captures import CAPTURES, PT2PT, parse_text, synthetic
from support.launches import LAUNCHES, launch_of, text_of

# The headers of the captured tables, and the metrics of the columns after the second.
PINGPONG = ["latency", "bandwidth"]

TIMES = ["time_min", "time_max", "time"]

EXCHANGE = [*TIMES, "exchange_bandwidth"]

SECTIONS = {
    "PingPong": PINGPONG,
    "Sendrecv": EXCHANGE,
    "Exchange": EXCHANGE,
    "Allreduce": TIMES,
    "Alltoall": TIMES,
    "Bcast": TIMES,
    "Allgather": TIMES,
    "Barrier": TIMES,
}


def read_by_eye(text: str) -> dict[tuple[str, str, int | None], float]:
    """Reads the values of an output section by section, with code that is independent of the parser."""
    values: dict[tuple[str, str, int | None], float] = {}
    for section in text.split("# Benchmarking ")[1:]:
        name = section.split()[0]
        for line in re.findall(r"^ +[\d. ]+$", section, flags=re.MULTILINE):
            words = line.split()
            size = None if name == "Barrier" else int(words.pop(0))
            for metric, word in zip(SECTIONS[name], words[1:], strict=True):
                if not (size == 0 and "bandwidth" in metric):
                    values[name.lower(), metric, size] = float(word)
    return values


def as_dict(rows: tuple[Row, ...]) -> dict[tuple[str, str, int | None], float]:
    values = {(row.benchmark, row.metric, row.msg_size_bytes): row.value for row in rows}
    assert len(values) == len(rows)
    return values


@pytest.mark.parametrize("name", CAPTURES)
def test_every_number_of_the_captured_tables(name: str) -> None:
    rows = parse(LAUNCHES / name, launch_of(name)).rows
    assert as_dict(rows) == read_by_eye(text_of(name))
    assert {row.case for row in rows} == {""}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captured_tables_have_the_expected_rows(name: str) -> None:
    values = as_dict(parse(LAUNCHES / name, launch_of(name)).rows)
    expected = {
        (item.benchmark, item.metric, size)
        for item in launch_of(name).expected
        for size in item.msg_sizes_bytes or (None,)
    }
    assert set(values) == expected


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (PT2PT, ("pingpong", "latency", 0, 4.60)),
        (PT2PT, ("pingpong", "latency", 8, 10.83)),
        (PT2PT, ("pingpong", "bandwidth", 1024, 63.57)),
        (PT2PT, ("sendrecv", "time_min", 8, 111.02)),
        (PT2PT, ("sendrecv", "time_max", 0, 6.40)),
        (PT2PT, ("sendrecv", "exchange_bandwidth", 1024, 122.61)),
        (PT2PT, ("exchange", "time", 1024, 22.38)),
        ("mpich-tcp-imb-pt2pt-large", ("pingpong", "bandwidth", 4194304, 2218.30)),
        ("mpich-tcp-imb-pt2pt-large", ("exchange", "time_max", 4194304, 7916.45)),
        ("mpich-tcp-imb-collectives-small", ("allreduce", "time", 8, 52.12)),
        ("mpich-tcp-imb-collectives-small", ("allreduce", "time_max", 0, 0.11)),
        ("mpich-tcp-imb-collectives-small", ("alltoall", "time_max", 1024, 156.91)),
        ("mpich-tcp-imb-collectives-small", ("barrier", "time", None, 38.01)),
        ("impi-shm-imb-collectives-small", ("bcast", "time", 8, 10.58)),
        ("impi-shm-imb-collectives-small", ("allgather", "time_min", 1024, 0.77)),
        ("impi-shm-imb-collectives-small", ("barrier", "time_max", None, 0.44)),
    ],
)
def test_single_lines_of_the_captures(name: str, line: tuple[str, str, int | None, float]) -> None:
    *key, value = line
    assert as_dict(parse(LAUNCHES / name, launch_of(name)).rows)[tuple(key)] == value  # type: ignore[index]


def test_messages_of_0_bytes_have_no_bandwidth() -> None:
    rows = parse(LAUNCHES / PT2PT, launch_of(PT2PT)).rows
    assert not [row for row in rows if row.msg_size_bytes == 0 and "bandwidth" in row.metric]


@pytest.mark.parametrize(
    ("name", "bytes_", "messages"),
    [
        # 0, 1, 2, 4, … 1024 sum to 2047, in 12 sizes, each 400 times. A ping-pong moves its size in both directions,
        # Sendrecv once per rank, Exchange to two neighbours per rank: 2 + 2 + 4 sizes, and 2 + 2 + 2 messages.
        (PT2PT, 8 * 400 * 2047, 6 * 400 * 12),
        # 2 to 32 KiB (63488 bytes in all) 400 times, then 7 sizes of 16 MiB in all each, 256 down to 4 times.
        (
            "mpich-tcp-imb-pt2pt-large",
            8 * (400 * 63488 + 7 * 16 * 2**20),
            6 * (5 * 400 + 256 + 128 + 64 + 32 + 16 + 8 + 4),
        ),
        # 4 to 1024 sum to 2044, in 9 sizes; nothing moves at 0. Two ranks: allreduce, alltoall and allgather 2 sizes
        # and 2 messages each, broadcast one; 400 barriers of 2 messages, and one after each call, 4 times 10 sizes.
        ("mpich-tcp-imb-collectives-small", 7 * 400 * 2044, 7 * 400 * 9 + 2 * 400 + 4 * 10 * 400 * 2),
        ("impi-shm-imb-collectives-small", 7 * 400 * 2044, 7 * 400 * 9 + 2 * 400 + 4 * 10 * 400 * 2),
        (
            "lying-impi-tcp-imb-collectives-large",
            7 * (400 * 63488 + 5 * 16 * 2**20),
            (7 + 4 * 2) * (5 * 400 + 256 + 128 + 64 + 32 + 16),
        ),
    ],
)
def test_payload_counted_by_hand(name: str, bytes_: int, messages: int) -> None:
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


def test_the_untimed_pass_counts_if_it_is_certain() -> None:
    """With -iter_policy off IMB runs the printed number of repetitions twice."""
    launch = launch_of(PT2PT)
    once = parse(LAUNCHES / PT2PT, launch).payload
    twice = parse(LAUNCHES / PT2PT, launch.model_copy(update={"argv": (*launch.argv, "-iter_policy", "off")})).payload
    assert once is not None
    assert twice is not None
    assert (twice.bytes, twice.messages) == (2 * once.bytes, 2 * once.messages)


@pytest.mark.parametrize(
    ("title", "bytes_", "messages"),
    [
        ("Sendrecv", 4 * 10 * 8, 4 * 10),
        ("Exchange", 8 * 10 * 8, 4 * 10),
        # and a barrier of four messages after each call
        ("Allreduce", 4 * 10 * 8, (4 + 4) * 10),
        ("Alltoall", 12 * 10 * 8, (4 + 4) * 10),
        ("Bcast", 3 * 10 * 8, (3 + 4) * 10),
        ("Allgather", 12 * 10 * 8, (4 + 4) * 10),
        ("Allgatherv", 12 * 10 * 8, (4 + 4) * 10),
        ("Alltoallv", 12 * 10 * 8, (4 + 4) * 10),
        ("Gather", 3 * 10 * 8, (3 + 4) * 10),
        ("Gatherv", 3 * 10 * 8, (3 + 4) * 10),
        ("Scatter", 3 * 10 * 8, (3 + 4) * 10),
        ("Scatterv", 3 * 10 * 8, (3 + 4) * 10),
        ("Reduce", 3 * 10 * 8, (3 + 4) * 10),
        ("Reduce_scatter", 4 * 10 * 8, (4 + 4) * 10),
        ("Reduce_scatter_block", 4 * 10 * 8, (4 + 4) * 10),
        ("Reduce_local", 0, 4 * 10),
    ],
)
def test_payload_of_four_ranks(tmp_path: Path, title: str, bytes_: int, messages: int) -> None:
    launch = launch_of(PT2PT).model_copy(update={"ranks": 4})
    bandwidth = title in ("Sendrecv", "Exchange")
    columns = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]" + " Mbytes/sec" * bandwidth
    payload = parse_text(
        tmp_path, synthetic(title, 4, columns, "  8 10 1.0 1.0 1.0" + " 8.0" * bandwidth), launch
    ).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


@pytest.mark.parametrize("source", ["", "SpecificSource", "AnySource"])
@pytest.mark.parametrize("name", ["PingPong", "PingPing"])
def test_a_rank_pair_among_four_ranks(tmp_path: Path, name: str, source: str) -> None:
    launch = launch_of(PT2PT).model_copy(update={"ranks": 4})
    columns = "#bytes #repetitions t[usec] Mbytes/sec"
    payload = parse_text(tmp_path, synthetic(name + source, 2, columns, "  8 10 1.0 8.0"), launch).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (160, 20)
