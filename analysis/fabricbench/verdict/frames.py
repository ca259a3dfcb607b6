# SPDX-License-Identifier: Apache-2.0
"""Turns rows of one dataclass into a table and back. The fields of the dataclass are the columns of the table."""

from collections.abc import Iterable
from dataclasses import astuple, fields
from functools import cache
from typing import TYPE_CHECKING, TypeVar, get_args, get_type_hints

import polars as pl

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")

_TYPES: dict[type, type[pl.DataType]] = {str: pl.String, int: pl.Int64, float: pl.Float64}


@cache
def schema_of(row: "type[DataclassInstance]") -> pl.Schema:
    """Returns the columns of a table whose rows have the fields of ``row``: ``str``, ``int``, ``float``, or None."""
    hints = get_type_hints(row)
    kinds = {field.name: next(iter(get_args(hints[field.name])), hints[field.name]) for field in fields(row)}
    return pl.Schema({name: _TYPES[kind] for name, kind in kinds.items()})


def frame_of(row: type[Row], rows: Iterable[Row]) -> pl.DataFrame:
    """Returns the table of ``rows``, in their order."""
    return pl.DataFrame([astuple(one) for one in rows], schema=schema_of(row), orient="row")


def rows_of(row: type[Row], frame: pl.DataFrame) -> list[Row]:
    """Returns the rows of a table that ``frame_of`` made, in their order."""
    return [row(*values) for values in frame.select(list(schema_of(row))).iter_rows()]
