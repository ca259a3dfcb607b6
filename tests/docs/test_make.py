# SPDX-License-Identifier: Apache-2.0
"""`make test` runs all its parts and says what came of each, also where an early one failed."""

import re
import subprocess
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY

LINTERS = (
    "ruff", "mypy", "lint-imports", "clang-format", "clang-tidy", "fortitude", "gersemi", "shellcheck", "yamllint",
    "codespell",
)  # fmt: skip
PARTS = {
    "lint": "the linter ruff",
    "set-up": "fabricbench setup --for-tests",
    "measuring tests": "python -m pytest -q tests/one tests/two",
    "other tests": "python -m pytest -q -n 2 --dist loadfile --ignore=tests/one --ignore=tests/two",
}
"""By part, what it starts of the pretended programs."""


def pretend(directory: Path, name: str, body: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def run(directory: Path, failing: set[str]) -> tuple[int, list[str], dict[str, str]]:
    """Exit status, what was started, and the results at the end, with programs that only say that they were started."""
    said = directory / "started"
    for name in LINTERS:
        status = int("lint" in failing and name == "ruff")
        pretend(directory, name, f'echo "the linter {name}" >> {said}; exit {status}')
    pretend(directory, "fabricbench", f'echo "fabricbench $*" >> {said}; exit {3 * ("set-up" in failing)}')
    measuring, other = (int(part in failing) for part in ("measuring tests", "other tests"))
    choose = f'case "$*" in *--ignore*) exit {other};; *) exit {5 * measuring};; esac'
    pretend(directory, "python", f'echo "python $*" >> {said}; {choose}')
    done = subprocess.run(
        ["sh", str(REPOSITORY / "tests/all.sh"), str(directory), "tests/one", "tests/two"],
        capture_output=True, text=True, timeout=120, check=False, cwd="/",
    )  # fmt: skip
    results = re.findall(
        r"^(\S.*?) {2,}(\S.*)$|^(measuring tests) (.*)$", done.stdout.partition("make test:\n")[2], re.M
    )
    return done.returncode, said.read_text().splitlines(), {a or c: b or d for a, b, c, d in results}


@pytest.mark.parametrize(
    "failing",
    [set(), {"lint"}, {"set-up"}, {"measuring tests"}, {"other tests"}, {"lint", "other tests"}, set(PARTS)],
    ids=lambda failing: ",".join(sorted(failing)) or "none",
)
def test_all_parts_run_and_are_reported(tmp_path: Path, failing: set[str]) -> None:
    status, started, results = run(tmp_path, failing)
    assert status == int(bool(failing))
    for line in PARTS.values():
        assert line in started
    assert list(results) == ["lint", "set-up", "clang-tidy", "measuring tests", "other tests"]
    assert results.pop("clang-tidy") == "passed"
    codes = {"lint": 1, "set-up": 3, "measuring tests": 5, "other tests": 1}
    assert results == {part: f"FAILED, exit status {codes[part]}" if part in failing else "passed" for part in PARTS}


def test_make_test_runs_this_script_on_folders_that_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(r"^test: .*\n\t@sh tests/all\.sh \"\$\(BIN\)\" \$\(MEASURING\)$", makefile, re.M)
    (folders,) = re.findall(r"^MEASURING := (.*)$", makefile, re.M)
    assert all((REPOSITORY / folder).is_dir() for folder in folders.split())
