# SPDX-License-Identifier: Apache-2.0
"""Finds and reads the files of a profile: TAU's directories, and the files per node of this project's profiler.

TAU writes one file per thread, ``profile.RANK.CONTEXT.THREAD``. If it measures several metrics, it writes one directory
``MULTI__METRIC`` of such files for each. This project's profiler writes one file per node, ``profile.HOST.txt``: the
texts of the node's threads one after the other, each after a line ``# profile.RANK.0.THREAD``.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES, open_regular, read_ends
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.model import Profile, ThreadProfile
from fabricbench.parsers.tau.text import Lines, read_thread

THREAD_FILE = re.compile(r"profile\.([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")
PACKED_FILE = re.compile(r"profile\..{1,255}\.txt", re.DOTALL)
METRIC_DIRECTORY = re.compile(r"MULTI__([A-Za-z0-9_:.\-]{1,200})")

TIME = "TIME"
"""TAU's metric of wall time, and the only one of this project's profiler."""

_MARK = re.compile(r"# profile\.([0-9]{1,9})\.0\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the files and directories of a profile in one directory, by form."""

    threads: tuple[str, ...]
    packed: tuple[str, ...]
    metrics: tuple[str, ...]


def read_profile(directory: Path, ranks: int, metric: str = TIME) -> Profile:
    """Returns the profile in ``directory`` of a program on ``ranks`` ranks, for one of its metrics.

    Unreadable with file and line if a text is not TAU's format, if a rank or its thread 0 is missing, appears twice or
    was not launched, and if the metric is another one.
    """
    return _checked(read_threads(directory, metric), ranks, metric)


def has_profile(directory: Path) -> bool:
    """Returns whether ``directory`` holds files of a profile."""
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(pattern.fullmatch(name) for name in names for pattern in (THREAD_FILE, PACKED_FILE, METRIC_DIRECTORY))


def size_of_profile(directory: Path) -> int:
    """Returns the bytes of the files of a profile in ``directory``, without those in directories of metrics."""
    try:
        with os.scandir(directory) as entries:
            files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
            patterns = (THREAD_FILE, PACKED_FILE)
            return sum(one.stat().st_size for one in files if any(pattern.fullmatch(one.name) for pattern in patterns))
    except OSError:
        return 0


def preload_error(directory: Path) -> str:
    """Returns the dynamic linker's message that it could not preload a library; empty if it gave none."""
    try:
        text = read_ends(directory / "stderr", 1 << 16, 1 << 16).decode("utf-8", errors="replace")
    except OSError:
        return ""
    return next((line.strip()[:300] for line in text.splitlines() if "cannot be preloaded" in line), "")


def read_threads(directory: Path, metric: str = TIME) -> Iterator[ThreadProfile]:
    """Yields the threads in the files of ``directory`` in their order, without a check of the ranks."""
    names = _names(directory)
    if names.metrics:
        if f"MULTI__{metric}" not in names.metrics:
            raise Unreadable(f"MULTI__{metric}", None, f"a directory; there are {', '.join(names.metrics)}")
        yield from _thread_files(directory / f"MULTI__{metric}", f"MULTI__{metric}/")
    elif names.packed:
        for name in names.packed:
            yield from _packed(directory / name)
    else:
        yield from _thread_files(directory, "")


def metrics_in(directory: Path) -> tuple[str, ...]:
    """Returns the metrics of a directory with ``MULTI__METRIC`` directories; empty if there are none."""
    return tuple(name.removeprefix("MULTI__") for name in _names(directory).metrics)


def packed_files(directory: Path) -> tuple[Path, ...]:
    """Returns the files per node of this project's profiler; empty if the profile has another form."""
    return tuple(directory / name for name in _names(directory).packed)


def thread_files(directory: Path) -> tuple[Path, ...]:
    """Returns the files per thread, by rank and thread; empty if the profile has another form."""
    return tuple(directory / name for name in _names(directory).threads)


