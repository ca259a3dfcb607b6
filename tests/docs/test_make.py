# SPDX-License-Identifier: Apache-2.0
"""`make test` runs all its parts, also after one that failed, and reports the result of each."""

import json
import os
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
    "set-up": "fabricbench setup --for-tests",
    "other tests": "python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder"
    " --ignore=tests/one --ignore=tests/two --ignore=tests/three --ignore=tests/four --ignore=tests/three/five.py",
    "lint": "the linter ruff",
    "measuring tests": "python -m pytest -q tests/one tests/two",
    "cluster tests": "python -m pytest -q --ignore=tests/one --ignore=tests/two --ignore=tests/three/five.py"
    " tests/three tests/four",
    "lone tests": "python -m pytest -q tests/three/five.py",
}
"""By part, the command that it starts."""
CODES = {"lint": 1, "set-up": 3, "measuring tests": 5, "other tests": 1, "cluster tests": 4, "lone tests": 6}
"""By part, its exit status in a test where it fails."""

LINTED_BY_PYTHON = 'case "$1" in -c) exit 0;; esac'
"""The lint of templates is a short program of Python."""


def pretend(directory: Path, name: str, body: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def run(directory: Path, failing: set[str]) -> tuple[int, list[str], dict[str, str]]:
    """Exit status, started commands, and the results at the end, with programs that only record their start."""
    log = directory / "started"

    def status(part: str) -> int:
        return CODES[part] * (part in failing)

    for name in LINTERS:
        pretend(directory, name, f'echo "the linter {name}" >> {log}; exit {status("lint") * (name == "ruff")}')
    pretend(directory, "fabricbench", f'echo "fabricbench $*" >> {log}; exit {status("set-up")}')
    others, cluster, measuring, lone = (status(f"{name} tests") for name in ("other", "cluster", "measuring", "lone"))
    choose = f'case "$*" in *"-n 3"*) exit {others};; *--ignore*) exit {cluster};; *five*) exit {lone};; esac'
    pretend(directory, "python", f'{LINTED_BY_PYTHON}; echo "python $*" >> {log}; {choose}; exit {measuring}')
    groups = ("tests/one tests/two", "tests/three tests/four", "tests/three/five.py")
    result = subprocess.run(
        ["sh", str(REPOSITORY / "tests/all.sh"), str(directory), *groups],
        capture_output=True, text=True, timeout=120, check=False, cwd="/",
    )  # fmt: skip
    results = re.findall(
        rf"^({'|'.join([*PARTS, 'clang-tidy'])}) +(\S.*)$", result.stdout.partition("make test:\n")[2], re.M
    )
    return result.returncode, log.read_text().splitlines(), dict(results)


@pytest.mark.parametrize("failing", [set(), *({part} for part in PARTS), set(PARTS)], ids=lambda f: ",".join(sorted(f)))
def test_all_parts_run_and_are_reported(tmp_path: Path, failing: set[str]) -> None:
    status, parts, results = run(tmp_path, failing)
    assert status == int(bool(failing))
    for line in PARTS.values():
        assert line in [command.rstrip() for command in parts]
    assert list(results) == [
        "set-up", "measuring tests", "cluster tests", "lone tests", "other tests", "lint", "clang-tidy",
    ]  # fmt: skip
    results.pop("clang-tidy")  # its compile commands are those of this checkout, if there are any
    assert results == {part: f"FAILED, exit status {CODES[part]}" if part in failing else "passed" for part in PARTS}


@pytest.mark.parametrize("failing", ["", "lint", "tests"])
def test_the_quick_tests_run_concurrently_with_lint(tmp_path: Path, failing: str) -> None:
    log = tmp_path / "started"
    for name in LINTERS:
        pretend(tmp_path, name, f"exit {int(failing == 'lint')}")
    pretend(tmp_path, "python", f'{LINTED_BY_PYTHON}; echo "python $*" >> {log}; exit {5 * (failing == "tests")}')
    command = ["sh", str(REPOSITORY / "tests/quick.sh"), str(tmp_path), "tests/one", "tests/two"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd="/")
    assert result.returncode == {"": 0, "lint": 1, "tests": 5}[failing]
    assert log.read_text() == "python -m pytest -q -n 2 --dist loadfile tests/one tests/two\n"


TIDY = """\
case "$1" in --version) echo 1.0; exit;; esac
echo "$2" >> {log}
! grep -q error "$2"
"""


def test_clang_tidy_examines_a_file_once_until_it_or_a_header_changes(tmp_path: Path) -> None:
    checkout, log = tmp_path / "checkout", tmp_path / "examined"
    for folder in ("tests", "apps", "build/stacks/mpich/build"):
        (checkout / folder).mkdir(parents=True)
    (checkout / "tests/lint.sh").write_text((REPOSITORY / "tests/lint.sh").read_text())
    sources = {name: checkout / "apps" / name for name in ("one.c", "two.c")}
    commands = [{"file": str(file), "command": f"cc -c {file}"} for file in sources.values()]
    (checkout / "build/stacks/mpich/build/compile_commands.json").write_text(json.dumps(commands))
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    (tmp_path / "bin").mkdir()
    pretend(tmp_path / "bin", "clang-tidy", TIDY.format(log=log))

    def examined(changed: str, text: str) -> tuple[bool, list[str]]:
        """Whether all files pass after a change, and the files that clang-tidy examines."""
        (checkout / "apps" / changed).write_text(text)
        log.write_text("")
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment.pop("FABRICBENCH_BUILD", None)
        command = ["sh", "tests/lint.sh", str(tmp_path / "bin"), "tidy"]
        result = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
        return result.returncode == 0, sorted(log.read_text().split())

    sources["two.c"].write_text("")
    assert examined("one.c", "") == (True, ["apps/one.c", "apps/two.c"])
    assert examined("one.c", "") == (True, [])
    assert examined("one.c", "an error") == (False, ["apps/one.c"])
    assert examined("one.c", "an error") == (False, ["apps/one.c"])
    assert examined("one.c", "int one;") == (True, ["apps/one.c"])
    assert examined("one.h", "int both;") == (True, ["apps/one.c", "apps/two.c"])


def test_make_names_folders_that_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(
        r"^test: .*\n\t@sh tests/all\.sh \"\$\(BIN\)\" \"\$\(MEASURING\)\" \"\$\(CLUSTER\)\" \"\$\(LONE\)\"$",
        makefile,
        re.M,
    )
    assert re.search(r"^test-quick: .*\n\t@sh tests/quick\.sh \"\$\(BIN\)\" \$\(QUICK\)$", makefile, re.M)
    folders = re.findall(r"^(?:MEASURING|CLUSTER|LONE) := (.*)$", makefile, re.M)
    (quick,) = re.findall(r"^QUICK := \$\(addprefix tests/,(.*)\)$", makefile, re.M)
    paths = [*" ".join(folders).split(), *(f"tests/{name}" for name in quick.split())]
    assert len(paths) > 10
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []
