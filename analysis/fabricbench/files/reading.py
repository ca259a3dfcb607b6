# SPDX-License-Identifier: Apache-2.0
"""Reads files that may come from anywhere, such as those of a campaign: regular files of bounded size only.

A FIFO, a device, a socket, a directory or a symbolic link in place of a file is refused at once and never opened for
reading, so that no file can make a command hang. ``NotRegular`` and ``TooLarge`` are OSErrors with a ``strerror``.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

LARGEST_FACTS_BYTES = 16 << 20
"""The most that is read of a file of facts: JSON of the harness, its launch wrapper or its witness."""
LARGEST_OUTPUT_BYTES = 64 << 20
"""The most that is read of the output of a benchmark."""

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
    """Something else than a regular file has the name of a file that is to be read."""

    def __init__(self, mode: int, path: str | Path) -> None:
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        super().__init__(errno.EINVAL, f"{kind}, not a regular file", str(path))


class TooLarge(OSError):
    """A file is larger than anything that belongs there."""

    def __init__(self, most: int, path: str | Path) -> None:
        super().__init__(errno.EFBIG, f"larger than {most} bytes", str(path))


def open_regular(path: str | Path, flags: int = os.O_RDONLY, *, dir_fd: int | None = None) -> int:
    """A descriptor of the regular file at ``path``, relative to the directory ``dir_fd`` if given.

    Raises NotRegular for anything else. With ``os.O_CREAT`` in ``flags`` a missing file is made.
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
    """The text file at ``path``, opened to write ("w"), append ("a") or both read and append ("a+")."""
    flags = {"w": os.O_WRONLY | os.O_TRUNC, "a": os.O_WRONLY | os.O_APPEND, "a+": os.O_RDWR | os.O_APPEND}[mode]
    descriptor = open_regular(path, flags | os.O_CREAT)
    return open(descriptor, mode, buffering=1, encoding="utf-8", errors="replace")


def read_regular(path: str | Path, most: int = LARGEST_FACTS_BYTES, *, dir_fd: int | None = None) -> bytes:
    """The bytes of the regular file at ``path``; TooLarge where there are more than ``most``."""
    descriptor = open_regular(path, dir_fd=dir_fd)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise TooLarge(most, path)
        data = os.read(descriptor, size + 1)
        if len(data) == size:
            return data
        with open(descriptor, "rb", closefd=False) as stream:  # a file that grows, or of which less came than asked
            data += stream.read(most + 1 - len(data))
        if len(data) > most:
            raise TooLarge(most, path)
        return data
    finally:
        os.close(descriptor)


def read_ends(path: str | Path, first: int, last: int, *, dir_fd: int | None = None) -> bytes:
    """At most ``first`` bytes from the beginning of a regular file and ``last`` from its end, none of them twice."""
    with open(open_regular(path, dir_fd=dir_fd), "rb") as stream:
        data = stream.read(first)
        stream.seek(max(len(data), os.fstat(stream.fileno()).st_size - last))
        return data + stream.read(last)


def is_regular(path: str | Path) -> bool:
    """Whether a regular file has this name; a symbolic link to one is none."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _demand_regular(facts: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise NotRegular(facts.st_mode, path)


def last_lines(path: Path) -> str:
    """The last lines of a file that say something, in one line of at most 600 characters; empty where none does."""
    try:
        text = read_ends(path, 0, 8192).decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [" ".join(line.split()) for line in text.splitlines() if any(map(str.isalnum, line))]
    return " | ".join(lines[-_LAST_LINES:])[-600:]
