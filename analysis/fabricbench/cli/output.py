# SPDX-License-Identifier: Apache-2.0
"""How commands say what they found: tables as text, CSV, JSON or Parquet, verdicts, a forecast."""

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from fabricbench.doctor.site import Problem
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.runner.forecast import Forecast
from fabricbench.verdict.result import EXIT_STATUS, Judgement

FORMATS = ("text", "csv", "json", "parquet")


def _known_format(format: str) -> str:
    if format not in FORMATS:
        raise BadInput(f"unknown format '{format}'", expected=nearest(format, FORMATS))
    return format


Format = Annotated[str, typer.Option("--format", "-f", help="text, csv, json or parquet", callback=_known_format)]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="a file instead of the output")]


def say(text: str) -> None:
    """A line, at once, whatever the output is."""
    print(text, flush=True)


def save(file: Path, text: str, *, hint: str = "") -> None:
    """All of it or nothing: what was there stays until the new file is whole."""
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


def print_judgement(judgement: Judgement | None) -> None:
    """A line for each cell, what was not measured, and how many cells there are of each verdict."""
    if judgement is None:
        say("no requirements, nothing is judged")
        return
    print_judged_by(judgement)
    rows: list[tuple[str, ...]] = [("verdict", "cell", "bound", "estimate", "interval", "n", "notes")]
    for cell in judgement.cells:
        estimate = "-" if cell.estimate is None else f"{cell.estimate:.4g} {cell.unit}".rstrip()
        interval = "-" if cell.low is None or cell.high is None else f"{cell.low:.4g} to {cell.high:.4g}"
        notes = "; ".join((cell.reason, *cell.notes) if cell.unmeasured else cell.notes)
        rows.append((cell.verdict, cell.name, cell.bound, estimate, interval, str(cell.n), notes))
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    for line in _columns(rows):
        say(line)
    for reason, count in Counter(one.reason for one in judgement.skipped).items():
        names = dict.fromkeys(one.requirement for one in judgement.skipped if one.reason == reason)
        say(f"skipped: {count} cell{'s' if count > 1 else ''} of {', '.join(names)}: {reason}")
    counts = {verdict: sum(cell.verdict == verdict for cell in judgement.cells) for verdict in EXIT_STATUS}
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {judgement.blocks} blocks")


def print_judged_by(judgement: Judgement) -> None:
    """A line where other requirements than the campaign's own were used."""
    if judgement.requirements_file:
        say(f"judged by {judgement.requirements_file} instead of the campaign's own {REQUIREMENTS}")


def print_forecast(found: Forecast, format: str) -> None:
    """As text all of it, as JSON too; as CSV the launches."""
    tables = {
        "launches": found.launches(),
        "totals": found.totals(),
        "allocations": found.allocations(),
        "skips": found.left_out(),
    }
    if format == "json":
        site = [asdict(problem) for problem in found.problems]
        print(json.dumps({name: frame.to_dicts() for name, frame in tables.items()} | {"site": site}, indent=1))
        return
    if format == "csv":
        print(_text(tables["launches"], format), end="")
        return
    for name, frame in tables.items():
        if not frame.is_empty():
            say(f"{name}:\n{_text(frame, format)}")
    if found.reference and found.unknown:
        say(f"{found.unknown} launches are unknown to the reference: they count with their limit")


def print_problems(problems: Sequence[Problem], *, quiet: bool = False) -> bool:
    """What is wrong with a site; whether something is broken. ``quiet`` leaves the output to something else."""
    for problem in problems:
        if problem.state == "broken":
            print(f"fabricbench: {problem.text}", file=sys.stderr)
        else:
            print(f"{problem.state}: {problem.text}", file=sys.stderr if quiet else sys.stdout, flush=True)
    return any(problem.state == "broken" for problem in problems)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows padded into columns, whatever the width of the terminal: the same text everywhere."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def write(frame: pl.DataFrame, format: str, output: Path | None) -> None:
    """A table in one of ``FORMATS``, to a file or to the output; BadInput where that cannot be."""
    if format == "parquet" and output is None:
        raise BadInput("parquet is not for a terminal", expected="--output FILE")
    try:
        if format == "parquet" and output is not None:
            frame.write_parquet(output)
            return
        text = _text(frame, format)
        if output is None:
            print(text, end="")
        else:
            save(output, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror or error}", where=str(output)) from None


def _text(frame: pl.DataFrame, format: str) -> str:
    if format == "csv":
        return frame.write_csv()
    if format == "json":
        return frame.write_json() + "\n"
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=1000,
        fmt_str_lengths=200,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="NOTHING",
    ):
        return f"{frame}\n"
