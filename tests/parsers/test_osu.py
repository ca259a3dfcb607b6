# SPDX-License-Identifier: Apache-2.0
"""Parses OSU's tables of three versions: every number of the captures, payload and case."""

import re
from pathlib import Path

import pytest

from fabricbench.launch.record import Row
from fabricbench.parsers.osu_programs import PROGRAMS
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.osu import parse
from support.launches import LAUNCHES, launch_of, text_of
from support.osu_output import CAPTURES, LATENCY, parse_text, synthetic

ALLREDUCE = "mpich-tcp-osu532-allreduce-large"


BARRIER = "openmpi-shm-osu532-barrier"


PAIRS = "openmpi-tcp-osu74-mbw-mr-large"


ATOMIC = "openmpi-tcp-osu74-fop"


BANDWIDTH = "mpich-tcp-osu57-bw-large"


# The metrics of a captured table's columns, in order; None for a column that is not a metric.
# A key with a version applies to that version only.
COLUMNS: dict[str, list[str | None]] = {
    "osu_latency": ["latency", None],
    "osu_latency 5.7": ["latency"],
    "osu_bw": ["bandwidth"],
    "osu_bw_fan_in": ["bandwidth"],  # under the title "Avg Latency(us)"
    "osu_mbw_mr": ["bandwidth", "message_rate", None],
    "osu_multi_lat": ["latency"],
    "osu_put_latency": ["latency"],
    "osu_get_acc_latency": ["latency"],
    "osu_put_bibw": ["bandwidth"],
    "osu_fop_latency": ["latency", None],
    "osu_allreduce": ["time", "time_min", "time_max", None],
    "osu_reduce_scatter": ["time", "time_min", "time_max", None, None],
    "osu_barrier": ["time", "time_min", "time_max", None],
}


def program_of(name: str) -> str:
    return Path(launch_of(name).argv[0]).name


def read_by_eye(name: str) -> dict[tuple[str, int | None], float]:
    """Reads the rows of a captured table, with code that is independent of the parser."""
    program = program_of(name)
    columns = COLUMNS.get(f"{program} {launch_of(name).versions['osu']}", COLUMNS[program])
    values: dict[tuple[str, int | None], float] = {}
    for line in re.findall(r"^[ \d].*\d\.\d\d.*$", text_of(name), flags=re.MULTILINE):
        words = line.split()
        size = None if program == "osu_barrier" else int(words.pop(0))
        for metric, word in zip(columns, words, strict=True):
            if metric:
                values[metric, size] = float(word)
    return values


def as_dict(rows: tuple[Row, ...]) -> dict[tuple[str, int | None], float]:
    values = {(row.metric, row.msg_size_bytes): row.value for row in rows}
    assert len(values) == len(rows)
    return values


def test_captures_of_three_versions() -> None:
    titles = [re.search(r" v([\d.]+)$", text_of(name), flags=re.MULTILINE) for name in CAPTURES]
    assert {title.group(1) for title in titles if title} == {"5.3.2", "5.7", "7.4"}


@pytest.mark.parametrize("name", CAPTURES)
def test_every_number_of_the_captured_tables(name: str) -> None:
    parsed = parse(LAUNCHES / name, launch_of(name))
    assert as_dict(parsed.rows) == read_by_eye(name)
    assert not parsed.skips
    assert {row.benchmark for row in parsed.rows} == {PROGRAMS[program_of(name)].benchmark}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captured_tables_have_the_expected_rows(name: str) -> None:
    expected = {(item.metric, size) for item in launch_of(name).expected for size in item.msg_sizes_bytes or (None,)}
    assert set(as_dict(parse(LAUNCHES / name, launch_of(name)).rows)) == expected


@pytest.mark.parametrize("name", CAPTURES)
def test_the_version_of_the_program_is_recorded(name: str) -> None:
    assert f"v{launch_of(name).versions['osu']}\n" in text_of(name)


def test_the_rows_have_the_case_of_the_launch() -> None:
    rows = parse(
        LAUNCHES / "openmpi-tcp-osu74-put-latency-small", launch_of("openmpi-tcp-osu74-put-latency-small")
    ).rows
    assert {row.case for row in rows} == {"sync=flush win=create"}
    assert {row.case for row in parse(LAUNCHES / PAIRS, launch_of(PAIRS)).rows} == {"pairs=1 window=64"}


SMALL = sum(2**k for k in range(15))  # 1 B to 16 KiB, 15 sizes


LARGE = sum(2**k for k in range(15, 21))  # 32 KiB to 1 MiB, 6 sizes


@pytest.mark.parametrize(
    ("name", "bytes_", "messages"),
    [
        # 220 round trips, each after 5 warm-up iterations of the validation; a barrier per iteration
        (LATENCY, 220 * 6 * 2 * SMALL, 15 * 220 * (6 * 2 + 2)),
        # without validation no barrier, 3 iterations of 64 messages and one acknowledgement
        (BANDWIDTH, 3 * 64 * LARGE, 6 * 3 * 2),
        # 3 iterations of 6 windows, a barrier before each
        (PAIRS, 3 * 6 * 64 * LARGE, 6 * 3 * 6 * (2 + 2)),
        # a request and its answer
        ("openmpi-tcp-osu74-put-latency-small", 220 * SMALL, 15 * 220 * 2),
        # the target returns the old operand
        ("openmpi-tcp-osu57-get-acc-latency-small", 220 * 2 * SMALL, 15 * 220 * 2),
        (ATOMIC, 220 * 2 * 4, 220 * 2),
        # every rank gets one message; a barrier after each call; 11 iterations
        (ALLREDUCE, 11 * 2 * LARGE, 6 * 11 * (2 + 2)),
        # from 8 B; the two shares sum to the size; 6 calls and barriers per iteration
        ("mpich-shm-osu74-reduce-scatter-small", 220 * 6 * (SMALL - 7), 12 * 220 * 6 * (2 + 2)),
        (BARRIER, 0, 220 * 2),
    ],
)
def test_payload_counted_by_hand(name: str, bytes_: int, messages: int) -> None:
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


