# SPDX-License-Identifier: Apache-2.0
"""Small programs show whether an installed MPI library can be used, and whether it is the stack's."""

from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup.external import Choice, External, located
from fabricbench.setup.trial import Trial, tried
from fabricbench.site.settings import REPOSITORY, build_root
from fabricbench.site.stacks import site_stacks
from support.toy_mpi import ARM, MPICH, MVAPICH2, OLD_HEADER, OPEN_MPI, program, toy_mpi

STACKS = site_stacks(REPOSITORY / "site")


def try_as(stack: str, external: External) -> Trial:
    return tried(external, STACKS[stack], STACKS)


def at(prefix: Path) -> External:
    return located(Choice(str(prefix)))


def test_a_library_of_the_right_family(tmp_path: Path) -> None:
    trial = try_as("mvapich2", at(toy_mpi(tmp_path / "mvapich2", MVAPICH2)))
    assert trial.version == "MVAPICH2 Version : 2.3.7"
    assert trial.fortran_problem == f"{tmp_path}/mvapich2 has no bin/mpif90"


@pytest.mark.parametrize("stack", ["mpich", "mpich-ofi"])
def test_a_library_with_two_devices(tmp_path: Path, stack: str) -> None:
    text = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\nMPICH CC:           cc\n"
    assert try_as(stack, at(toy_mpi(tmp_path / "mpich", text))).version == "MPICH Version: 5.0.2"


@pytest.mark.parametrize(
    ("text", "stack", "message"),
    [
        (OPEN_MPI, "mvapich2", "it is Open MPI v4.1.4, not MVAPICH2; run: fabricbench setup openmpi"),
        (MPICH, "mvapich2", r"it is MPICH Version: 4\.2\.1, not MVAPICH2; run: fabricbench setup mpich --prefix /"),
        (MPICH, "mpich-mx", r"its device is ch4:ucx; the settings of the stack are for ch3:nemesis:mx; run: .* mpich "),
        ("MPICH Version: 4.0\n", "mpich", "it names no device; the settings of the stack are for ucx$"),
        ("Another MPI 1.0\n", "impi", "it is Another MPI 1.0, not Intel MPI$"),
        ("", "openmpi", "it is , not Open MPI$"),
    ],
)
def test_a_library_of_another_family(tmp_path: Path, text: str, stack: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"^{tmp_path}/it: {message}"):
        try_as(stack, at(toy_mpi(tmp_path / "it", text)))


def test_a_static_library(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"its MPI library is static; .*; build it with shared libraries$"):
        try_as("mpich", at(toy_mpi(tmp_path / "static", static=True)))


def test_a_library_for_another_architecture(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"its MPI library is for another processor architecture$"):
        try_as("mpich", at(toy_mpi(tmp_path / "arm", machine=ARM)))


def test_a_wrapper_that_takes_a_library_from_elsewhere(tmp_path: Path) -> None:
    prefix, other = toy_mpi(tmp_path / "it"), toy_mpi(tmp_path / "other")
    program(
        prefix,
        "mpicc",
        f'exec cc "$@" -I{other}/include -L{other}/lib -Wl,--disable-new-dtags,-rpath,{other}/lib -lmpi',
    )
    with pytest.raises(BadInput, match=rf"loads {other}/lib/libmpi\.so\.12; expected its own MPI library$"):
        try_as("mpich", at(prefix))


def test_a_library_that_is_older_than_mpi_3(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"it is older than MPI 3\.0; expected MPI 3\.0 or newer$"):
        try_as("mpich", at(toy_mpi(tmp_path / "old", header=OLD_HEADER)))


def test_a_wrapper_that_fails(tmp_path: Path) -> None:
    prefix = toy_mpi(tmp_path / "broken")
    program(prefix, "mpicc", "echo 'icc: command not found' >&2; exit 127")
    with pytest.raises(BadInput, match=r"mpicc cannot build a program: icc: command not found$"):
        try_as("mpich", at(prefix))


def test_a_program_that_does_not_start(tmp_path: Path) -> None:
    """The library is there when the program is linked, and missing when it starts."""
    prefix = toy_mpi(tmp_path / "moved")
    program(prefix, "mpicc", f'cc "$@" -I{prefix}/include -L{prefix}/lib -lmpi && rm {prefix}/lib/libmpi.so.12')
    with pytest.raises(
        BadInput, match=r"does not start: .*libmpi\.so\.12.*; if it needs .* its modules with --module$"
    ):
        try_as("mpich", at(prefix))


@pytest.mark.parametrize(
    ("command", "problem"),
    [("exit 0", ""), ("echo 'ifort: not found' >&2; exit 1", "mpif90 cannot build a program: ifort: not found")],
)
def test_fortran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, problem: str) -> None:
    monkeypatch.setenv("FC", "gfortran")
    prefix = toy_mpi(tmp_path / "it")
    program(prefix, "mpif90", command)
    assert try_as("mpich", at(prefix)).fortran_problem == problem


def test_a_real_library() -> None:
    prefix = build_root() / "stacks/impi/prefix"
    if not (prefix / "bin/mpicc").exists():
        pytest.skip("the stack impi is not set up: run `make setup`")
    external = at(prefix)
    assert str(prefix / "lib") in external.library_path
    assert try_as("impi", external).version.startswith("Intel(R) MPI Library 20")
    with pytest.raises(BadInput, match=f"run: fabricbench setup impi --prefix {prefix}$"):
        try_as("mpich", external)
