# SPDX-License-Identifier: Apache-2.0
"""OSU's tables of three versions: every number of the captured text, and what must not be taken for one."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.core.launch import Launch
from fabricbench.core.record import Row
from fabricbench.parsers.collect import collect
from fabricbench.parsers.osu import PROGRAMS, parse, version_of
from fabricbench.parsers.output import Parsed, Unreadable

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
CAPTURES = sorted(path.name for path in LAUNCHES.glob("*-osu*") if not path.name.startswith("failed-"))
LATENCY = "mpich-tcp-osu74-latency-small"
ALLREDUCE = "mpich-tcp-osu532-allreduce-large"
BARRIER = "openmpi-shm-osu532-barrier"
PAIRS = "openmpi-tcp-osu74-mbw-mr-large"
ATOMIC = "openmpi-tcp-osu74-fop"
BANDWIDTH = "mpich-tcp-osu57-bw-large"

# The metrics that the columns of a captured table stand for, in order; None is no metric.
COLUMNS: dict[str, list[str | None]] = {
    "osu_latency": ["latency", None],
    "osu_bw": ["bandwidth"],
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


def launch_of(name: str, **changes: object) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes()).model_copy(update=changes)


def program_of(name: str) -> str:
    return Path(launch_of(name).argv[0]).name


def text_of(name: str) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return parse(tmp_path, launch)


def read_by_eye(name: str) -> dict[tuple[str, int | None], float]:
    """The rows of a captured table: independent of the parser's way to them."""
    values: dict[tuple[str, int | None], float] = {}
    for line in re.findall(r"^[ \d].*\d\.\d\d.*$", text_of(name), flags=re.MULTILINE):
        words = line.split()
        size = None if program_of(name) == "osu_barrier" else int(words.pop(0))
        for metric, word in zip(COLUMNS[program_of(name)], words, strict=True):
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
    assert not parsed.gaps
    assert {row.benchmark for row in parsed.rows} == {PROGRAMS[program_of(name)].benchmark}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captured_tables_hold_what_the_launch_expects(name: str) -> None:
    wanted = {(item.metric, size) for item in launch_of(name).expected for size in item.msg_sizes_bytes or (None,)}
    assert set(as_dict(parse(LAUNCHES / name, launch_of(name)).rows)) == wanted


@pytest.mark.parametrize("name", CAPTURES)
def test_the_launches_version_is_recorded(name: str) -> None:
    assert f"v{launch_of(name).versions['osu']}\n" in text_of(name)


def test_the_case_is_the_launches() -> None:
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
        # 220 iterations, each after 5 that warm up for the validation: there and back; a barrier per iteration
        (LATENCY, 220 * 6 * 2 * SMALL, 15 * 220 * (6 * 2 + 2)),
        # without validation no barrier, 3 iterations of 64 messages and one acknowledgement
        (BANDWIDTH, 3 * 64 * LARGE, 6 * 3 * 2),
        # 3 iterations of 6 windows, a barrier before each
        (PAIRS, 3 * 6 * 64 * LARGE, 6 * 3 * 6 * (2 + 2)),
        # a request and its answer
        ("openmpi-tcp-osu74-put-latency-small", 220 * SMALL, 15 * 220 * 2),
        # the old operand comes back
        ("openmpi-tcp-osu57-get-acc-latency-small", 220 * 2 * SMALL, 15 * 220 * 2),
        (ATOMIC, 220 * 2 * 4, 220 * 2),
        # every rank gets one message; a barrier after each call; 11 iterations
        (ALLREDUCE, 11 * 2 * LARGE, 6 * 11 * (2 + 2)),
        # from 8 B on; the two shares are the size; 6 calls and barriers an iteration
        ("mpich-shm-osu74-reduce-scatter-small", 220 * 6 * (SMALL - 7), 12 * 220 * 6 * (2 + 2)),
        (BARRIER, 0, 220 * 2),
    ],
)
def test_payload_counted_by_hand(name: str, bytes_: int, messages: int) -> None:
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


def synthetic(title: str, head: str, *rows: str) -> str:
    return "\n".join(["", f"# OSU MPI {title} Test v5.7", head, *rows, ""])


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
    """Ten calls at 16 bytes, a barrier of four messages after each."""
    launch = launch_of(ALLREDUCE, ranks=4, argv=(program, "-m", "16:16", "-i", "8", "-x", "2", "-f"))
    head = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    payload = parse_text(tmp_path, synthetic("Some", head, "16  2.00  1.00  3.00  8"), launch).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (10 * 16 * bytes_, 10 * (messages + 4))


def test_percentiles_are_read_over(tmp_path: Path) -> None:
    launch = launch_of(LATENCY, argv=("osu_latency", "-m", "8:8", "-i", "8", "-x", "2", "-z"))
    head = "# Size       Avg Latency(us)    P50 Tail Lat(us)    P95 Tail Lat(us)    P99 Tail Lat(us)"
    rows = parse_text(tmp_path, synthetic("Latency", head, "8   4.00  3.00  5.00  6.00"), launch).rows
    assert as_dict(rows) == {("latency", 8): 4.0}


