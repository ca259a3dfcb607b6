# SPDX-License-Identifier: Apache-2.0
"""Programs that the user has built belong to the stacks whose MPI library they load."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup.sources.built import entry_of, installed_tree
from fabricbench.site.profilers import REGION_LIBRARY, profiler_of
from fabricbench.site.programs import npb_programs, osu_programs
from fabricbench.site.settings import REPOSITORY, build_root
from fabricbench.site.stacks import STACK_FILE, Installed, SourceBuild, Stack, read_installed, site_stacks

PROGRAM = """\
#include <mpi.h>
const char* title = "# OSU MPI Latency Test v7.4\\n";
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
"""


def stack(name: str) -> tuple[Stack, Installed]:
    installed = read_installed(build_root() / "stacks" / name / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    return site_stacks(REPOSITORY / "site")[name], installed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program that is called ``osu_latency``, built on MPICH."""
    _, mpich = stack("mpich")
    (tmp_path / "x.c").write_text(PROGRAM)
    folder = tmp_path / "installed/deep/inside"
    folder.mkdir(parents=True)
    argv = [f"{mpich.prefix}/bin/mpicc", "x.c", "-o", str(folder / "osu_latency")]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "installed"


def test_programs_of_one_stack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = installed_tree(folder)
    assert tree is not None
    assert (tree.package.name, tree.version) == ("osu", "7.4")
    mpich, installed = stack("mpich")
    entry = entry_of(tree, mpich, installed)
    assert (entry.prefix, entry.version, entry.options) == (str(folder), "7.4", {})
    monkeypatch.delenv("FABRICBENCH_OSU", raising=False)
    programs = osu_programs(installed.model_copy(update={"sources": {"osu": entry}}))
    assert programs.origin == "source"
    assert programs.paths["osu_latency"].is_relative_to(folder)


def test_programs_of_another_stack(folder: Path) -> None:
    tree = installed_tree(folder)
    assert tree is not None
    with pytest.raises(BadInput, match=r"was not built with this stack: it loads \S*libmpich\S*, the stack has \S+"):
        entry_of(tree, *stack("openmpi"))


def test_scripts_and_other_files_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "osu_latency").write_text("#!/bin/sh\n")
    (tmp_path / "IMB-MPI1").mkdir()
    os.mkfifo(tmp_path / "gmx_mpi")
    assert installed_tree(tmp_path) is None


@pytest.mark.parametrize(
    ("package", "program", "named", "prefix"),
    [
        ("npb", "deep/nas/is.A.x", "", "deep/nas"),
        ("tau", "x86_64/lib/shared-param-mpi/libTAU.so", "x86_64/lib/shared-param-mpi", "x86_64"),
        ("tau", "tau/x86_64/lib/shared-mpi/libTAU.so", "", "tau/x86_64"),
        ("gromacs", "bin/gmx_mpi", "bin", "bin"),
        ("imb", "src/IMB-MPI1", "", ""),
    ],
)
def test_the_prefix_has_the_program_where_the_checks_look(
    tmp_path: Path, package: str, program: str, named: str, prefix: str
) -> None:
    """``named``: the folder that the user names, ``prefix``: the one that is recorded."""
    (tmp_path / program).parent.mkdir(parents=True)
    shutil.copy(os.path.realpath("/bin/sh"), tmp_path / program)
    tree = installed_tree(tmp_path / named)
    assert tree is not None
    assert (tree.package.name, tree.program, tree.prefix) == (package, tmp_path / program, tmp_path / prefix)
    build = SourceBuild(package=package, version="1", prefix=str(tree.prefix), origin="here")
    installed = Installed(
        stack="one", source="here", version="1", prefix="/m", apps=str(tmp_path / "apps"), sources={package: build}
    )
    if package == "npb":
        programs = npb_programs(installed)
        assert programs is not None
        assert programs.paths == {"is.A.x": tmp_path / program}
    if package == "tau":
        region = tmp_path / "apps" / REGION_LIBRARY
        region.parent.mkdir(parents=True)
        region.touch()
        assert str(tmp_path / program) in profiler_of(installed).libraries


def test_a_library_of_tau_without_mpi(tmp_path: Path) -> None:
    folder = tmp_path / "x86_64/lib/shared-pthread"
    folder.mkdir(parents=True)
    shutil.copy(os.path.realpath("/bin/sh"), folder / "libTAU.so")
    assert installed_tree(tmp_path) is None
