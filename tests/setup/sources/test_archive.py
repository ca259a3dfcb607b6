# SPDX-License-Identifier: Apache-2.0
"""Archives are unpacked into their folder only, and hostile ones leave nothing behind."""

import io
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup.sources import archive
from fabricbench.setup.sources.archive import unpack

TarEntry = tuple[str, bytes, str]
"""Name, tarfile's type, and the target of a link or the content of a file."""


def tar_of(path: Path, *entries: TarEntry) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, text in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
            else:
                info.linkname = text
                tar.addfile(info)
    return path


def zip_of(path: Path, *entries: tuple[str, int, str], times: Mapping[str, float] | None = None) -> Path:
    """Writes a zip archive of entries: name, mode, content; ``times``: their time stamps, by name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, mode, text in entries:
            info = zipfile.ZipInfo(name, time.localtime((times or {}).get(name, 1e9))[:6])
            info.create_system = 3
            info.external_attr = mode << 16
            zipped.writestr(info, text)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "package-1.0"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.c").write_text("int main;")
    (folder / "configure").write_text("#!/bin/sh\n")
    (folder / "configure").chmod(0o755)
    (folder / "src/link.c").symlink_to("main.c")
    return folder


def packed_zip(tree: Path, target: Path) -> Path:
    entries, times = [], {}
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree.parent))
        times[name] = path.lstat().st_mtime
        if path.is_symlink():
            entries.append((name, stat.S_IFLNK | 0o777, os.readlink(path)))
        elif path.is_file():
            entries.append((name, path.stat().st_mode, path.read_text()))
    return zip_of(target, *entries, times=times)


def packed_tar(mode: str) -> Callable[[Path, Path], Path]:
    def pack(tree: Path, target: Path) -> Path:
        with tarfile.open(target, mode) as tar:  # type: ignore[call-overload]
            tar.add(tree, tree.name)
        return target

    return pack


@pytest.mark.parametrize("pack", [packed_tar("w:gz"), packed_tar("w:xz"), packed_tar("w:bz2"), packed_zip])
def test_every_format(tree: Path, tmp_path: Path, pack: Callable[[Path, Path], Path]) -> None:
    unpack(pack(tree, tmp_path / "package.archive"), tmp_path / "out")
    unpacked = tmp_path / "out/package-1.0"
    assert (unpacked / "src/main.c").read_text() == (unpacked / "src/link.c").read_text() == "int main;"
    assert os.access(unpacked / "configure", os.X_OK)
    assert not os.access(unpacked / "src/main.c", os.X_OK)


@pytest.mark.parametrize("pack", [packed_tar("w:gz"), packed_zip])
def test_files_keep_their_times(tree: Path, tmp_path: Path, pack: Callable[[Path, Path], Path]) -> None:
    """make generates a file again that is older than its source."""
    for name, seconds in (("configure", 2_000), ("src/main.c", 1_000)):
        os.utime(tree / name, (1_700_000_000 + seconds,) * 2)
    unpack(pack(tree, tmp_path / "package.archive"), tmp_path / "out")
    unpacked = tmp_path / "out/package-1.0"
    assert (unpacked / "configure").stat().st_mtime - (unpacked / "src/main.c").stat().st_mtime == 1_000


HOSTILE_TARS: dict[str, tuple[TarEntry, ...]] = {
    "absolute": (("/tmp/fabricbench-hostile", tarfile.REGTYPE, "x"),),
    "parent": (("a/../../hostile", tarfile.REGTYPE, "x"),),
    "link out": (("a", tarfile.SYMTYPE, "../.."),),
    "absolute link": (("a", tarfile.SYMTYPE, "/etc"),),
    "hard link out": (("a", tarfile.LNKTYPE, "../../etc/passwd"),),
    "through a link": (("a", tarfile.SYMTYPE, ".."), ("a/hostile", tarfile.REGTYPE, "x")),
    "device": (("a", tarfile.CHRTYPE, ""),),
    "pipe": (("a", tarfile.FIFOTYPE, ""),),
}
HOSTILE_ZIPS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "absolute": (("/tmp/fabricbench-hostile", 0o100644, "x"),),
    "parent": (("a/../../hostile", 0o100644, "x"),),
    "backslash": (("..\\hostile", 0o100644, "x"),),
    "drive": (("C:/hostile", 0o100644, "x"),),
    "link out": (("a", stat.S_IFLNK | 0o777, "../.."),),
    "absolute link": (("a", stat.S_IFLNK | 0o777, "/etc"),),
    "chain of links": (("a", stat.S_IFLNK | 0o777, "."), ("b", stat.S_IFLNK | 0o777, "a/../..")),
    "link through a later one": (("b", stat.S_IFLNK | 0o777, "a/.."), ("a", stat.S_IFLNK | 0o777, ".")),
    "through a link": (("a", stat.S_IFLNK | 0o777, "."), ("a/b", 0o100644, "x")),
    "device": (("a", stat.S_IFCHR | 0o644, ""),),
}


@pytest.mark.parametrize("name", HOSTILE_TARS)
def test_a_hostile_tar(tmp_path: Path, name: str) -> None:
    hostile = tar_of(tmp_path / "x.tar.gz", ("good", tarfile.REGTYPE, "x"), *HOSTILE_TARS[name])
    refused(hostile, tmp_path)


@pytest.mark.parametrize("name", HOSTILE_ZIPS)
def test_a_hostile_zip(tmp_path: Path, name: str) -> None:
    refused(zip_of(tmp_path / "x.zip", ("good", 0o100644, "x"), *HOSTILE_ZIPS[name]), tmp_path)


def refused(hostile: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refusal:
        unpack(hostile, tmp_path / "in/out")
    assert str(hostile) in str(refusal.value)
    assert not (tmp_path / "in/out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in", hostile.name])
    assert list((tmp_path / "in").iterdir()) == []
    assert not Path("/tmp/fabricbench-hostile").exists()


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_contents_beyond_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(archive, limit, 3)
    entries = [(f"f{number}", "12") for number in range(5)]
    for path in (
        tar_of(tmp_path / "x.tar.gz", *((name, tarfile.REGTYPE, text) for name, text in entries)),
        zip_of(tmp_path / "x.zip", *((name, 0o100644, text) for name, text in entries)),
    ):
        with pytest.raises(BadInput, match="its contents are too large"):
            unpack(path, tmp_path / "out")
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [0, 20, 200])
def test_a_damaged_archive(tree: Path, tmp_path: Path, size: int) -> None:
    for pack in (packed_tar("w:gz"), packed_tar("w:xz"), packed_tar("w:bz2"), packed_zip):
        whole = pack(tree, tmp_path / "package")
        cut = tmp_path / "cut"
        cut.write_bytes(whole.read_bytes()[:size])
        with pytest.raises(BadInput):
            unpack(cut, tmp_path / "out")
        assert not (tmp_path / "out").exists()
