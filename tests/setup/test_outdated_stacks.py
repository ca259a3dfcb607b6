# SPDX-License-Identifier: Apache-2.0
"""A stack is set up again after a change of its package or of its description."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricbench.setup import stacks
from fabricbench.setup.probe import Probe
from fabricbench.site.stacks import Debian, Stack


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces builds, probes and the packages of a set-up; returns the directories of the builds."""
    homes: list[str] = []

    def build(home: Path, options: object, *, source: Path) -> None:
        homes.append(home.name)
        (home / "apps/bin").mkdir(parents=True, exist_ok=True)
        (home / "apps/bin/fabricbench-launch").touch()

    monkeypatch.setattr(stacks, "build_apps", build)
    monkeypatch.setattr(stacks, "probe", lambda installed, variables: Probe("", "MPI 1.0"))
    monkeypatch.setattr(stacks, "gromacs_of", lambda installed, variables: None)
    monkeypatch.setattr(stacks, "install_packages", lambda *arguments, **options: None)
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    return homes


@pytest.fixture
def system_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on PATH with the commands of an MPI stack and of a library."""
    folder = tmp_path / "path"
    folder.mkdir()
    for name in ("mpirun.mine", "mpicc.mine", "mpicxx.mine", "ping"):
        (folder / name).write_text("#!/bin/sh\necho 1.0\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


MPI = Stack(
    name="mine",
    debian=Debian(packages=("mine",), commands={role: f"{role}.mine" for role in ("mpirun", "mpicc", "mpicxx")}),
    transports={"tcp": {"MINE_NET": "tcp"}, "shm": {}},
)
LIBRARY = Stack(name="lib", level="user", programs={"ping": ("ping", "--version")}, own={"pong": "OPTION"})


def set_up(stack: Stack, builds: list[str]) -> bool:
    """Whether a set-up builds the stack."""
    builds.clear()
    assert stacks.set_up([stack], lambda line: None) == []
    return bool(builds)


@pytest.mark.parametrize(("stack", "command"), [(MPI, "mpicc.mine"), (LIBRARY, "ping")])
def test_a_stack_is_set_up_again_after_an_upgrade_of_its_package(
    builds: list[str], system_commands: Path, stack: Stack, command: str
) -> None:
    assert set_up(stack, builds)
    assert not set_up(stack, builds)
    os.utime(system_commands / command, (1, 1))
    assert set_up(stack, builds)
    assert not set_up(stack, builds)


@pytest.mark.parametrize(
    ("stack", "change"),
    [
        (MPI, {"environment": {"MINE_DEBUG": "1"}}),
        (MPI, {"transports": {"tcp": {"MINE_NET": "sockets"}, "shm": {}}}),
        (MPI, {"transports": {"shm": {}, "tcp": {"MINE_NET": "tcp"}}}),
        (LIBRARY, {"programs": {"ping": ("ping", "-V")}}),
        (LIBRARY, {"own": {"pong": "ANOTHER_OPTION"}}),
    ],
)
def test_a_stack_is_set_up_again_after_a_change_of_its_description(
    builds: list[str], system_commands: Path, stack: Stack, change: dict[str, Any]
) -> None:
    assert set_up(stack, builds)
    assert set_up(replace(stack, **change), builds)
