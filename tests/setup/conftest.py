# SPDX-License-Identifier: Apache-2.0
"""Set-ups without builds, probes and packages."""

import os
from pathlib import Path

import pytest

from fabricbench.setup import stacks
from fabricbench.setup.probe import Probe


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces builds, probes and the packages of a set-up; returns the directories of the builds."""
    homes: list[str] = []

    def build(home: Path, options: object, *, source: Path, environment: object = None) -> None:
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
