# SPDX-License-Identifier: Apache-2.0
"""The GROMACS of each stack, chosen by the MPI library that it loads."""

import os
import shutil
from pathlib import Path

import pytest

from fabricbench.doctor.lanes import _gromacs
from fabricbench.setup.gromacs.builds import GROMACS, better_simd, gromacs_of
from fabricbench.site.stacks import STACK_FILE, GromacsBuild, Installed, read_installed
from support.fake_site import REPOSITORY

SSE4 = {"sse2", "sse4_1"}
AVX2 = {*SSE4, "avx", "avx2", "fma"}


@pytest.mark.parametrize(
    ("simd", "flags", "better"),
    [
        ("SSE4.1", AVX2, "AVX2_256"),
        ("AVX2_256", AVX2, ""),
        ("AVX2_256", {*AVX2, "avx512f"}, ""),
        ("AVX_512", {*AVX2, "avx512f"}, ""),
        ("None", SSE4, "SSE4.1"),
        ("ARM_NEON_ASIMD", AVX2, ""),
        ("SSE2", set(), ""),
    ],
)
def test_a_better_simd_level_of_the_processor_is_named(simd: str, flags: set[str], better: str) -> None:
    assert better_simd(simd, flags) == better


def test_doctor_prints_a_lanes_gromacs() -> None:
    def output(build: GromacsBuild | None) -> str:
        return _gromacs(Installed(stack="one", source="here", version="1", prefix="/m", apps="/a", gromacs=build))

    assert output(None) == "; no GROMACS (skipped; run: fabricbench setup one --source GROMACS)"
    assert output(GromacsBuild(program="x", problem="why")) == "; GROMACS (skipped): why"
    build = GromacsBuild(program="x", version="2022.5", precision="mixed", simd="AVX_512", mpi_library="libmpi")
    assert output(build) == "; GROMACS 2022.5, mixed precision, SIMD AVX_512, x, libmpi"


def stack(name: str) -> Installed:
    installed = read_installed(REPOSITORY / "build/stacks" / name / STACK_FILE)
    if installed is None or installed.source != "debian":
        pytest.skip(f"Debian's {name} is not set up")
    return installed


@pytest.fixture
def gmx_mpi() -> Path:
    path = shutil.which("gmx_mpi")
    if path is None:
        pytest.skip("no gmx_mpi")
    return Path(path)


def test_debians_gromacs_belongs_to_open_mpi_only(gmx_mpi: Path) -> None:
    build = gromacs_of(stack("openmpi"), {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert build is not None
    assert (build.program, build.problem, build.precision) == (str(gmx_mpi), "", "mixed")
    assert build.version.startswith("20")
    assert gromacs_of(stack("mpich"), {}) is None


def test_a_named_gromacs_of_another_mpi_is_refused(
    gmx_mpi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpich/bin").mkdir(parents=True)
    (tmp_path / "mpich/bin/gmx_mpi").symlink_to(gmx_mpi)
    monkeypatch.setenv(GROMACS, str(tmp_path))
    build = gromacs_of(stack("mpich"), {})
    assert build is not None
    assert build.problem.startswith("built with another MPI: it loads ")


def test_a_program_without_a_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "openmpi/bin/gmx_mpi"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv(GROMACS, str(tmp_path))
    build = gromacs_of(stack("openmpi"), {})
    assert build is not None
    assert "its --version prints no version: no" in build.problem
