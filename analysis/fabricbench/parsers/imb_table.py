# SPDX-License-Identifier: Apache-2.0
"""Reads the tables that all programs of the Intel MPI Benchmarks print (2019 and later).

The module of each program in ``tools`` describes its tables and the least that one repetition moves.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row, SkippedSize
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, read_lines, whole

_TITLE = re.compile(r"^# Benchmarking (\w+)(?: \([\dx ]+\))?\s*$")
_PROCESSES = re.compile(r"^# #processes = (\d+)(?: \(threads: (\d+)\))?\s*$")
_MODE = re.compile(r"^#\s+MODE: ([A-Z-]+)\s*$")
_INVALID = re.compile(r"^# !! Benchmark (\w+) (?:is )?invalid for \d+ processes")
_ROW = re.compile(r"^ +\d")
_NOT_MEASURED = re.compile(r"^ +(\d+) +((?:out-of-mem|int-overflow|time-out)\b.*)$")
_COUNTED = {"#bytes": "size", "#repetitions": "repetitions"}
_CLOSING = "All processes entering MPI_Finalize"

TIMES = {"t_min[usec]": "time_min", "t_max[usec]": "time_max", "t_avg[usec]": "time"}
"""IMB's three columns over ranks, and their metrics."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The least that one call moves: bytes per byte of message size, and messages, for ``p`` ranks.

    Every algorithm must deliver this much: in an allreduce every rank needs at least one message of the full size.
    Messages that may share a segment count as one. ``empty``: whether a message of 0 bytes counts; a collective of 0
    bytes delivers nothing. ``calls``: calls in one repetition. ``barriers``: barriers after a call, of one message per
    rank.
    """

    bytes: Callable[[int], int]
    messages: Callable[[int], int]
    empty: bool = False
    calls: int = 1
    barriers: int = 0

    def at_least(self, size: int | None, ranks: int) -> tuple[int, int]:
        """Bytes and messages of one repetition; ``size`` is None if the benchmark has none."""
        bytes_ = self.bytes(ranks) * (size or 0)
        messages = 0 if size == 0 and not self.empty else self.messages(ranks)
        return self.calls * bytes_, self.calls * (messages + self.barriers * ranks)


@dataclass(frozen=True, slots=True)
class Table:
    """The table of one benchmark: the metric of each column after sizes and repetitions, in IMB's order.

    ``mode``: the mode that IMB prints, for programs with several. ``pair``: the benchmark uses two processes, whatever
    their number. ``windows``: a repetition sends ``-window_size`` messages.
    """

    columns: Mapping[str, str]
    moves: Moves
    mode: str = ""
    sized: bool = True
    pair: bool = False
    windows: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of its rows."""
        return tuple(self.columns.values())

    @property
    def titles(self) -> list[str]:
        """The words of its header."""
        return [*(("#bytes",) if self.sized else ()), "#repetitions", *self.columns]


Tables = Mapping[str, tuple[Table, ...]]
"""By benchmark, IMB's name in lower case: one table for each mode."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row of a table; ``size``: bytes of one message, None if the benchmark has no size."""

    benchmark: str
    table: Table
    ranks: int
    size: int | None
    repetitions: int
    values: Mapping[str, float]
    line: str


@dataclass(slots=True)
class _Section:
    """The lines since the last title."""

    benchmark: str = ""
    ranks: int = 0
    mode: str = ""
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class ImbProgram:
    """A program of the suite.

    ``runs``: the least number of timed and untimed repetitions, from the printed number. ``closed``: whether the lines
    are a whole output; ``closing``: the end that is expected, in words.
    """

    tables: Tables
    runs: Callable[[Launch, int], int]
    closed: Callable[[list[str]], bool] = lambda lines: any(_CLOSING in line for line in lines)
    closing: str = f"IMB's closing line '{_CLOSING}'"


def parse_program(directory: Path, launch: Launch, program: ImbProgram) -> Parsed:
    """The rows of one run and the least payload that it moved.

    Raises Unreadable if processes or threads differ from the launch, if the columns are not those of the benchmark, or
    if the benchmark is unknown. A size that IMB reports as not measured is skipped.
    """
    lines = read_lines(directory / "stdout")
    reader = _Reader(launch, program)
    entries = list(reader.entries(lines))
    if not program.closed(lines):
        raise Unreadable("stdout", len(lines), program.closing)
    parts: list[PayloadPart] = []
    rows: list[Row] = []
    threads = threads_of(launch)
    for entry in entries:
        case = _case(launch, entry.table.mode)
        rows += _rows(entry, case)
        runs = program.runs(launch, entry.repetitions)
        each_bytes, each_messages = entry.table.moves.at_least(entry.size, entry.ranks)
        windows = int_option(launch, "-window_size", 1) if entry.table.windows else 1
        payload = Payload(bytes=runs * each_bytes * windows * threads, messages=runs * each_messages)
        parts.append(
            PayloadPart(
                line=entry.line,
                ranks=entry.ranks,
                benchmark=entry.benchmark,
                case=case,
                msg_size_bytes=entry.size,
                payload=payload,
            )
        )
    return Parsed(tuple(rows), payload_of(parts), tuple(reader.skips), tuple(parts))


