# SPDX-License-Identifier: Apache-2.0
"""The result and the error of all parsers, and functions that read untrusted output."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES, NotRegular, TooLarge, read_regular
from fabricbench.launch.record import Payload, PayloadPart, Row, SkippedSize

Model = TypeVar("Model", bound=BaseModel)

_DECIMAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
"""Numbers as C and Fortran print them. ``float`` also accepts blanks, underscores and digits of any script."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rows of a launch, the payload if the benchmark defines one, and what the tool skipped.

    ``parts`` divide the payload by size and case, if the tool's output does.
    """

    rows: tuple[Row, ...]
    payload: Payload | None
    skips: tuple[SkippedSize, ...] = ()
    parts: tuple[PayloadPart, ...] = ()


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """A row of an application that contains the time of MPI calls and little else, so that a profile must agree.

    ``metric``, ``case``: the row, with the part of the case that the program adds. ``calls``: the functions of MPI;
    empty for all. ``region``: the row covers the region that the program marks, not the whole program.
    """

    metric: str
    case: str = ""
    calls: tuple[str, ...] = ()
    region: bool = False


def payload_of(parts: Iterable[PayloadPart]) -> Payload:
    """The payload of a launch: the sum of its parts."""
    parts = tuple(parts)
    return Payload(
        bytes=sum(part.payload.bytes for part in parts), messages=sum(part.payload.messages for part in parts)
    )


class Unreadable(Exception):
    """The output is not what the tool prints; the message names file, line and what was expected."""

    def __init__(self, file: str, line: int | None, expected: str) -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: expected {expected}")


def read_lines(path: Path) -> list[str]:
    """The lines of a text output; raises Unreadable as ``read_text`` says."""
    return read_text(path).splitlines()


def read_text(path: Path) -> str:
    """A text output; raises Unreadable if it is missing, empty, binary or larger than ``LARGEST_OUTPUT_BYTES``."""
    try:
        raw = read_fact(path)
    except FileNotFoundError:
        raise Unreadable(path.name, None, "the tool's output, the file is missing") from None
    except OSError as error:
        raise Unreadable(path.name, None, f"a file that can be read ({error.strerror})") from None
    if not raw.strip():
        raise Unreadable(path.name, None, "the tool's output, the file is empty")
    if b"\0" in raw:
        raise Unreadable(path.name, raw[: raw.index(b"\0")].count(b"\n") + 1, "text, this is binary")
    return raw.decode("utf-8", errors="replace")


def read_fact(path: Path) -> bytes:
    """The bytes of a file in a launch directory; raises Unreadable if it is no regular file or too large."""
    try:
        return read_regular(path, LARGEST_OUTPUT_BYTES)
    except NotRegular:
        raise Unreadable(path.name, None, "a regular file") from None
    except TooLarge:
        raise Unreadable(path.name, None, f"at most {LARGEST_OUTPUT_BYTES} bytes") from None


def read_model(path: Path, model: type[Model]) -> Model:
    """The facts in a JSON file of a launch directory; raises Unreadable if it is missing or does not fit ``model``."""
    try:
        return model.model_validate_json(read_fact(path))
    except FileNotFoundError:
        raise Unreadable(path.name, None, "a file, it is missing") from None
    except OSError as error:
        raise Unreadable(path.name, None, f"a file that can be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise Unreadable(path.name, None, "JSON") from None
        where = ".".join(str(part) for part in first["loc"])[:120]
        raise Unreadable(path.name, None, f"{where}: {first['msg']}" if where else first["msg"]) from None


def number(text: str, file: str, line: int) -> float:
    """A finite decimal number that is not negative; raises Unreadable otherwise."""
    if not _DECIMAL.fullmatch(text):
        raise Unreadable(file, line, f"a number, not '{text[:40]}'")
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise Unreadable(file, line, f"a finite number of at least 0, not '{text[:40]}'")
    return abs(value)


def whole(text: str, file: str, line: int | None) -> int:
    """A whole number that is not negative; raises Unreadable otherwise."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Unreadable(file, line, f"a whole number, not '{text[:40]}'")
    return int(text)
