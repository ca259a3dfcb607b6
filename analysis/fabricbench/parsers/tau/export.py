# SPDX-License-Identifier: Apache-2.0
"""Writes a profile as one file per thread, the form that TAU's pprof and ParaProf read."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import open_lines, packed_files, read_mark, read_profile, thread_files
from fabricbench.parsers.tau.text import Lines


def export(launch: Path, ranks: int, directory: Path) -> int:
    """Writes ``directory/profile.RANK.0.THREAD`` for each thread of the profile in ``launch``; returns their number.

    ``directory`` is created. BadInput if the profile is unreadable, and if ``directory`` exists and is not empty:
    no file is replaced.
    """
    try:
        profile = read_profile(launch, ranks)
        _create(directory)
        for file in packed_files(launch):
            with open_lines(file, file.name) as lines:
                _unpack(lines, directory)
        for file in thread_files(launch):
            with open_lines(file, file.name) as lines:
                _write(directory / file.name, _rest(lines))
    except Unreadable as error:
        raise BadInput(str(error), where=str(launch)) from None
    return len(profile.threads)


def _create(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
    except OSError as error:
        raise BadInput(
            f"cannot be used: {error.strerror}", where=str(directory), expected="a new or an empty directory"
        ) from None


def _unpack(lines: Lines, directory: Path) -> None:
    while lines.peek() is not None:
        rank, thread = read_mark(lines)
        _write(directory / f"profile.{rank}.0.{thread}", _text(lines))


def _text(lines: Lines) -> Iterator[str]:
    """Yields the lines up to the next mark. The second line of a text, which begins with ``# Name``, is no mark."""
    while (line := lines.peek()) is not None and not line.startswith("# profile."):
        yield lines.take("a line")


def _rest(lines: Lines) -> Iterator[str]:
    while lines.peek() is not None:
        yield lines.take("a line")


def _write(path: Path, lines: Iterator[str]) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
