# SPDX-License-Identifier: Apache-2.0
"""What checks and sites may import of the package: the rest may change without them."""

import ast
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY

ALLOWED = {
    "reframe_checks": {"errors", "files", "metrics", "site", "launch", "inputs", "parsers", "campaign"},
    "site": {"site"},
}


def imported(file: Path) -> set[str]:
    """Parts of the package that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("fabricbench.")}


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_go_one_way(folder: str) -> None:
    files = sorted((REPOSITORY / folder).rglob("*.py"))
    assert files
    for file in files:
        assert imported(file) <= ALLOWED[folder], file


def test_a_site_is_no_package() -> None:
    assert not list((REPOSITORY / "site").rglob("__init__.py")), "it would shadow Python's own module site"


def test_checks_decide_nothing_by_a_name() -> None:
    """Capabilities decide, never the name of a system, fabric or stack."""
    for file in sorted((REPOSITORY / "reframe_checks").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare):
                text = ast.unparse(node)
                assert "current_system" not in text, f"{file}: {text}"
                assert ".name" not in text, f"{file}: {text}"
