# SPDX-License-Identifier: Apache-2.0
"""Finds environment modules that look like MPI libraries, by their files in MODULEPATH, without a module system."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

SHOWN = 12
_MPI = re.compile(r"mpi|mvapich|mpt|hpcx", re.IGNORECASE)


def module_notes() -> Iterator[str]:
    """Yields a sentence with the modules whose names look like MPI; none if there are none."""
    names = mpi_modules(os.environ.get("MODULEPATH", ""))
    if names:
        more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        shown = ", ".join(names[:SHOWN])
        yield f"Modules that look like MPI: {shown}{more}. To use one: fabricbench setup STACK --module NAME."


def mpi_modules(path: str) -> list[str]:
    """The names, ``name/version``, of the modules in a MODULEPATH whose name looks like MPI."""
    names = set()
    for folder in filter(None, path.split(":")):
        for entry in sorted(Path(folder).glob("*")):
            if _MPI.search(entry.name):
                names |= set(_versions(entry))
    return sorted(names)


def _versions(entry: Path) -> Iterator[str]:
    if not entry.is_dir():
        yield entry.name.removesuffix(".lua")
        return
    for file in entry.glob("*"):
        if not file.name.startswith("."):
            yield f"{entry.name}/{file.name.removesuffix('.lua')}"
