# SPDX-License-Identifier: Apache-2.0
"""Reads the output of IMB-NBC: non-blocking collectives, alone and with computation between call and wait."""

from dataclasses import replace
from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import TIMES, ImbProgram, Moves, Table, parse_program, twice_without_policy
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools.imb import COLLECTIVES

_OVERLAP = {
    "t_ovrl[usec]": "time_overlapped",
    "t_pure[usec]": "time_pure",
    "t_CPU[usec]": "time_computing",
    "overlap[%]": "overlap",
}
_BLOCKING_ONLY = ("reduce_local", "reduce_scatter_block")

_MOVES = {
    "ibarrier": Moves(lambda p: 0, lambda p: p),
    **{f"i{name}": moves for name, moves in COLLECTIVES.items() if name not in _BLOCKING_ONLY},
}
"""The least that the blocking counterparts move, and the barrier after each call."""


def _tables(name: str, moves: Moves) -> dict[str, tuple[Table]]:
    """The tables of a collective with and without computation; a repetition with computation has two calls."""
    sized = name != "ibarrier"
    return {
        name: (Table(_OVERLAP, replace(moves, calls=2), sized=sized),),
        f"{name}_pure": (Table(TIMES, moves, sized=sized),),
    }


TABLES = {each: tables for name, moves in _MOVES.items() for each, tables in _tables(name, moves).items()}

BENCHMARKS = tuple(TABLES)

PROGRAM = ImbProgram(TABLES, twice_without_policy)


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one run of IMB-NBC and its payload; see ``imb_table.parse_program``."""
    return parse_program(directory, launch, PROGRAM)
