# SPDX-License-Identifier: Apache-2.0
"""Reads files of unknown origin, such as those of a campaign: only regular files of limited size.

A FIFO, device, socket, directory or symbolic link in place of a file is refused and never opened for reading, so that
no file can block a command. ``NotRegular`` and ``TooLarge`` are OSErrors with a ``strerror``.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

LARGEST_FACTS_BYTES = 16 << 20
"""The largest accepted JSON file of the harness, its launch wrapper or its witness."""
LARGEST_OUTPUT_BYTES = 64 << 20
"""The largest accepted output of a benchmark."""

_FIRST_LINES = 4
_LAST_LINES = 8
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegular(OSError):
    """A file to be read is not a regular file."""

    def __init__(self, mode: int, path: str | Path) -> None:
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        super().__init__(errno.EINVAL, f"{kind}, not a regular file", str(path))


class TooLarge(OSError):
    """A file is larger than accepted."""

    def __init__(self, most: int, path: str | Path) -> None:
        super().__init__(errno.EFBIG, f"larger than {most} bytes", str(path))


def open_regular(path: str | Path, flags: int = os.O_RDONLY, *, dir_fd: int | None = None) -> int:
    """Returns a descriptor of the regular file at ``path``, relative to the directory ``dir_fd`` if given.

    Raises NotRegular for any other kind of file. With ``os.O_CREAT`` in ``flags`` a missing file is created.
    """
    try:
        _demand_regular(os.stat(path, dir_fd=dir_fd, follow_symlinks=False), path)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | _FLAGS, 0o666, dir_fd=dir_fd)
    try:
        _demand_regular(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_log(path: str | Path, mode: str) -> IO[str]:
    """Opens the text file at ``path`` to write ("w"), to append ("a"), or to read and append ("a+")."""
    flags = {"w": os.O_WRONLY | os.O_TRUNC, "a": os.O_WRONLY | os.O_APPEND, "a+": os.O_RDWR | os.O_APPEND}[mode]
    descriptor = open_regular(path, flags | os.O_CREAT)
    return open(descriptor, mode, buffering=1, encoding="utf-8", errors="replace")


def read_regular(path: str | Path, most: int = LARGEST_FACTS_BYTES, *, dir_fd: int | None = None) -> bytes:
    """Returns the content of the regular file at ``path``; raises TooLarge if it has more than ``most`` bytes."""
    descriptor = open_regular(path, dir_fd=dir_fd)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise TooLarge(most, path)
        data = os.read(descriptor, size + 1)
        if len(data) == size:
            return data
        with open(descriptor, "rb", closefd=False) as stream:  # the file grows, or the read was short
            data += stream.read(most + 1 - len(data))
        if len(data) > most:
            raise TooLarge(most, path)
        return data
    finally:
        os.close(descriptor)


def read_ends(path: str | Path, first: int, last: int, *, dir_fd: int | None = None) -> bytes:
    """Returns at most ``first`` bytes from the begin and ``last`` from the end of a regular file, without overlap."""
    with open(open_regular(path, dir_fd=dir_fd), "rb") as stream:
        data = stream.read(first)
        stream.seek(max(len(data), os.fstat(stream.fileno()).st_size - last))
        return data + stream.read(last)


def is_regular(path: str | Path) -> bool:
    """Returns whether ``path`` is a regular file; a symbolic link is not."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _demand_regular(facts: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise NotRegular(facts.st_mode, path)


def last_lines(path: Path) -> str:
    """Returns the last lines with letters or digits of a file as one line of at most 600 characters; empty if none."""
    try:
        return _last(_text_lines(read_ends(path, 0, 8192)))
    except OSError:
        return ""


def first_and_last_lines(path: Path) -> str:
    """Returns the first and the last lines with letters or digits of a file as one line; empty if none.

    The first lines have at most 300 characters, the last lines at most 600. " … " stands for the lines between them.
    MPI libraries print the cause first and then stack traces of every rank, or first warnings and then the cause.
    """
    try:
        if path.stat().st_size <= 8192:
            lines = _text_lines(read_ends(path, 0, 8192))
            begin, end, whole = lines[:_FIRST_LINES], lines[_FIRST_LINES:], len(lines) <= _FIRST_LINES + _LAST_LINES
        else:
            begin = _text_lines(read_ends(path, 4096, 0))[:_FIRST_LINES]
            end, whole = _text_lines(read_ends(path, 0, 8192)), False
    except OSError:
        return ""
    first, last = " | ".join(begin), _last(end)
    if len(first) > 300:
        first, whole = first[:300], False
    whole = whole and len(" | ".join(end)) <= 600
    return (" | " if whole else " … ").join(part for part in (first, last) if part)


def _text_lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", errors="replace")
    return [" ".join(line.split()) for line in text.splitlines() if any(map(str.isalnum, line))]


def _last(lines: list[str]) -> str:
    return " | ".join(lines[-_LAST_LINES:])[-600:]
