# SPDX-License-Identifier: Apache-2.0
"""Reads the output of IMB-RMA: one-sided communication with passive targets."""

from collections.abc import Callable
from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import TIMES, ImbProgram, Moves, Table, parse_program, twice_without_policy
from fabricbench.parsers.output import Parsed

COMPLETED_EACH = "non-aggregate"
"""IMB's mode in which each operation completes before the next; in mode ``aggregate`` all are in flight at once."""


def _single(bytes_: int, messages: int = 2) -> tuple[Table, Table]:
    """Returns the tables of a transfer between two processes in both modes.

    An operation that completes at the target has an answer.
    """
    many = Moves(lambda p: bytes_, lambda p: 0)
    return (
        Table(
            {"t[usec]": "latency", "Mbytes/sec": "bandwidth"},
            Moves(lambda p: bytes_, lambda p: messages),
            mode=COMPLETED_EACH,
            pair=True,
        ),
        Table({"t[usec]": "time", "Mbytes/sec": "bandwidth"}, many, mode="aggregate", pair=True),
    )


def _one_and_all(bytes_: Callable[[int], int]) -> tuple[Table]:
    """The tables of transfers from one process that complete once, after all repetitions."""
    return (Table({"t[usec]": "time", "Mbytes/sec": "bandwidth"}, Moves(bytes_, lambda p: 0)),)


def _each(bytes_: Callable[[int], int], messages: Callable[[int], int]) -> tuple[Table]:
    """The table of transfers from every process."""
    return (Table(TIMES, Moves(bytes_, messages)),)


TABLES: dict[str, tuple[Table, ...]] = {
    "unidir_put": _single(1),
    "bidir_put": _single(2),
    "put_local": _single(1, messages=0),
    "unidir_get": _single(1),
    "bidir_get": _single(2),
    "get_local": _single(1),
    "accumulate": _single(1),
    "get_accumulate": _single(2),
    "fetch_and_op": _single(2),
    "compare_and_swap": _single(3),
    "one_put_all": _one_and_all(lambda p: p - 1),
    "one_get_all": _one_and_all(lambda p: p - 1),
    "put_all_local": _one_and_all(lambda p: p - 1),
    "get_all_local": _one_and_all(lambda p: p - 1),
    "all_put_all": _each(lambda p: p * (p - 1), lambda p: 0),
    "all_get_all": _each(lambda p: p * (p - 1), lambda p: 0),
    "exchange_put": _each(lambda p: 2 * p, lambda p: p),
    "exchange_get": _each(lambda p: 2 * p, lambda p: p),
    "truly_passive_put": (
        Table(
            {"t_pure[usec]": "time_pure", "t_ovrl[usec]": "time_overlapped"},
            Moves(lambda p: 1, lambda p: 2, calls=2, barriers=1),
            pair=True,
        ),
    ),
}
"""Operations that are completed together may share segments, as may those of two processes with each other's
answers. A fetch moves the operand there and the old value back; a compare two values there and one back."""

BENCHMARKS = tuple(TABLES)

PROGRAM = ImbProgram(TABLES, twice_without_policy)


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one run of IMB-RMA and its payload; see ``imb_table.parse_program``. ``mode`` is a case."""
    return parse_program(directory, launch, PROGRAM)
