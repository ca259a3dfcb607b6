# SPDX-License-Identifier: Apache-2.0
"""``lint.sh`` selects the C and C++ files for clang-tidy, and fails if it cannot check all that it should."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY
from support.processes import clean_environment

PROGRAMS = "ruff mypy lint-imports clang-format fortitude gersemi shellcheck yamllint codespell python"
FILES = {
    "apps/first.h": "",
    "apps/second.h": '#include "first.h"\n',
    "apps/uses.c": '#include "apps/second.h"\n',
    "apps/other.cpp": "",
    "site/link.c": "",
}


@dataclass(frozen=True)
class Checkout:
    """A repository with C files whose programs do nothing, except that clang-tidy writes the names of its files."""

    root: Path

    def compile_commands(self, build: str, *names: str) -> None:
        file = self.root / build / "stacks/mpich/build/compile_commands.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps([{"file": str(self.root / name)} for name in names]))

    def lint(self, *options: str, build: str = "") -> tuple[int, list[str]]:
        """The exit status of ``lint.sh``, and the files that clang-tidy checked."""
        environment = {**clean_environment(), **({"FABRICBENCH_BUILD": build} if build else {})}
        command = ["sh", "tests/lint.sh", "bin", *options]
        log = self.root / ".git/checked"
        log.unlink(missing_ok=True)
        status = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, check=False).returncode
        words = log.read_text().split() if log.exists() else []
        return status, sorted(word for word in words if word.endswith((".c", ".cpp")))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    for name, text in {**FILES, ".gitignore": "build*\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for folder in ("tests", "bin"):
        (root / folder).mkdir()
    shutil.copy(REPOSITORY / "tests/lint.sh", root / "tests")
    for name in [*PROGRAMS.split(), "clang-tidy"]:
        (root / "bin" / name).write_text(f'#!/bin/sh\n[ {name} != clang-tidy ] || echo "$@" >> "{root}/.git/checked"\n')
        (root / "bin" / name).chmod(0o755)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return Checkout(root)


SOURCES = ("apps/other.cpp", "apps/uses.c")


def test_tidy_fails_if_a_file_has_no_compile_commands(checkout: Checkout) -> None:
    assert checkout.lint("tidy")[0] == 1
    checkout.compile_commands("build", *SOURCES)
    assert checkout.lint("tidy") == (0, [*SOURCES, "site/link.c"])


def test_the_compile_commands_are_those_of_the_build_directory(checkout: Checkout) -> None:
    checkout.compile_commands("build2", *SOURCES)
    assert checkout.lint("tidy", build="build2") == (0, [*SOURCES, "site/link.c"])


@pytest.mark.parametrize(
    ("change", "checked"),
    [
        (None, []),
        ("apps/first.h", ["apps/uses.c"]),
        ("apps/other.cpp", ["apps/other.cpp"]),
        ("apps/new.c", ["apps/new.c"]),
        ("site/link.c", ["site/link.c"]),
    ],
)
def test_changed_files_and_those_that_include_them_are_checked(
    checkout: Checkout, change: str | None, checked: list[str]
) -> None:
    checkout.compile_commands("build", *SOURCES, "apps/new.c")
    if change is not None:
        (checkout.root / change).write_text("/* changed */\n")
    assert checkout.lint() == (0, checked)
