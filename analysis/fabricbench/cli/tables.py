# SPDX-License-Identifier: Apache-2.0
"""Prints and writes tables as text, CSV, JSON or Parquet."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from fabricbench.cli.output import save, say
from fabricbench.errors import BadInput

if TYPE_CHECKING:
    from fabricbench.runner.forecast import Forecast


def write_lines(option: str, lines: Iterable[str], format: str, output: Path | None) -> None:
    """Writes the lines that an option prints to a file, or to standard output. Raises BadInput for other formats than
    text, and for a file that cannot be written."""
    if format != "text":
        raise BadInput(f"{option} has no format '{format}'", expected="--format text")
    text = "".join(f"{line}\n" for line in lines)
    if output is None:
        print(text, end="")
    else:
        save(output, text)


def write(frame: pl.DataFrame, format: str, output: Path | None) -> None:
    """Writes a table in one of ``options.FORMATS`` to a file, or to standard output. Raises BadInput for a file that
    cannot be written, and for Parquet on standard output."""
    if format == "parquet" and output is None:
        raise BadInput("parquet cannot be written to standard output", expected="--output FILE")
    try:
        if format == "parquet" and output is not None:
            frame.write_parquet(output)
            return
        text = text_of(frame, format)
        if output is None:
            print(text, end="")
        else:
            save(output, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror or error}", where=str(output)) from None


def print_forecast(forecast: "Forecast", format: str) -> None:
    """Prints all tables of a forecast as text or JSON; as CSV only the launches."""
    tables = {
        "launches": forecast.launches(),
        "totals": forecast.totals(),
        "allocations": forecast.allocations(),
        "skips": forecast.skip_table(),
    }
    if format == "json":
        site = [asdict(problem) for problem in forecast.problems]
        print(json.dumps({name: frame.to_dicts() for name, frame in tables.items()} | {"site": site}, indent=1))
        return
    if format == "csv":
        print(text_of(tables["launches"], format), end="")
        return
    for name, frame in tables.items():
        if not frame.is_empty():
            say(f"{name}:\n{text_of(frame, format)}")
    if forecast.reference and forecast.without_reference:
        say(f"{forecast.without_reference} launches are not in the reference: each counts with its time limit")


def text_of(frame: pl.DataFrame, format: str = "text") -> str:
    """Returns a table in the format text, csv or json."""
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
