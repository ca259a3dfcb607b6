# SPDX-License-Identifier: Apache-2.0
"""The profiler of a stack: TAU where it is installed, else the project's own."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fabricbench.site.profilers import TAU, is_static, profiler_of
from fabricbench.site.stacks import Installed

CONFIGURATIONS = ("shared-mpi", "shared-param-mpi", "shared-disable")


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    library = tmp_path / "apps/lib"
    library.mkdir(parents=True)
    for name in ("libfabricbench_profiler.so", "libfabricbench_tau_region.so"):
        (library / name).touch()
    return Installed(stack="mpich", source="prefix", version="4.0", prefix=str(tmp_path), apps=str(tmp_path / "apps"))


def add_tau(folder: Path, *configurations: str) -> None:
    for name in configurations:
        (folder / "x86_64/lib" / name).mkdir(parents=True)
        (folder / "x86_64/lib" / name / "libTAU.so").touch()
    (folder / "include").mkdir()
    (folder / "include/TAU.h").write_text('#define TAU_VERSION "2.35.2-git"\n')


def test_without_tau_the_projects_own(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TAU, raising=False)
    profiler = profiler_of(installed)
    assert (profiler.name, profiler.problem) == ("own", "")
    assert profiler.libraries == (f"{installed.apps}/lib/libfabricbench_profiler.so",)
    assert profiler.launch_variables("/launch") == {"FABRICBENCH_PROFILE": "/launch"}


def test_tau_in_the_named_directory(installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration with message sizes is preferred; the marked region is passed to TAU."""
    add_tau(tmp_path / "tau/mpich/2.35", *CONFIGURATIONS)
    monkeypatch.setenv(TAU, str(tmp_path / "tau"))
    profiler = profiler_of(installed)
    assert (profiler.name, profiler.version) == ("tau", "2.35.2-git")
    assert [Path(path).relative_to(tmp_path).as_posix() for path in profiler.libraries] == [
        "apps/lib/libfabricbench_tau_region.so",
        "tau/mpich/2.35/x86_64/lib/shared-param-mpi/libTAU.so",
    ]
    variables = profiler.launch_variables("/launch")
    assert variables["PROFILEDIR"] == "/launch"
    assert variables["TAU_THROTTLE"] == "0"
    assert profiler_of(installed, "own").name == "own"


def test_a_relative_directory_is_resolved(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks run in another directory than the command."""
    add_tau(tmp_path / "tau/mpich", "shared-mpi")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TAU, "tau")
    assert all(Path(path).is_absolute() for path in profiler_of(installed).libraries)


def test_a_directory_that_does_not_exist(installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TAU, str(tmp_path / "tao"))
    assert profiler_of(installed).problem == f"{TAU} names {tmp_path / 'tao'}, which is no directory"


def test_a_stack_without_the_library_of_the_region(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tau(tmp_path / "tau/mpich", "shared-mpi")
    monkeypatch.setenv(TAU, str(tmp_path / "tau"))
    Path(installed.apps, "lib/libfabricbench_tau_region.so").unlink()
    assert "marked regions" in profiler_of(installed).problem


def test_tau_in_the_view_of_the_stack(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TAU, raising=False)
    folder = Path(installed.apps, "lib/shared-mpi")
    folder.mkdir()
    (folder / "libTAU.so").touch()
    profiler = profiler_of(installed)
    assert (profiler.name, profiler.version) == ("tau", "")


def test_tau_of_another_stack_is_not_used(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tau(tmp_path / "tau/openmpi", "shared-mpi")
    monkeypatch.setenv(TAU, str(tmp_path / "tau"))
    assert profiler_of(installed).name == "own"
    profiler = profiler_of(installed, "tau")
    assert profiler.problem == "TAU is not installed for mpich"
    assert TAU in profiler.hint


def test_a_stack_without_the_profiler(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TAU, raising=False)
    Path(installed.apps, "lib/libfabricbench_profiler.so").unlink()
    profiler = profiler_of(installed)
    assert profiler.problem == "mpich was set up without the profiler"
    assert profiler.hint == "run: fabricbench setup --again mpich"


def test_an_unknown_profiler(installed: Installed) -> None:
    profiler = profiler_of(installed, "mpip")
    assert profiler.problem == "unknown profiler 'mpip'"
    assert profiler.hint == "choose one of own, tau"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("option", "static"), [("-static", True), ("-static-pie", True), ("-pie", False)])
def test_static_programs_are_recognised(tmp_path: Path, option: str, static: bool) -> None:
    source, program = tmp_path / "empty.c", tmp_path / "empty"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", option, "-o", program, source], check=True)
    assert is_static(program) == static


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 58])
def test_other_files_are_not_static_programs(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert not is_static(file)
    assert not is_static(tmp_path / "missing")
