# SPDX-License-Identifier: Apache-2.0
"""Computes the key under which the record of a launch is cached, from all that the record is derived from."""

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path

from fabricbench.files.reading import LARGEST_OUTPUT_BYTES, TooLarge, read_ends, read_regular
from fabricbench.parsers.registry import TOOLS, files_of

FACTS = re.compile(r"launch\.json|begin|end|stdout|stderr|(witness|host|profile)\..*", re.DOTALL)
"""The names of the files that the record of every launch is derived from, whatever its tool."""
_ROOMS = ("files", "site", "launch", "attestation", "parsers")
_MODULES = ("__init__", "errors", "metrics", "campaign/__init__", "campaign/collect", "campaign/digest")
"""The packages, and the modules outside them, whose code and data decide what a record holds."""
_ENDS_BYTES = 1 << 20
"""The bytes that are read at each end of an output too large to parse; ``why_failed`` of a parser reads no more."""


def digest(directory: Path) -> str:
    """A hash over the code and over the name and content of each fact of a launch.

    The facts are the files that match ``FACTS`` and those that the parser of the launch's tool declares (``FILES``).
    """
    total = hashlib.sha256(code_digest())
    try:
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return total.hexdigest()
    try:
        declared = _declared(folder)
        for name in sorted(name for name in os.listdir(folder) if name in declared or FACTS.fullmatch(name)):
            kind, content = _content(name, folder)
            total.update(b"%s\0%s\0%d\0" % (os.fsencode(name), kind.encode(), len(content)))
            total.update(content)
    finally:
        os.close(folder)
    return total.hexdigest()


def _declared(folder: int) -> frozenset[str]:
    """The files that the parser of the launch's tool declares; none if the tool is unknown."""
    try:
        launch = json.loads(_content("launch.json", folder)[1])
    except (ValueError, RecursionError):
        return frozenset()
    tool = launch.get("tool") if isinstance(launch, dict) else None
    return frozenset(files_of(tool)) if tool in TOOLS else frozenset()


def _content(name: str, folder: int) -> tuple[str, bytes]:
    """The bytes of a file, and ``whole`` or the reason why there are not all of them."""
    try:
        try:
            return "whole", read_regular(name, LARGEST_OUTPUT_BYTES, dir_fd=folder)
        except TooLarge:
            size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
            return f"too large: {size}", read_ends(name, _ENDS_BYTES, _ENDS_BYTES, dir_fd=folder)
    except OSError as error:
        return str(error.strerror), b""


@cache
def code_digest() -> bytes:
    """A hash over the code and the data of the package that derives records from launches."""
    total = hashlib.sha256()
    for path in code_files():
        total.update(path.read_bytes())
    return total.digest()


def code_files() -> list[Path]:
    """Returns the files of the package that decide what a record holds: code and data."""
    package = Path(__file__).parents[1]
    rooms = [path for room in _ROOMS for kind in ("*.py", "*.json") for path in (package / room).rglob(kind)]
    return sorted([*(package / f"{module}.py" for module in _MODULES), *rooms])
