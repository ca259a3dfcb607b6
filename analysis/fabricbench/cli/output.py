# SPDX-License-Identifier: Apache-2.0
"""Prints lines, verdicts and problems of a site, and writes text files."""

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.errors import BadInput
from fabricbench.files.layout import REQUIREMENTS

if TYPE_CHECKING:
    from fabricbench.doctor.site import Problem
    from fabricbench.verdict.result import Cell, Judgement


def say(text: str) -> None:
    """Prints a line to standard output without buffering, even if that is no terminal."""
    print(text, flush=True)


def warn(text: str) -> None:
    """Prints a line to standard error, after the program's name."""
    print(f"fabricbench: {text}", file=sys.stderr)


def save(file: Path, text: str, *, hint: str = "") -> None:
    """Writes ``text`` to ``file`` in one step: an error leaves the file as it was. Raises BadInput with the ``hint``
    for a file that cannot be written."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise BadInput(f"cannot be written: {error.strerror or error}", where=str(file), hint=hint) from None


def print_judgement(judgement: "Judgement | None") -> None:
    """Prints a line per cell, the skipped cells by reason, and the number of cells per verdict."""
    if judgement is None:
        say("no requirements: nothing is judged")
        return
    print_judged_by(judgement)
    rows: list[tuple[str, ...]] = [("verdict", "cell", "bound", "estimate", "interval", "n", "notes")]
    rows += map(_row, judgement.cells)
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    for line in _columns(rows):
        say(line)
    for reason, count in Counter(cell.reason for cell in judgement.skipped).items():
        names = dict.fromkeys(cell.requirement for cell in judgement.skipped if cell.reason == reason)
        say(f"skipped: {count} cell{'s' if count > 1 else ''} of {', '.join(names)}: {reason}")
    counts = Counter(cell.verdict for cell in judgement.cells)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("PASS", "FAIL", "INCONCLUSIVE", "INVALID"))
    say(f"{verdicts}; {judgement.blocks} blocks")


def print_judged_by(judgement: "Judgement") -> None:
    """Prints the file whose requirements replace those of the campaign, if there is one."""
    if judgement.requirements_file:
        say(f"judged by {judgement.requirements_file} instead of the campaign's own {REQUIREMENTS}")


def print_problems(problems: "Sequence[Problem]", *, quiet: bool = False) -> bool:
    """Prints the problems of a site. Returns whether one of them is ``broken``. ``quiet``: all to standard error."""
    for problem in problems:
        if problem.state == "broken":
            warn(problem.text)
        else:
            print(f"{problem.state}: {problem.text}", file=sys.stderr if quiet else sys.stdout, flush=True)
    return any(problem.state == "broken" for problem in problems)


def _row(cell: "Cell") -> tuple[str, ...]:
    estimate = "-" if cell.estimate is None else f"{cell.estimate:.4g} {cell.unit}".rstrip()
    interval = "-" if cell.low is None or cell.high is None else f"{cell.low:.4g} to {cell.high:.4g}"
    notes = "; ".join((cell.reason, *cell.notes) if cell.unmeasured else cell.notes)
    return (cell.verdict, cell.name, cell.bound, estimate, interval, str(cell.n), notes)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Pads the rows into columns. The text does not depend on the width of the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