def test_what_osu_rounds_to_nothing_is_a_gap(tmp_path: Path) -> None:
    launch = launch_of(BANDWIDTH, argv=("osu_bw", "-m", "1:2", "-i", "8", "-x", "2"))
    text = synthetic("Bandwidth", "# Size      Bandwidth (MB/s)", "1   0.00", "2   0.01")
    parsed = parse_text(tmp_path, text, launch)
    assert as_dict(parsed.rows) == {("bandwidth", 2): 0.01}
    assert [(gap.benchmark, gap.case, gap.msg_size_bytes) for gap in parsed.gaps] == [
        ("unidirectional", "window=64", 1)
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (LATENCY, "Pass", "Fail", "data that pass the validation, not 'Fail'"),
        (ATOMIC, "passed", "failed", "data that pass the validation, not 'failed'"),
        (ATOMIC, "PASSED", "FAILED", "data that pass the validation"),
        (LATENCY, "        Validation", "", "the column validation"),
        (LATENCY, "Validation", "Checked", "a known column, not 'Checked'"),
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
def test_what_contradicts_the_launch(tmp_path: Path, name: str, old: str, new: str, expected: str) -> None:
    assert old in text_of(name)
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(name).replace(old, new), launch_of(name))


@pytest.mark.parametrize("value", ["nan", "inf", "-1.00", "1e999", "*****", "0x10"])
def test_what_is_no_value(tmp_path: Path, value: str) -> None:
    text = re.sub(r"(?m)^(65536 +)\S+", rf"\g<1>{value}", text_of(BANDWIDTH))
    with pytest.raises(Unreadable, match=r"stdout:\d+: expected a (finite )?number"):
        parse_text(tmp_path, text, launch_of(BANDWIDTH))


@pytest.mark.parametrize("name", CAPTURES)
def test_cut_off_at_any_byte(tmp_path: Path, name: str) -> None:
    """Only what comes after the table may be missing: what OSU says of validation behind it."""
    launch, raw = launch_of(name), (LAUNCHES / name / "stdout").read_bytes()
    whole = parse(LAUNCHES / name, launch)
    ends = [match.end() for match in re.finditer(rb"(?m)^[ \d].*\d\.\d\d.*\n", raw)]
    for cut in random.Random(7).sample(range(1, len(raw)), min(150, len(raw) - 1)):
        try:
            assert parse_text(tmp_path, raw[:cut], launch) == whole
            assert cut >= ends[-1]
        except Unreadable:
            assert cut < ends[-1] or raw[cut - 1 : cut] != b"\n"


@pytest.mark.parametrize("name", CAPTURES)
def test_a_hole_in_a_table_is_noticed(tmp_path: Path, name: str) -> None:
    lines = text_of(name).splitlines(keepends=True)
    for at, line in enumerate(lines):
        if re.match(r"^[ \d].*\d\.\d\d", line):
            with pytest.raises(Unreadable, match="row"):
                parse_text(tmp_path, "".join(lines[:at] + lines[at + 1 :]), launch_of(name))


def test_damage_is_unreadable_or_harmless(tmp_path: Path) -> None:
    draw, launch = random.Random(20261121), launch_of(LATENCY)
    raw = (LAUNCHES / LATENCY / "stdout").read_bytes()
    for _ in range(300):
        damaged = bytearray(raw)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        with contextlib.suppress(Unreadable):
            parse_text(tmp_path, bytes(damaged), launch)


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\0\1\2", b"\xff\xfe\n", b"no such file or directory\n"])
def test_what_is_no_output_of_osu(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(Unreadable):
        parse_text(tmp_path, raw, launch_of(LATENCY))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("osu_unheard_of",), "a known program of OSU, not 'osu_unheard_of'"),
        ((), "a known program of OSU, not ''"),
        (("osu_latency", "-i", "8", "-x", "2"), "-m MIN:MAX among the arguments of osu_latency"),
        (("osu_latency", "-m", "0:8", "-i", "8", "-x", "2"), "-m MIN:MAX"),
        (("osu_latency", "-m", "1:8", "-x", "2"), "a whole number, not 'no -i'"),
        (("osu_latency", "-m", "1:8", "-i", "8", "-x", "-2"), "a whole number, not '-2'"),
    ],
)
def test_a_command_line_that_says_too_little(tmp_path: Path, argv: tuple[str, ...], expected: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(LATENCY), launch_of(LATENCY, argv=argv))


def test_a_real_validation_that_failed_gives_no_number() -> None:
    """OSU exits with 0 all the same."""
    for path in LAUNCHES.glob("failed-*-osu*"):
        record = collect(path)
        assert (record.state, record.rows) == ("unreadable", ())
        assert "data that pass the validation, not 'failed'" in record.reason


def test_versions_compare_as_numbers() -> None:
    assert sorted(["7.10", "5.3.2", "7.4", "5.10", "5.9"], key=version_of) == ["5.3.2", "5.9", "5.10", "7.4", "7.10"]
