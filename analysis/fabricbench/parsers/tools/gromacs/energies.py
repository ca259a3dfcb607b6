# SPDX-License-Identifier: Apache-2.0
"""Reads the energies in GROMACS's log: columns with six digits, names above values."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabricbench.parsers.output import Unreadable, number, whole

FILE = "md.log"
_COLUMN = 15
"""Width of a column of names or values of energies, in characters."""

Energies = dict[str, float]

_STEP_HEAD = re.compile(r" +Step +Time$")
_ENERGIES_HEAD = "   Energies (kJ/mol)"
_AVERAGES = "<====  A V E R A G E S  ====>"


@dataclass(frozen=True, slots=True)
class Block:
    """The energies of one step: ``values`` by GROMACS's names, in kJ/mol, K and bar ("Pressure (bar)")."""

    step: int
    values: Energies


def read_energies(lines: Sequence[str]) -> tuple[list[Block], int | None]:
    """The blocks of energies before the averages, and the last step that the log announces."""
    blocks: list[Block] = []
    step = None
    numbered = iter(enumerate(lines, start=1))
    for at, line in numbered:
        if _AVERAGES in line:
            break
        if _STEP_HEAD.match(line):
            at, line = next(numbered, (at + 1, ""))
            words = line.split()
            if len(words) != 2:
                raise Unreadable(FILE, at, "a step and a time")
            step = whole(words[0], FILE, at)
        elif line.startswith(_ENERGIES_HEAD) and step is not None:
            blocks.append(Block(step, _block(numbered)))
    return blocks, step


def _block(numbered: Iterator[tuple[int, str]]) -> Energies:
    """The energies in pairs of lines, names above values, in columns of 15 characters, up to an empty line."""
    values: Energies = {}
    for at, names in numbered:
        if not names.strip():
            break
        _at, below = next(numbered, (at + 1, ""))
        for start in range(0, max(len(names), len(below)), _COLUMN):
            name, text = names[start : start + _COLUMN].strip(), below[start : start + _COLUMN].strip()
            if not name or name in values:
                raise Unreadable(FILE, at, "a name of its own above every energy")
            values[name] = _finite(text, at + 1)
    return values


def _finite(text: str, at: int) -> float:
    number(text.removeprefix("-"), FILE, at)
    return math.copysign(float(text.removeprefix("-")), -1 if text.startswith("-") else 1)
