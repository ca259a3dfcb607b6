# SPDX-License-Identifier: Apache-2.0
"""``fabricbench setup STACK --prefix`` and ``--module``: the record, what a repeated set-up does, errors."""

import os
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fabricbench.cli import app
from fabricbench.doctor.lanes import examine
from fabricbench.errors import BadInput
from fabricbench.setup import stacks
from fabricbench.setup.external import Choice, last_choice, located, remember_choice
from fabricbench.setup.modules import load
from fabricbench.setup.probe import Probe
from fabricbench.site.fabric import Fabric
from fabricbench.site.lane import Lane
from fabricbench.site.library import Library
from fabricbench.site.stacks import STACK_FILE, Installed, read_installed
from setup.toy_stacks import MPI
from support.fake_site import FakeSite
from support.toy_modules import ModuleSystem, module_system
from support.toy_mpi import MPICH, OPEN_MPI, program, toy_mpi

MINE = replace(MPI, library=Library(name="MPICH", version="^MPICH "))
SetUp = Callable[..., list[str]]
is_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the target is one of x86-64")


@pytest.fixture(autouse=True)
def _in_their_own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return toy_mpi(tmp_path / "mpich", MPICH)


@pytest.fixture
def set_up(builds: list[str]) -> SetUp:
    """Sets the stack up, and returns the directories of the builds."""

    def call(prefix: Path | str = "", **options: Any) -> list[str]:
        builds.clear()
        choice = Choice(str(prefix)) if prefix else None
        assert stacks.set_up([MINE], lambda line: None, **{"choice": choice, **options}) == []
        return list(builds)

    return call


def installed(tmp_path: Path) -> Installed:
    record = read_installed(tmp_path / "build/stacks/mine" / STACK_FILE)
    assert record is not None
    return record


def test_a_stack_by_prefix(set_up: SetUp, prefix: Path, tmp_path: Path) -> None:
    assert set_up(prefix) == ["mine"]
    record = installed(tmp_path)
    assert (record.source, record.prefix, record.modules) == ("prefix", str(prefix), None)
    assert (record.version, record.library_path) == ("MPI 1.0", (f"{prefix}/lib",))
    assert record.fortran_problem == f"{prefix} has no bin/mpif90"
    assert record.origin == f"prefix {prefix}"
    assert record.missing_file == ""
    assert not (tmp_path / "build/stacks/mine/prefix").exists()


@is_x86
def test_a_later_set_up_keeps_the_prefix(set_up: SetUp, prefix: Path, tmp_path: Path) -> None:
    set_up(prefix)
    assert set_up() == []
    assert set_up(prefix) == []
    assert set_up(again=True) == ["mine"]
    assert set_up(target="x86-64") == ["mine"]
    assert installed(tmp_path).prefix == str(prefix)


def test_another_library_in_the_prefix_is_built_on_again(set_up: SetUp, prefix: Path) -> None:
    set_up(prefix)
    os.utime(prefix / "lib/libmpi.so", (1, 1))
    assert set_up() == ["mine"]
    assert set_up() == []


@pytest.mark.usefixtures("system_commands")
def test_packages_take_the_place_of_a_prefix_again(set_up: SetUp, prefix: Path, tmp_path: Path) -> None:
    assert set_up() == ["mine"]
    assert installed(tmp_path).source == "debian"
    assert set_up(prefix) == ["mine"]
    assert set_up(choice=Choice()) == ["mine"]
    assert installed(tmp_path).source == "debian"
    assert set_up() == []


@is_x86
@pytest.mark.usefixtures("system_commands")
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent", "No such file or directory"),
        ("empty", "has no bin/mpicc; expected the directory of an MPI library, with bin/mpicc and bin/mpirun"),
        ("mpich/bin", "mpich/bin has no bin/mpicc; .*; name .*/mpich$"),
        ("openmpi", "it is Open MPI v4.1.4, not MPICH"),
        ("without-mpirun", "without-mpirun has no bin/mpirun"),
        ("file", "Not a directory"),
        ("build/stacks/mine/prefix", "is a directory of set-up's own"),
    ],
)
def test_an_error_keeps_the_earlier_installation(
    set_up: SetUp, prefix: Path, tmp_path: Path, place: str, message: str
) -> None:
    set_up()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "build/stacks").rglob("*")}
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    if place == "openmpi":
        toy_mpi(tmp_path / place, OPEN_MPI)
    if place == "without-mpirun":
        (toy_mpi(tmp_path / place) / "bin/mpirun").unlink()
    with pytest.raises(BadInput, match=message):
        stacks.set_up([MINE], lambda line: None, target="x86-64", choice=Choice(str(tmp_path / place)))
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "build/stacks").rglob("*")}
    assert after == before
    assert set_up() == []


