# SPDX-License-Identifier: Apache-2.0
"""An output of OSU that is cut off, damaged or foreign is unreadable."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.osu import parse
from support.launches import LAUNCHES, launch_of, text_of
from support.osu_output import CAPTURES, LATENCY, parse_text


@pytest.mark.parametrize(
    "value", ["nan", "inf", "1_0", "１.00", "+1.00", "1e", "infinity", "-1.00", "1e999", "*****", "0x10"]
)
def test_an_invalid_value(tmp_path: Path, value: str) -> None:
    text = re.sub(r"(?m)^(65536 +)\S+", rf"\g<1>{value}", text_of("mpich-tcp-osu57-bw-large"))
    with pytest.raises(Unreadable, match=r"stdout:\d+: expected a (finite )?number"):
        parse_text(tmp_path, text, launch_of("mpich-tcp-osu57-bw-large"))


@pytest.mark.parametrize("name", CAPTURES)
def test_cut_off_at_any_byte(tmp_path: Path, name: str) -> None:
    """Only the text after the table may be missing: OSU's message about the validation."""
    launch, raw = launch_of(name), (LAUNCHES / name / "stdout").read_bytes()
    whole = parse(LAUNCHES / name, launch)
    ends = [match.end() for match in re.finditer(rb"(?m)^[ \d].*\d\.\d\d.*\n", raw)]
    for length in random.Random(7).sample(range(1, len(raw)), min(150, len(raw) - 1)):
        try:
            assert parse_text(tmp_path, raw[:length], launch) == whole
            assert length >= ends[-1]
        except Unreadable:
            assert length < ends[-1] or raw[length - 1 : length] != b"\n"


@pytest.mark.parametrize("name", CAPTURES)
def test_bytes_missing_in_a_table_are_unreadable(tmp_path: Path, name: str) -> None:
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
def test_text_without_an_osu_table(tmp_path: Path, raw: bytes) -> None:
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
def test_an_incomplete_command_line(tmp_path: Path, argv: tuple[str, ...], expected: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(LATENCY), launch_of(LATENCY, argv=argv))


def test_a_failed_validation_gives_no_value() -> None:
    """OSU exits with 0 even though its validation failed."""
    for path in LAUNCHES.glob("failed-*-osu*"):
        record = collect(path)
        assert (record.state, record.rows) == ("unreadable", ())
        assert "data that pass the validation, not 'failed'" in record.reason
