# SPDX-License-Identifier: Apache-2.0
"""An output of the project's own benchmarks that is cut off or wrong is unreadable."""

import contextlib
import random
from pathlib import Path

import pytest

from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.micro import COLUMNS, parse
from support.launches import LAUNCHES, launch_of, text_of
from support.micro_output import SMALL, by_case, output, parse_text, synthetic


def test_an_output_without_a_payload(tmp_path: Path) -> None:
    assert parse_text(tmp_path, synthetic([(8, 0, 1)])).payload is None
    payload = parse_text(tmp_path, synthetic([(8, 0, 1)], facts="#@payload_bytes=16\n#@payload_messages=2")).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (16, 2)


@pytest.mark.parametrize("payload", ["-1", "nan", "1e9", "", "٣"])
def test_an_invalid_payload(tmp_path: Path, payload: str) -> None:
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, synthetic([(8, 0, 1)], facts=f"#@payload_bytes={payload}"))


def test_an_unverified_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="verified=yes"):
        parse_text(tmp_path, text_of(SMALL).replace("#@verified=yes", "#@verified=no"))


@pytest.mark.parametrize("end", ["", "#@end=failed", "#@end=o", "#@end="])
def test_an_output_without_its_end_is_refused(tmp_path: Path, end: str) -> None:
    with pytest.raises(Unreadable, match="cut off"):
        parse_text(tmp_path, text_of(SMALL).replace("#@end=ok", end))


@pytest.mark.parametrize("ranks", ["1", "4", "two"])
def test_a_world_of_the_wrong_size_is_refused(tmp_path: Path, ranks: str) -> None:
    with pytest.raises(Unreadable, match=f"expected 2 ranks, not {ranks}"):
        parse_text(tmp_path, text_of(SMALL).replace("#@ranks=2", f"#@ranks={ranks}"))


def test_a_world_of_unknown_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="expected 2 ranks, not unknown"):
        parse_text(tmp_path, text_of(SMALL).replace("#@ranks=2\n", ""))


def same_or_unreadable(tmp_path: Path, text: str | bytes, whole: Parsed) -> bool:
    """Returns whether a cut text still gives all rows. Only Unreadable gives False; any other outcome fails."""
    try:
        assert parse_text(tmp_path, text) == whole
    except Unreadable:
        return False
    return True


def test_cut_off_at_any_line(tmp_path: Path) -> None:
    lines, whole = text_of(SMALL).splitlines(keepends=True), parse(LAUNCHES / SMALL, launch_of(SMALL))
    for count in range(len(lines) + 1):
        assert same_or_unreadable(tmp_path, "".join(lines[:count]), whole) == (count == len(lines))


def test_cut_off_at_any_byte(tmp_path: Path) -> None:
    raw, whole = text_of(SMALL).encode(), parse(LAUNCHES / SMALL, launch_of(SMALL))
    complete = raw.rindex(b"#@end=ok") + len(b"#@end=ok")
    lengths = random.Random(20261121).sample(range(len(raw)), 300) + list(range(complete - 60, len(raw)))
    for length in lengths:
        assert same_or_unreadable(tmp_path, raw[:length], whole) == (length >= complete)


def test_bytes_missing_in_an_output_raise_no_other_error(tmp_path: Path) -> None:
    draw, text = random.Random(7), text_of(SMALL)
    for _ in range(200):
        at = draw.randrange(len(text))
        with contextlib.suppress(Unreadable):
            parse_text(tmp_path, text[:at] + text[at + draw.randrange(1, 100) :])


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_output_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreadable, match="empty"):
        parse_text(tmp_path, content)


def test_binary_data_are_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="stdout:1: expected text, this is binary"):
        parse_text(tmp_path, b"\x7fELF\x00\x00")


def test_text_of_another_tool(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        parse_text(
            tmp_path, "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1                       0.27\n"
        )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-0.5", "1e999", "", "<i>1</i>", "\x1b[1m2"])
def test_a_sample_that_is_not_a_number(tmp_path: Path, value: str) -> None:
    with pytest.raises(Unreadable, match=r"stdout:5: expected a (finite )?number"):
        parse_text(tmp_path, synthetic([(8, 0, value)]))


@pytest.mark.parametrize("samples", [["1e308", "1e308", "1e308"], ["1e-320"]])
def test_samples_with_infinite_statistics(tmp_path: Path, samples: list[str]) -> None:
    with pytest.raises(Unreadable, match="samples of pingpong at 8 bytes"):
        parse_text(tmp_path, synthetic([(8, 0, value) for value in samples]))


@pytest.mark.parametrize("size", [-8, 8.0, "nan", "9" * 20, "²"])
def test_a_size_that_is_not_a_whole_number(tmp_path: Path, size: object) -> None:
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, synthetic([(8, 0, 1)]).replace("pingpong,,8,", f"pingpong,,{size},"))


def test_a_line_that_is_not_a_sample(tmp_path: Path) -> None:
    for line in ("mpirun: a warning", "pingpong,,8,0,0,1.0", "pingpong,,8,0,0,1.0,latency_us,more"):
        with pytest.raises(Unreadable, match=r"stdout:4: expected 'benchmark,case"):
            parse_text(tmp_path, synthetic([]).replace(COLUMNS, f"{COLUMNS}\n{line}"))


def test_an_unknown_metric_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="latency_us, not 'latency_s'"):
        parse_text(tmp_path, text_of(SMALL).replace("latency_us", "latency_s"))


@pytest.mark.parametrize("missing", [1, 7])
def test_missing_samples_are_unreadable(tmp_path: Path, missing: int) -> None:
    lines = text_of(SMALL).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("pingpong,,8,"))
    with pytest.raises(Unreadable, match=f"samples at 8 bytes, not {20 - missing}"):
        parse_text(tmp_path, "\n".join(lines[:first] + lines[first + missing :]))


def test_text_before_the_header_is_not_a_sample(tmp_path: Path) -> None:
    assert parse_text(tmp_path, "a banner, of a library\n" + text_of(SMALL)) == parse(
        LAUNCHES / SMALL, launch_of(SMALL)
    )


def test_a_very_large_output_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("wb") as stream:
        stream.truncate(65 * 2**20)
    with pytest.raises(Unreadable, match="at most 67108864 bytes"):
        parse(tmp_path, launch_of(SMALL))


def test_a_missing_sample_of_one_rank_is_unreadable(tmp_path: Path) -> None:
    text = output("bcast", ("call_us", "", 8, {0: [1.0, 2.0], 1: [3.0, 4.0]}, {}), reporting=2)
    assert by_case(parse_text(tmp_path, text))
    with pytest.raises(Unreadable, match="4 samples at 8 bytes, not 3"):
        parse_text(tmp_path, text.replace("bcast,,8,1,1,4.0,call_us\n", ""))