def test_a_prefix_that_cannot_be_read(set_up: SetUp, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fabricbench.setup.external.os.scandir", denied)
    with pytest.raises(BadInput, match=f"^--prefix: {prefix}: Permission denied$"):
        set_up(prefix)


def test_a_prefix_that_is_gone_is_a_problem_of_its_stack(set_up: SetUp, prefix: Path, tmp_path: Path) -> None:
    set_up(prefix)
    prefix.rename(tmp_path / "moved")
    (problem,) = stacks.set_up([MINE], lambda line: None)
    assert problem == f"mine: --prefix: {prefix}: No such file or directory"
    assert installed(tmp_path).prefix == str(prefix)


def test_ranks_that_do_not_run_on_this_machine(
    set_up: SetUp, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login node has no adapter; the lanes are tested where the jobs run."""
    monkeypatch.setattr(stacks, "probe", lambda installed, variables: Probe("exit status 1: no device", ""))
    lines: list[str] = []
    assert stacks.set_up([MINE], lines.append, choice=Choice(str(prefix))) == []
    assert installed(tmp_path).version == "MPICH Version: 4.2.1"
    assert "mine: two ranks do not run here: exit status 1: no device; fabricbench doctor tests each lane" in lines


def test_programs_in_fortran_are_skipped_with_the_reason(
    set_up: SetUp, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[dict[str, str]] = []
    monkeypatch.setattr(stacks, "build_apps", lambda home, given, **others: options.append(given))
    monkeypatch.setenv("FC", "gfortran")
    program(prefix, "mpif90", "echo 'not a GNU Fortran module file' >&2; exit 1")
    set_up(prefix)
    problem = "mpif90 cannot build a program: not a GNU Fortran module file"
    assert installed(tmp_path).fortran_problem == problem
    program(prefix, "mpif90", "exit 0")
    set_up(again=True)
    assert installed(tmp_path).fortran_problem == ""
    assert ["MPI_Fortran_COMPILER" in given for given in options] == [False, True]


@pytest.fixture
def system(tmp_path: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleSystem:
    load.cache_clear()
    system = module_system(tmp_path / "modules", monkeypatch)
    system.add("mpich/4.2", prepend=(("PATH", f"{prefix}/bin"),), UCX_TLS="all")
    return system


def test_a_stack_by_module(set_up: SetUp, system: ModuleSystem, prefix: Path, tmp_path: Path) -> None:
    assert set_up(choice=Choice(modules=("mpich/4.2",))) == ["mine"]
    record = installed(tmp_path)
    assert record.modules is not None
    assert (record.source, record.prefix, record.modules.names) == ("module", str(prefix), ("mpich/4.2",))
    assert record.modules.variables == {"UCX_TLS": "all"}
    assert record.origin == f"module mpich/4.2 in {prefix}"
    load.cache_clear()
    assert set_up() == []
    system.add("mpich/4.2", prepend=(("PATH", f"{prefix}/bin"),), UCX_TLS="tcp")
    load.cache_clear()
    assert set_up() == ["mine"]


def test_a_new_default_version_does_not_change_the_stack(tmp_path: Path, system: ModuleSystem) -> None:
    external = located(Choice(modules=("mpich/4.2",)))
    remember_choice(tmp_path, Choice(modules=("mpich",)), external)
    assert last_choice(tmp_path) == Choice(modules=("mpich/4.2",), module_path=str(system.files))


def test_doctor_shows_the_module_and_a_module_that_is_gone(
    set_up: SetUp, system: ModuleSystem, prefix: Path, tmp_path: Path
) -> None:
    set_up(choice=Choice(modules=("mpich/4.2",)))
    apps = tmp_path / "build/stacks/mine/apps/bin"
    (apps / "fabricbench-micro").write_text('#!/bin/sh\necho "#@mpi_library=MPICH $UCX_TLS"\n')
    (apps / "fabricbench-micro").chmod(0o755)
    lane = Lane(Fabric(name="tcp", transport="tcp", stacks=["mine"]), MINE, installed(tmp_path))
    (diagnosis,) = examine([lane])
    assert diagnosis.ready, diagnosis.detail
    assert diagnosis.detail.startswith(f"MPICH all (module mpich/4.2 in {prefix}); kernels built for")
    assert f"CG, FT skipped: {prefix} has no bin/mpif90" in diagnosis.detail
    (system.files / "mpich/4.2").unlink()
    load.cache_clear()
    (diagnosis,) = examine([lane])
    assert diagnosis.detail.startswith("--module: cannot load mpich/4.2: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prefix", "/x"], "--prefix is for one stack; expected its name"),
        (["mpich", "openmpi", "--module", "x"], "--module is for one stack; expected its name"),
        (["ucx", "--prefix", "/x"], "--prefix: ucx is a library below MPI; expected an MPI stack"),
        (["mpich", "--prefix", "/x", "--packages"], "--prefix and --packages exclude each other"),
        (["mpich", "--prefix", "/x", "--source", "y"], "--prefix, --module and --packages are not for --source"),
        (["mpich", "--module", "x", "--spack", "y"], "--prefix, --module and --packages are not for --spack"),
        (["mpich", "--module", "x;reboot"], "--module: 'x;reboot'; expected NAME[,NAME]"),
        (["mpich", "--prefix", "/no such place"], "--prefix: /no such place: No such file or directory"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(stacks, "install_packages", lambda *arguments, **options: None)
    result = CliRunner().invoke(app, ["setup", *arguments])
    assert isinstance(result.exception, BadInput), result.output
    assert message in str(result.exception)


def test_an_error_is_one_line_with_exit_status_2(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "install_packages", lambda *arguments, **options: None)
    before = (site.stack("one") / STACK_FILE).read_bytes()
    result = site.inside("setup", "one", "--prefix", str(site.root))
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert f"--prefix: {site.root} has no bin/mpicc; expected" in result.stderr
    assert (site.stack("one") / STACK_FILE).read_bytes() == before


def test_a_set_up_of_all_stacks_includes_those_with_a_prefix(
    set_up: SetUp, builds: list[str], prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabricbench.cli.commands import setup

    sites = tmp_path / "site"
    sites.mkdir()
    names = "from fabricbench.site.stacks import Stack\nSTACKS = {n: Stack(name=n) for n in ('mine', 'other')}\n"
    (sites / "stacks.py").write_text(names)
    monkeypatch.setenv("FABRICBENCH_SITES", str(sites))
    set_up(prefix)
    assert [stack.name for stack in setup._selection(None, None)] == ["mine"]
