# SPDX-License-Identifier: Apache-2.0
"""Parses IMB-MPI1's tables: every number of the captures, and texts that contain no valid table."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.imb import parse

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
PT2PT = "mpich-tcp-imb-pt2pt-small"
CAPTURES = (
    PT2PT,
    "mpich-tcp-imb-pt2pt-large",
    "mpich-tcp-imb-collectives-small",
    "impi-shm-imb-collectives-small",
    "impi-tcp-imb-collectives-small",
    "lying-impi-tcp-imb-collectives-large",
)
CLOSING = "# All processes entering MPI_Finalize"

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


def launch_of(name: str) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes())


def text_of(name: str) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch | None = None) -> Parsed:
    raw = text.encode() if isinstance(text, str) else text
    (tmp_path / "stdout").write_bytes(raw)
    return parse(tmp_path, launch or launch_of(PT2PT))


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


def synthetic(title: str, ranks: int, columns: str, *rows: str) -> str:
    return "\n".join([f"# Benchmarking {title} ", f"# #processes = {ranks} ", columns, *rows, "", CLOSING, ""])


@pytest.mark.parametrize(
    ("title", "bytes_", "messages"),
    [
        ("Sendrecv", 4 * 10 * 8, 4 * 10),
        ("Exchange", 8 * 10 * 8, 4 * 10),
        # and a barrier of four messages after each call
        ("Allreduce", 4 * 10 * 8, (4 + 4) * 10),
        ("Alltoall", 12 * 10 * 8, (12 + 4) * 10),
        ("Bcast", 3 * 10 * 8, (3 + 4) * 10),
        ("Allgather", 12 * 10 * 8, (4 + 4) * 10),
        ("Allgatherv", 12 * 10 * 8, (4 + 4) * 10),
        ("Alltoallv", 12 * 10 * 8, (12 + 4) * 10),
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


@pytest.mark.parametrize("ranks", ["1", "4"])
@pytest.mark.parametrize("name", [PT2PT, "mpich-tcp-imb-collectives-small"])
def test_a_world_of_the_wrong_size_is_refused(tmp_path: Path, name: str, ranks: str) -> None:
    text = text_of(name).replace("# #processes = 2", f"# #processes = {ranks}")
    with pytest.raises(Unreadable, match=rf"2 processes, not {ranks}"):
        parse_text(tmp_path, text, launch_of(name))


def test_a_section_without_a_number_of_processes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="#processes"):
        parse_text(tmp_path, text_of(PT2PT).replace("# #processes = 2 \n", ""))


def same_or_unreadable(tmp_path: Path, text: str | bytes, whole: Parsed, launch: Launch) -> bool:
    """Returns whether a cut text still gives all rows. Only Unreadable gives False; any other outcome fails."""
    try:
        assert parse_text(tmp_path, text, launch) == whole
    except Unreadable:
        return False
    return True


@pytest.mark.parametrize("name", CAPTURES[:3])
def test_cut_off_at_any_line(tmp_path: Path, name: str) -> None:
    launch, lines = launch_of(name), text_of(name).splitlines(keepends=True)
    whole = parse(LAUNCHES / name, launch)
    closing = next(at for at, line in enumerate(lines) if CLOSING in line)
    for count in range(len(lines)):
        complete = same_or_unreadable(tmp_path, "".join(lines[:count]), whole, launch)
        assert complete == (count > closing)


def test_cut_off_at_any_byte(tmp_path: Path) -> None:
    launch, raw = launch_of(PT2PT), (LAUNCHES / PT2PT / "stdout").read_bytes()
    whole = parse(LAUNCHES / PT2PT, launch)
    required = raw.index(CLOSING.encode()) + len(CLOSING)
    lengths = random.Random(20261121).sample(range(len(raw)), 300) + list(range(required - 60, len(raw)))
    for length in lengths:
        assert same_or_unreadable(tmp_path, raw[:length], whole, launch) == (length >= required)


def test_bytes_missing_in_a_table_raise_no_other_error(tmp_path: Path) -> None:
    draw, lines = random.Random(7), text_of(PT2PT).splitlines(keepends=True)
    for _ in range(200):
        start = draw.randrange(len(lines))
        damaged = "".join(lines[:start] + lines[start + draw.randrange(1, 6) :])
        at, n = draw.randrange(len(damaged)), draw.randrange(1, 30)
        with contextlib.suppress(Unreadable):
            parse_text(tmp_path, damaged[:at] + damaged[at + n :])


@pytest.mark.parametrize("content", [b"", b"\n \n\t\n"])
def test_an_empty_output_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreadable, match="stdout: expected the tool's output, the file is empty"):
        parse_text(tmp_path, content)


def test_a_missing_output_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="missing"):
        parse(tmp_path, launch_of(PT2PT))


def test_binary_data_are_reported_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"stdout:3: expected text, this is binary"):
        parse_text(tmp_path, b"a\nb\n\x00\x01\n" + text_of(PT2PT).encode())


def test_random_bytes_raise_no_other_error(tmp_path: Path) -> None:
    draw = random.Random(11)
    for _ in range(50):
        with pytest.raises(Unreadable):
            parse_text(tmp_path, draw.randbytes(2000))


OSU = """\
# OSU MPI Latency Test v7.3
# Size          Latency (us)
1                       0.27
2                       0.27
"""


def test_text_of_another_tool(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="MPI_Finalize"):
        parse_text(tmp_path, OSU)


def test_text_of_another_tool_before_the_output_is_ignored(tmp_path: Path) -> None:
    assert parse_text(tmp_path, OSU + text_of(PT2PT)) == parse(LAUNCHES / PT2PT, launch_of(PT2PT))


ROW_64 = re.compile(r"^( +64 +400 +)(\S+)( +\S+)$", re.MULTILINE)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "-1.00", "1e999", "<b>1</b>", "1,5", "\x1b[31m1", "0x10"])
def test_a_column_without_a_number(tmp_path: Path, word: str) -> None:
    text, replaced = ROW_64.subn(rf"\g<1>{word}\g<3>", text_of(PT2PT), count=1)
    assert replaced == 1
    at = text[: text.index(word)].count("\n") + 1
    with pytest.raises(Unreadable, match=rf"stdout:{at}: expected a (finite )?number"):
        parse_text(tmp_path, text)


@pytest.mark.parametrize("word", ["nan", "-400", "4e2", "400.0", "9" * 30])
def test_a_fractional_number_of_repetitions(tmp_path: Path, word: str) -> None:
    text = ROW_64.sub(lambda row: row.group(0).replace(" 400 ", f" {word} "), text_of(PT2PT), count=1)
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, text)


def test_a_row_with_a_column_too_few_or_many(tmp_path: Path) -> None:
    for change in (r"\g<1>\g<2>", r"\g<1>\g<2>\g<3> 1.0"):
        with pytest.raises(Unreadable, match="4 columns"):
            parse_text(tmp_path, ROW_64.sub(change, text_of(PT2PT), count=1))


def test_a_table_without_repetitions(tmp_path: Path) -> None:
    text = synthetic("PingPong", 2, "#bytes t[usec]", "  8 1.0")
    with pytest.raises(Unreadable, match="stdout:3: expected the columns #bytes #repetitions"):
        parse_text(tmp_path, text)


def test_an_unknown_benchmark(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="a known benchmark, not 'pongping'"):
        parse_text(tmp_path, text_of(PT2PT).replace("# Benchmarking PingPong", "# Benchmarking PongPing"))


def test_a_very_large_output_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("wb") as stream:
        stream.truncate(65 * 2**20)
    assert LARGEST_OUTPUT_BYTES < 65 * 2**20
    with pytest.raises(Unreadable, match=f"at most {LARGEST_OUTPUT_BYTES} bytes"):
        parse(tmp_path, launch_of(PT2PT))
