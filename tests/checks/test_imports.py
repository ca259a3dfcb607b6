# SPDX-License-Identifier: Apache-2.0
"""Checks and sites import only some rooms of the package, so that the other rooms can change without them."""

import ast
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY

ALLOWED = {
    "reframe_checks": {"errors", "files", "metrics", "site", "launch", "inputs", "parsers", "campaign"},
    "site": {"site", "launch"},
}


def imported(file: Path) -> set[str]:
    """Returns the rooms of the package that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("fabricbench.")}


@pytest.mark.parametrize("folder", ALLOWED)
def test_checks_and_sites_import_only_these_rooms(folder: str) -> None:
    files = sorted((REPOSITORY / folder).rglob("*.py"))
    assert files
    for file in files:
        assert imported(file) <= ALLOWED[folder], file


def test_the_folder_site_is_not_a_package() -> None:
    assert not list((REPOSITORY / "site").rglob("__init__.py")), "a package would shadow Python's module site"


def test_checks_compare_no_names() -> None:
    """Checks use the features of systems, fabrics and stacks, never their names."""
    for file in sorted((REPOSITORY / "reframe_checks").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare):
                text = ast.unparse(node)
                assert "current_system" not in text, f"{file}: {text}"
                assert ".name" not in text, f"{file}: {text}"
