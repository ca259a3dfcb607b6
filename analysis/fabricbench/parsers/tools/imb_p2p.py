# SPDX-License-Identifier: Apache-2.0
"""Reads the output of IMB-P2P: point-to-point communication of all ranks at once, in patterns."""

from collections.abc import Callable
from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import ImbProgram, Moves, Table, parse_program
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.quantities import Means


def _table(time: str, bytes_: Callable[[int], int], messages: Callable[[int], int]) -> tuple[Table]:
    columns = {"t[usec]": time, "Mbytes/sec": "bandwidth", "Msg/sec": "message_rate"}
    return (Table(columns, Moves(bytes_, messages, empty=True)),)


MEANS: Means = {"half_round_trip": ("pingpong", "latency")}
TABLES = {
    "pingpong": _table("latency", lambda p: p, lambda p: p),
    "pingping": _table("time", lambda p: p, lambda p: p),
    "sendrecv_replace": _table("time", lambda p: p, lambda p: p),
    "unirandom": _table("time", lambda p: p, lambda p: 0),
    "birandom": _table("time", lambda p: 2 * p, lambda p: 2 * p),
    "corandom": _table("time", lambda p: p, lambda p: p),
    "stencil2d": _table("time", lambda p: 4 * p, lambda p: 2 * p),
    "stencil3d": _table("time", lambda p: 6 * p, lambda p: 3 * p),
}
"""A repetition is one per rank: of Unirandom a message, of Birandom an exchange. In Unirandom no rank waits for an
answer, so that messages may share a segment. In a stencil two neighbours may be the same rank, in each dimension."""

BENCHMARKS = tuple(TABLES)


def _runs(launch: Launch, repetitions: int) -> int:
    """The printed repetitions, after a tenth as many untimed ones (``get_iters``)."""
    return repetitions + (repetitions // 10 or int(repetitions > 1))


PROGRAM = ImbProgram(TABLES, _runs)


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one run of IMB-P2P and its payload; see ``imb_table.parse_program``."""
    return parse_program(directory, launch, PROGRAM)
