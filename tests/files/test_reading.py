# SPDX-License-Identifier: Apache-2.0
"""Only regular files of limited size are read."""

import os
import re
from pathlib import Path

import pytest

from fabricbench.files.reading import NotRegular, TooLarge, is_regular, open_log, read_ends, read_regular
from support.fake_site import REPOSITORY
from support.hostile import NOT_REGULAR

OWN_FILES = {"files/reading.py", "files/yaml_lines.py", "site/stacks.py", "site/spack.py"}
"""Modules that also read files of a site, of set-up or of Spack, which their user wrote."""


@pytest.mark.parametrize("kind", sorted(NOT_REGULAR))
def test_a_file_that_is_not_regular_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    assert (read_regular(file), is_regular(file)) == (b"text", True)
    NOT_REGULAR[kind](file)
    assert not is_regular(file)
    with pytest.raises(NotRegular, match=r"(link|FIFO|directory|socket), not a regular file"):
        read_regular(file)
    with pytest.raises(NotRegular):
        read_ends(file, 1, 1)
    for mode in ("w", "a", "a+"):
        with pytest.raises(NotRegular):
            open_log(file, mode)


def test_a_device_is_refused() -> None:
    with pytest.raises(NotRegular, match="a device"):
        read_regular("/dev/zero")


def test_a_large_file_is_refused_before_reading(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    assert read_regular(file, 100) == b"x" * 100
    with pytest.raises(TooLarge, match="larger than 99 bytes"):
        read_regular(file, 99)
    os.truncate(file, 1 << 40)
    with pytest.raises(TooLarge):
        read_regular(file)


def test_a_file_larger_than_its_reported_size(tmp_path: Path) -> None:
    assert os.stat("/proc/self/status").st_size == 0
    assert b"Name:" in read_regular("/proc/self/status")
    with pytest.raises(TooLarge):
        read_regular("/proc/self/status", 10)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(3, 3, b"012789"), (0, 4, b"6789"), (20, 20, b"0123456789"), (6, 6, b"0123456789"), (4, 0, b"0123")],
)
def test_a_large_file_is_read_at_its_beginning_and_end(tmp_path: Path, first: int, last: int, expected: bytes) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_ends(tmp_path / "file", first, last) == expected


def test_only_listed_modules_open_files_directly() -> None:
    package = REPOSITORY / "analysis/fabricbench"
    reading = re.compile(r"\.read_bytes\(|\.read_text\(|\bopen\(")
    rooms = ("launch", "attestation", "parsers", "campaign")
    for file in sorted(file for room in rooms for file in (package / room).rglob("*.py")):
        name = str(file.relative_to(package))
        lines = [line for line in file.read_text().splitlines() if reading.search(line) and '"x' not in line]
        allowed = {"campaign/write.py": ["REQUIREMENTS).read_bytes()"], "campaign/cache.py": ["os.open("]}
        allowed |= {"parsers/tau/files.py": ["open(descriptor"]}  # of open_regular
        allowed |= {"parsers/tools/micro/description.py": ["FILE.read_bytes()"]}  # a file of this package
        allowed |= {"campaign/digest.py": ["os.open(directory", "total.update(path.read_bytes())"]}
        remaining = [line for line in lines if not any(part in line for part in allowed.get(name, ()))]
        assert name in OWN_FILES or not remaining, f"{name}: {remaining}"