@contextmanager
def open_lines(path: Path, file: str) -> Iterator[Lines]:
    """Opens a file of a profile to read its lines; Unreadable if it is missing, no regular file, or too large."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        raise Unreadable(file, None, "a file, it is missing") from None
    except OSError as error:
        raise Unreadable(file, None, f"a file that can be read ({error.strerror})") from None
    with open(descriptor, "rb") as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST_OUTPUT_BYTES:
            raise Unreadable(file, None, f"at most {LARGEST_OUTPUT_BYTES} bytes")
        yield Lines(stream, file)


def read_mark(lines: Lines) -> tuple[int, int]:
    """Reads the line before a text in a file per node, and returns rank and thread."""
    match = _MARK.fullmatch(lines.take("'# profile.RANK.0.THREAD' before each text"))
    if match is None:
        raise lines.unreadable("'# profile.RANK.0.THREAD' before each text")
    return int(match[1]), int(match[2])


def _names(directory: Path) -> _Names:
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise Unreadable(directory.name, None, f"a directory ({error.strerror})") from None
    listed = _Names(
        threads=tuple(sorted((name for name in names if THREAD_FILE.fullmatch(name)), key=_place)),
        packed=tuple(sorted(name for name in names if PACKED_FILE.fullmatch(name))),
        metrics=tuple(sorted(name for name in names if METRIC_DIRECTORY.fullmatch(name))),
    )
    forms = [form[0] for form in (listed.threads, listed.packed, listed.metrics) if form]
    if not forms:
        raise Unreadable("profile.*", None, "the profile, there is no such file")
    if len(forms) > 1:
        raise Unreadable(forms[0], None, f"a profile of one form, there is {forms[1]} too")
    return listed


def _place(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".")[1:])


def _thread_files(directory: Path, prefix: str) -> Iterator[ThreadProfile]:
    for name in _names(directory).threads:
        file = prefix + name
        rank, context, thread = _place(name)
        if context:
            raise Unreadable(file, None, f"context 0, not {context}")
        with open_lines(directory / name, file) as lines:
            yield read_thread(lines, rank, thread)
            if lines.peek() is not None:
                lines.take("")
                raise lines.unreadable("the end of the profile")


def _packed(path: Path) -> Iterator[ThreadProfile]:
    with open_lines(path, path.name) as lines:
        first = True
        while first or lines.peek() is not None:
            first = False
            yield read_thread(lines, *read_mark(lines))


def _checked(threads: Iterable[ThreadProfile], ranks: int, metric: str) -> Profile:
    places: dict[tuple[int, int], ThreadProfile] = {}
    for one in threads:
        _require_launched(one, ranks, metric)
        if first := places.get((one.rank, one.thread)):
            what = f"rank {one.rank}, thread {one.thread} once"
            raise Unreadable(one.file, one.line, f"{what}, the first is {first.file}:{first.line}")
        places[one.rank, one.thread] = one
    for rank in range(ranks):
        if (rank, 0) not in places:
            known = len({rank for rank, _ in places})
            raise Unreadable("profile.*", None, f"{ranks} ranks, there are {known}: thread 0 of rank {rank} is missing")
    return Profile(metric, ranks, tuple(places[place] for place in sorted(places)))


def _require_launched(thread: ThreadProfile, ranks: int, metric: str) -> None:
    """Raises Unreadable unless a thread belongs to a program on ``ranks`` ranks and has this metric."""
    if thread.rank >= ranks:
        raise Unreadable(thread.file, thread.line, f"ranks 0 to {ranks - 1}, not rank {thread.rank}")
    for name, value in (("MPI Rank", thread.rank), ("MPI Size", ranks)):
        if thread.metadata.get(name, str(value)) != str(value):
            expected = f"'{name}' {value} in the metadata, not '{thread.metadata[name][:40]}'"
            raise Unreadable(thread.file, thread.line + 1, expected)
    if thread.metric != metric:
        raise Unreadable(thread.file, thread.line, f"the metric {metric}, not {thread.metric}")
