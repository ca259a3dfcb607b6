# SPDX-License-Identifier: Apache-2.0
"""Each room of the package states its importers: "Imported by a, b and c." ends the docstring of its ``__init__``."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY

PACKAGE = REPOSITORY / "analysis/fabricbench"
ROOMS = sorted(file.parent.name for file in PACKAGE.glob("*/__init__.py"))


@cache
def imported_rooms(file: Path) -> set[str]:
    """The rooms that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("fabricbench.")} & set(ROOMS)


def importers(room: str) -> list[str]:
    """The other rooms that import a room, in alphabetical order, then the checks and the systems of ``site/``."""
    folders = {**{name: PACKAGE / name for name in ROOMS if name != room}, "the checks": REPOSITORY / "reframe_checks"}
    folders["site/"] = REPOSITORY / "site"
    return [name for name, folder in folders.items() if any(room in imported_rooms(f) for f in folder.rglob("*.py"))]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_states_who_imports_it(room: str) -> None:
    text = " ".join((ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or "").split())
    match = re.search(r"Imported by ([^.]+)\.$", text)
    assert match, text
    stated = [] if match[1] == "no other room" else re.split(", | and ", match[1])
    assert stated == importers(room)
