# SPDX-License-Identifier: Apache-2.0
"""IMB-MPI1's tables (Intel MPI Benchmarks 2019 and later, ``-show_tail`` off)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fabricbench.core.launch import Launch, canonical_case
from fabricbench.core.record import Payload, Row
from fabricbench.parsers.output import Parsed, Unreadable, number, read_lines, whole

_TITLE = re.compile(r"^# Benchmarking (\w+)\s*$")
_RANKS = re.compile(r"^# #processes = (\d+)\s*$")
_ROW = re.compile(r"^ +\d")

_COLUMNS = {
    "#bytes": "size",
    "#repetitions": "repetitions",
    "t[usec]": "latency",
    "t_min[usec]": "time_min",
    "t_max[usec]": "time_max",
    "t_avg[usec]": "time",
    "Mbytes/sec": "bandwidth",
}


@dataclass(frozen=True, slots=True)
class _Moves:
    """The least that one repetition moves: bytes per byte of message size, and messages, for ``p`` ranks.

    Any algorithm must deliver this much: in an allreduce every rank needs at least one message of the full size.
    A collective over 0 bytes has nothing to deliver (``empty`` is False); a message of 0 bytes is a message.
    """

    bytes: Callable[[int], int]
    messages: Callable[[int], int]
    empty: bool = False

    def at_least(self, size: int | None, ranks: int) -> tuple[int, int]:
        """Bytes and messages of one repetition; ``size`` is None where the benchmark has none."""
        if size == 0 and not self.empty:
            return 0, 0
        return self.bytes(ranks) * (size or 0), self.messages(ranks)


_MOVES = {
    "pingpong": _Moves(lambda p: 2, lambda p: 2, empty=True),
    "sendrecv": _Moves(lambda p: p, lambda p: p, empty=True),
    "exchange": _Moves(lambda p: 2 * p, lambda p: p, empty=True),
    "allreduce": _Moves(lambda p: p, lambda p: p),
    "alltoall": _Moves(lambda p: p * (p - 1), lambda p: p * (p - 1)),
    "bcast": _Moves(lambda p: p - 1, lambda p: p - 1),
    "allgather": _Moves(lambda p: p * (p - 1), lambda p: p),
    "barrier": _Moves(lambda p: 0, lambda p: p),
}
"""Exchange sends two messages to each neighbour; with two ranks these may share a segment, so one is counted."""

BENCHMARKS = tuple(_MOVES)

_POINT_TO_POINT = ("pingpong", "sendrecv", "exchange", "barrier")
"""Without a barrier after every call."""


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one IMB-MPI1 run and the least payload that it must have moved.

    A section with more or fewer processes than the launch has ranks is a world of the wrong size: Unreadable.
    """
    lines = read_lines(directory / "stdout")
    case = canonical_case(launch.case)
    passes = _passes(launch)
    rows: list[Row] = []
    bytes_ = messages = 0
    benchmark, ranks = "", 0
    columns: list[str] = []
    for at, line in enumerate(lines, start=1):
        if title := _TITLE.match(line):
            benchmark, columns, ranks = title.group(1).lower(), [], 0
        elif processes := _RANKS.match(line):
            ranks = whole(processes.group(1), "stdout", at)
            wanted = 2 if benchmark == "pingpong" else launch.ranks
            if ranks != wanted:
                raise Unreadable("stdout", at, f"{wanted} processes, not {ranks}")
        elif benchmark and line.split() and set(line.split()) <= set(_COLUMNS):
            columns = [_COLUMNS[word] for word in line.split()]
            if "repetitions" not in columns:
                raise Unreadable("stdout", at, "the column #repetitions")
        elif columns and _ROW.match(line):
            if not ranks:
                raise Unreadable("stdout", at, f"the line '# #processes = {launch.ranks}' before a row")
            values = _values(line, columns, at)
            moves = _MOVES.get(benchmark)
            if moves is None:
                raise Unreadable("stdout", at, f"a known benchmark, not '{benchmark}'")
            size = None if "size" not in values else int(values["size"])
            rows += _rows(benchmark, case, size, values)
            repetitions = passes * int(values["repetitions"])
            each_bytes, each_messages = moves.at_least(size, ranks)
            if benchmark not in _POINT_TO_POINT:
                each_messages += _MOVES["barrier"].messages(ranks)
            bytes_ += repetitions * each_bytes
            messages += repetitions * each_messages
    if not any("All processes entering MPI_Finalize" in line for line in lines):
        raise Unreadable("stdout", len(lines), "IMB's closing line 'All processes entering MPI_Finalize'")
    return Parsed(tuple(rows), Payload(bytes=bytes_, messages=messages))


def _passes(launch: Launch) -> int:
    """How often IMB runs the printed repetitions. With ``-iter_policy off`` exactly twice, the first time untimed
    (``IMB_init_buffers_iter``); else the untimed pass may be shorter, and only the timed one is certain.
    """
    policies = [value for name, value in pairwise(launch.argv) if name == "-iter_policy"]
    return 2 if policies == ["off"] else 1


def _values(line: str, columns: list[str], at: int) -> dict[str, float]:
    words = line.split()
    if len(words) != len(columns):
        raise Unreadable("stdout", at, f"{len(columns)} columns ({' '.join(columns)})")
    counted = ("size", "repetitions")
    return {
        name: whole(word, "stdout", at) if name in counted else number(word, "stdout", at)
        for name, word in zip(columns, words, strict=True)
    }


def _rows(benchmark: str, case: str, size: int | None, values: dict[str, float]) -> list[Row]:
    rows = []
    for name, value in values.items():
        if name in ("size", "repetitions") or (name == "bandwidth" and size == 0):
            continue
        name = "exchange_bandwidth" if name == "bandwidth" and benchmark != "pingpong" else name
        rows.append(Row(benchmark=benchmark, case=case, metric=name, msg_size_bytes=size, value=value))
    return rows
