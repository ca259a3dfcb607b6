# SPDX-License-Identifier: Apache-2.0
"""Damaged outputs of IMB-MPI1 are unreadable."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES
from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.imb import parse
from parsers.imb_captures import CAPTURES, CLOSING, PT2PT, parse_text, synthetic
from support.launches import LAUNCHES, launch_of, text_of


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
    complete = raw.index(CLOSING.encode()) + len(CLOSING)
    lengths = random.Random(20261121).sample(range(len(raw)), 300) + list(range(complete - 60, len(raw)))
    for length in lengths:
        assert same_or_unreadable(tmp_path, raw[:length], whole, launch) == (length >= complete)


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
