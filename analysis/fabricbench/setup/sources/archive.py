# SPDX-License-Identifier: Apache-2.0
"""Unpacks a source archive (tar.gz, tar.xz, tar.bz2, zip) without writing outside the folder or filling the disk."""

import lzma
import os
import shutil
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn

from fabricbench.errors import BadInput

MOST_FILES = 100_000
MOST_BYTES = 4 * 10**9
"""Limits of an archive's contents: GROMACS, the largest of the packages, has 6000 files and 150 MB."""
LARGEST_TARGET_BYTES = 4096
"""The longest target of a symbolic link in a zip archive."""
_KINDS = "a tar.gz, tar.xz, tar.bz2, tar or zip archive"
_CHUNK_BYTES = 1 << 20
_DAMAGED = (
    OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError,
)  # fmt: skip


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks ``archive`` into the new ``folder``.

    Raises BadInput, and leaves no folder, if the archive is damaged or too large, or if an entry is a device, lies
    outside the folder, or is a link that points outside.
    """
    try:
        folder.mkdir(parents=True)
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, folder)
        elif tarfile.is_tarfile(archive):
            _unpack_tar(archive, folder)
        else:
            raise BadInput("not an archive that is known here", where=str(archive), expected=_KINDS)
    except _DAMAGED as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BadInput(f"cannot be unpacked: {str(error)[:200]}", where=str(archive), expected=_KINDS) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unpack_tar(archive: Path, folder: Path) -> None:
    trusted = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
    with tarfile.open(archive) as tar:
        for member in _within_limits(tar, archive):
            _check(member, folder.resolve(), archive)
            # The first releases of Python 3.11 have no filters.
            tar.extract(member, folder, **trusted)  # type: ignore[arg-type]


def _check(member: tarfile.TarInfo, folder: Path, archive: Path) -> None:
    """Refuses a member that is not a file, folder or link inside the folder. Sets its owner to the user.

    The folder may hold links from earlier members, so the path is followed as it is on the disk.
    """
    name = member.name[:100]
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise BadInput(f"{name!r} is a device or a pipe", where=str(archive))
    inside = folder / _inside(member.name, archive)
    if not Path(os.path.realpath(inside)).is_relative_to(folder):
        raise BadInput(f"{name!r} lies outside the folder", where=str(archive))
    if member.issym() or member.islnk():
        start = inside.parent if member.issym() else folder
        if not Path(os.path.realpath(start / member.linkname)).is_relative_to(folder):
            raise BadInput(f"{name!r} is a link that points outside the folder", where=str(archive))
    member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    executable = member.isdir() or member.mode & 0o100
    member.mode = 0o755 if executable else 0o644


def _within_limits(tar: tarfile.TarFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    total = 0
    for number, member in enumerate(tar):
        total += member.size
        if number >= MOST_FILES or total > MOST_BYTES:
            _too_large(archive)
        yield member


def _unpack_zip(archive: Path, folder: Path) -> None:
    total = 0
    with zipfile.ZipFile(archive) as zipped:
        entries = zipped.infolist()
        if len(entries) > MOST_FILES:
            _too_large(archive)
        links = []
        for entry in entries:
            target = folder / _inside(entry.filename, archive)
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif kind == stat.S_IFLNK:
                links.append((target, entry))
            elif kind in (0, stat.S_IFREG):
                target.parent.mkdir(parents=True, exist_ok=True)
                with zipped.open(entry) as source:
                    total += _copy(source, target, MOST_BYTES - total, archive)
                target.chmod(0o755 if entry.external_attr >> 16 & 0o100 else 0o644)
                _set_time(target, entry)
            else:
                raise BadInput(f"{entry.filename[:100]!r} is a device or a socket", where=str(archive))
        for target, entry in links:  # last, so that no file is written through a link
            _link(zipped, entry, target)
        for target, entry in links:  # after all, because a link may lead through another
            if not target.resolve().is_relative_to(folder.resolve()):
                raise BadInput(f"{entry.filename[:100]!r} is a link that points outside the folder", where=str(archive))


def _set_time(target: Path, entry: zipfile.ZipInfo) -> None:
    """Sets the time stamp of the entry: make would otherwise generate files again that seem older than their source."""
    try:
        seconds = time.mktime((*entry.date_time, 0, 0, -1))
    except (OverflowError, ValueError):
        return
    os.utime(target, (seconds, seconds))


def _inside(name: str, archive: Path) -> PurePosixPath:
    """Returns the path of an entry below the folder; raises BadInput for one that lies outside."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name.split("/")[0] or "\0" in name:
        raise BadInput(f"{name[:100]!r} lies outside the folder", where=str(archive))
    return path


def _copy(source: IO[bytes], target: Path, room: int, archive: Path) -> int:
    """Copies a file of at most ``room`` bytes, whatever size its entry states; returns its size."""
    size = 0
    with target.open("xb") as stream:
        while chunk := source.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > room:
                _too_large(archive)
            stream.write(chunk)
    return size


def _link(zipped: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    with zipped.open(entry) as stream:
        text = stream.read(LARGEST_TARGET_BYTES).decode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(text)


def _too_large(archive: Path) -> NoReturn:
    limit = f"at most {MOST_FILES} files and {MOST_BYTES / 1e9:.0f} GB"
    raise BadInput("its contents are too large", where=str(archive), expected=limit)
