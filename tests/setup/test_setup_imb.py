# SPDX-License-Identifier: Apache-2.0
"""Set-up links Intel's OpenMP, and no other library, into the stacks that run IMB-MT."""

from pathlib import Path

import pytest

from fabricbench.setup.imb import link_openmp_of_imb
from fabricbench.site.stacks import Stack


@pytest.mark.parametrize(("name", "runs_imb", "linked"), [("mine", True, True), ("mine", False, False)])
def test_the_library_is_linked_where_imb_runs(tmp_path: Path, name: str, runs_imb: bool, linked: bool) -> None:
    library = tmp_path / "stacks/impi/prefix/lib/libiomp5.so"
    library.parent.mkdir(parents=True)
    library.touch()
    home = tmp_path / "stacks" / name
    for _ in range(2):
        link_openmp_of_imb(Stack(name=name, runs_imb=runs_imb), tmp_path, home)
    assert (home / "abi/libiomp5.so").is_symlink() == linked
    assert sorted(path.name for path in home.rglob("*.so")) == ["libiomp5.so"] * linked


def test_intel_mpi_itself_needs_no_link(tmp_path: Path) -> None:
    library = tmp_path / "stacks/impi/prefix/lib/libiomp5.so"
    library.parent.mkdir(parents=True)
    library.touch()
    link_openmp_of_imb(Stack(name="impi", runs_imb=True), tmp_path, tmp_path / "stacks/impi")
    assert not (tmp_path / "stacks/impi/abi").exists()


def test_without_the_library_there_is_no_link(tmp_path: Path) -> None:
    link_openmp_of_imb(Stack(name="mine", runs_imb=True), tmp_path, tmp_path / "stacks/mine")
    assert not (tmp_path / "stacks/mine").exists()
