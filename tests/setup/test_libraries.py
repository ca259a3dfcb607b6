# SPDX-License-Identifier: Apache-2.0
"""Programs of user-level libraries are found on PATH; shell scripts represent them."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup import libraries
from fabricbench.setup.libraries import find_programs
from fabricbench.site.stacks import Debian, Stack
from support.processes import shell_program

STACK = Stack(
    name="lib",
    level="user",
    debian=Debian(packages=("lib-tools",), commands={}),
    programs={"ping": ("ping_info", "-v"), "pong": ("pong", "--version")},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH, on a machine where nothing may be installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(libraries, "is_root_on_debian", lambda: False)
    return tmp_path


def find(folder: Path) -> tuple[dict[str, str], str]:
    return find_programs(STACK, folder / "log", lambda line: None)


def test_programs_and_their_versions(folder: Path) -> None:
    ping, pong = (
        shell_program(folder, "ping"),
        shell_program(folder, "pong", "echo 'pong of 2020, version 3.12-rc1 (x86)' >&2; exit 1"),
    )
    shell_program(folder, "ping_info", "echo 'ping_info: 1.17.0'; echo 'libping: 9.9.9'")
    assert find(folder) == ({"ping": ping, "pong": pong}, "ping_info 1.17.0, pong 3.12-rc1")


def test_missing_programs_are_left_out(folder: Path) -> None:
    pong = shell_program(folder, "pong", "echo no number")
    assert find(folder) == ({"pong": pong}, "pong unknown")


def test_an_empty_path_names_the_packages(folder: Path) -> None:
    with pytest.raises(
        BadInput, match="none of ping, pong is on PATH; install them, on Debian: apt-get install lib-tools"
    ):
        find(folder)


def test_missing_packages_are_installed_as_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def install(packages: tuple[str, ...], log: Path) -> None:
        calls.append(packages)
        for name in ("ping", "pong"):
            shell_program(folder, name, "echo 1.0")

    monkeypatch.setattr(libraries, "is_root_on_debian", lambda: True)
    monkeypatch.setattr(libraries, "apt_install", install)
    assert set(find(folder)[0]) == {"ping", "pong"}
    assert calls == [("lib-tools",)]
    find(folder)
    assert len(calls) == 1


def test_a_package_without_a_program_is_identified_by_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    header = folder / "lib.h"
    debian = Debian(packages=("lib-tools", "lib-dev"), commands={}, files=(str(header),))

    def install(packages: tuple[str, ...], log: Path) -> None:
        calls.append(packages)
        header.touch()

    monkeypatch.setattr(libraries, "is_root_on_debian", lambda: True)
    monkeypatch.setattr(libraries, "apt_install", install)
    for name in ("ping", "pong"):
        shell_program(folder, name, "echo 1.0")
    for _ in range(2):
        find_programs(replace(STACK, debian=debian), folder / "log", lambda line: None)
    assert calls == [("lib-tools", "lib-dev")]


def test_a_program_that_hangs_has_no_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "LIMIT_SECONDS", 0.2)
    hangs = shell_program(folder, "pong", "exec /bin/sleep 60")
    assert find(folder) == ({"pong": hangs}, "pong unknown")