def twice_without_policy(launch: Launch, repetitions: int) -> int:
    """The least number of repetitions of IMB-MPI1, -RMA and -NBC, from the printed number.

    With ``-iter_policy off`` it is twice the printed number, because an untimed pass of the same length comes first
    (``IMB_init_buffers_iter``). With another policy the untimed pass may be shorter, and only the timed one is certain.
    """
    return 2 * repetitions if _options(launch, "-iter_policy") == ["off"] else repetitions


def threads_of(launch: Launch) -> int:
    """The threads of each rank in the launch's case; 1 without them."""
    return int(launch.case.get("threads", 1))


def int_option(launch: Launch, name: str, default: int) -> int:
    """The whole number after an option of the command line."""
    values = _options(launch, name)
    return whole(values[-1], "launch.json", 1) if values else default


def _options(launch: Launch, name: str) -> list[str]:
    return [value for option, value in pairwise(launch.argv) if option == name]


def _case(launch: Launch, mode: str) -> str:
    return canonical_case(launch.case | ({"mode": mode} if mode else {}))


@dataclass(slots=True)
class _Reader:
    launch: Launch
    program: ImbProgram
    skips: list[SkippedSize] = field(default_factory=list)

    def entries(self, lines: list[str]) -> Iterator[_Entry]:
        """The rows of all tables; other text is ignored."""
        section = _Section()
        for at, line in enumerate(lines, start=1):
            if title := _TITLE.match(line):
                section = _Section(title.group(1).lower())
            elif invalid := _INVALID.match(line):
                raise Unreadable("stdout", at, f"enough processes for {invalid.group(1)[:40]}")
            elif processes := _PROCESSES.match(line):
                section = replace(section, ranks=self._ranks(section.benchmark, processes, at))
            elif mode := _MODE.match(line):
                section = replace(section, mode=mode.group(1).lower())
            elif section.benchmark and line.split()[:1] in (["#bytes"], ["#repetitions"]):
                section = replace(section, table=self._table(section, line.split(), at))
            elif section.table is not None and _ROW.match(line):
                yield from self._entry(section, section.table, line, at)

    def _ranks(self, benchmark: str, match: re.Match[str], at: int) -> int:
        ranks, threads = whole(match.group(1), "stdout", at), whole(match.group(2) or "1", "stdout", at)
        pair = any(table.pair for table in self.program.tables.get(benchmark, ()))
        expected = 2 if pair else self.launch.ranks
        if ranks != expected:
            raise Unreadable("stdout", at, f"{expected} processes, not {ranks}")
        if threads != threads_of(self.launch):
            raise Unreadable("stdout", at, f"{threads_of(self.launch)} threads, not {threads}")
        return ranks

    def _table(self, section: _Section, titles: list[str], at: int) -> Table:
        """The table whose header has exactly these titles."""
        layout = self.program.tables.get(section.benchmark)
        if layout is None:
            raise Unreadable("stdout", at, f"a known benchmark, not '{section.benchmark[:40]}'")
        table = next((table for table in layout if table.mode == section.mode), None)
        if table is None:
            raise Unreadable("stdout", at, f"a known mode of {section.benchmark}, not '{section.mode[:40]}'")
        if titles != table.titles:
            raise Unreadable("stdout", at, f"the columns {' '.join(table.titles)}")
        return table

    def _entry(self, section: _Section, table: Table, line: str, at: int) -> Iterator[_Entry]:
        if not section.ranks:
            raise Unreadable("stdout", at, f"the line '# #processes = {self.launch.ranks}' before a row")
        if table.sized and (match := _NOT_MEASURED.match(line)):
            self._skip(section.benchmark, table, whole(match.group(1), "stdout", at), match.group(2))
            return
        words = line.split()
        if len(words) != len(table.titles):
            raise Unreadable("stdout", at, f"{len(table.titles)} columns ({' '.join(table.titles)})")
        counts = {
            _COUNTED[title]: whole(word, "stdout", at)
            for title, word in zip(table.titles, words, strict=True)
            if title in _COUNTED
        }
        values = {
            title: number(word, "stdout", at)
            for title, word in zip(table.titles, words, strict=True)
            if title not in _COUNTED
        }
        size = self._size(counts["size"], at) if table.sized else None
        yield _Entry(section.benchmark, table, section.ranks, size, counts["repetitions"], values, " ".join(words))

    def _size(self, column: int, at: int) -> int:
        """The size of one thread's message; IMB-MT prints this size times the number of threads."""
        threads = threads_of(self.launch)
        if column % threads:
            raise Unreadable("stdout", at, f"a size that is a multiple of {threads} threads, not {column}")
        return column // threads

    def _skip(self, benchmark: str, table: Table, size: int, reason: str) -> None:
        case = _case(self.launch, table.mode)
        self.skips.append(
            SkippedSize(benchmark=benchmark, case=case, msg_size_bytes=size, reason=f"IMB: {reason[:200]}")
        )


def _rows(entry: _Entry, case: str) -> Iterator[Row]:
    for title, value in entry.values.items():
        metric = entry.table.columns[title]
        if entry.size == 0 and "bandwidth" in metric:
            continue
        yield Row(
            benchmark=entry.benchmark,
            case=case,
            metric=metric,
            msg_size_bytes=entry.size,
            value=round(value / 100, 6) if title.endswith("[%]") else value,
        )