@pytest.mark.parametrize(
    ("program", "bytes_", "messages"),
    [
        ("osu_allreduce", 4, 4),
        ("osu_allgather", 12, 4),
        ("osu_alltoall", 12, 4),
        ("osu_bcast", 3, 3),
        ("osu_reduce", 3, 3),
        ("osu_reduce_scatter", 1, 4),
        ("osu_gather", 3, 3),
        ("osu_scatter", 3, 3),
    ],
)
def test_payload_of_four_ranks(tmp_path: Path, program: str, bytes_: int, messages: int) -> None:
    """Ten calls of 16 bytes, each followed by a barrier of four messages."""
    launch = launch_of(ALLREDUCE, ranks=4, argv=(program, "-m", "16:16", "-i", "8", "-x", "2", "-f"))
    head = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    payload = parse_text(tmp_path, synthetic(program, head, "16  2.00  1.00  3.00  8"), launch).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (10 * 16 * bytes_, 10 * (messages + 4))


def test_percentiles_are_ignored(tmp_path: Path) -> None:
    launch = launch_of(LATENCY, argv=("osu_latency", "-m", "8:8", "-i", "8", "-x", "2", "-z"))
    head = "# Size       Avg Latency(us)    P50 Tail Lat(us)    P95 Tail Lat(us)    P99 Tail Lat(us)"
    text = synthetic("osu_latency", head, "8   4.00  3.00  5.00  6.00", version="7.4")
    assert as_dict(parse_text(tmp_path, text, launch).rows) == {("latency", 8): 4.0}
    without = launch_of(LATENCY, argv=("osu_latency", "-m", "8:8", "-i", "8", "-x", "2"))
    with pytest.raises(Unreadable, match="stdout:3: expected the columns 'Size, Avg Latency"):
        parse_text(tmp_path, text, without)


def test_a_value_rounded_to_0_is_a_skip(tmp_path: Path) -> None:
    launch = launch_of(BANDWIDTH, argv=("osu_bw", "-m", "1:2", "-i", "8", "-x", "2"))
    text = synthetic("osu_bw", "# Size      Bandwidth (MB/s)", "1   0.00", "2   0.01")
    parsed = parse_text(tmp_path, text, launch)
    assert as_dict(parsed.rows) == {("bandwidth", 2): 0.01}
    assert [(skip.benchmark, skip.case, skip.msg_size_bytes) for skip in parsed.skips] == [
        ("unidirectional", "window=64", 1)
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (LATENCY, "Pass", "Fail", "data that pass the validation, not 'Fail'"),
        (ATOMIC, "passed", "failed", "data that pass the validation, not 'failed'"),
        (ATOMIC, "PASSED", "FAILED", "data that pass the validation"),
        (LATENCY, "        Validation", "", "the columns 'Size, Avg Latency(us), Validation' of osu_latency"),
        (LATENCY, "Validation", "Checked", "not 'Size Avg Latency(us) Checked'"),
        (LATENCY, "Avg Latency(us)", "Avg Latency(ms)", "not 'Size Avg Latency(ms) Validation'"),
        (LATENCY, "Avg Latency(us)", "Latency (us)", "not 'Size Latency (us) Validation'"),
        (LATENCY, "MPI Latency", "MPI-CUDA Latency", "'OSU MPI Latency Test', not 'OSU MPI-CUDA Latency Test'"),
        (BANDWIDTH, "(MB/s)", "(MiB/s)", "stdout:2: expected the columns 'Size, Bandwidth (MB/s)' of osu_bw, not"),
        (PAIRS, "        Messages/s", "", "the columns 'Size, MB/s, Messages/s, Validation' of osu_mbw_mr"),
        (BARRIER, "Min", "Mid", "the columns 'Avg Latency(us), Min Latency(us), Max Latency(us), Iterations'"),
        (ATOMIC, "MPI_INT", "MPI_FLOAT", "the launch's datatype, mpi_int, not mpi_float"),
        (LATENCY, "# OSU MPI Latency Test v7.4\n", "", "OSU's title"),
        (LATENCY, "# OSU MPI Latency Test v7.4\n", "# OSU MPI Latency Test v7.4\n" * 2, "one world of 2 ranks"),
        (PAIRS, "pairs: 1", "pairs: 2", "pairs, 1, not 2"),
        (PAIRS, "window size: 64", "window size: 32", "messages in a window, 64, not 32"),
        (BARRIER, " 200\n", " 100\n", "200 iterations, not 100"),
        ("openmpi-tcp-osu74-put-latency-small", "MPI_Win_flush", "MPI_Win_lock/unlock", "synchronization"),
        ("openmpi-tcp-osu74-put-latency-small", "MPI_Win_create", "MPI_Win_allocate", "window creation"),
        (BANDWIDTH, "\n65536 ", "\n65537 ", "the row of 65536 bytes"),
        (BANDWIDTH, "\n65536 ", "\n6 5536 ", "2 columns"),
    ],
)
def test_a_table_that_contradicts_the_launch(tmp_path: Path, name: str, old: str, new: str, expected: str) -> None:
    assert old in text_of(name)
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(name).replace(old, new), launch_of(name))
