# SPDX-License-Identifier: Apache-2.0
"""A source tree is recognised by its contents, wherever it lies and whatever its name is."""

from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup.sources.recognise import recognise
from support.source_trees import make_tree

SUPPORTED = [
    *(("osu", version) for version in ("5.3", "5.3.2", "6.1", "7.0-own", "7.5", "7.5.2")),
    *(("npb", version) for version in ("3.4.1", "3.4.4")),
    *(("imb", version) for version in ("2021.3", "2021.11")),
    *(("tau", version) for version in ("2.33", "2.35.2-git", "3.0")),
    *(("gromacs", version) for version in ("2022.5", "2026.0")),
]
UNSUPPORTED = [
    *(("osu", "5.2"), ("osu", "7.6"), ("npb", "3.4"), ("npb", "3.3.1"), ("npb", "3.5.0"), ("imb", "2020.1")),
    *(("tau", "2.32.1"), ("gromacs", "2021.4")),
]


@pytest.mark.parametrize(("package", "version"), SUPPORTED)
def test_a_supported_version(tmp_path: Path, package: str, version: str) -> None:
    root = make_tree(tmp_path / "any/name", package, version)
    tree = recognise(tmp_path)
    assert (tree.package.name, tree.version, tree.root) == (package, version, root)


@pytest.mark.parametrize(("package", "version"), UNSUPPORTED)
def test_another_version(tmp_path: Path, package: str, version: str) -> None:
    make_tree(tmp_path, package, version)
    with pytest.raises(BadInput, match=f"version {version} of .* is not supported; expected "):
        recognise(tmp_path)


def test_the_mpi_version_among_others_of_npb(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "NPB3.4.1/NPB3.4-MPI", "npb", "3.4.1")
    other = make_tree(tmp_path / "NPB3.4.1/NPB3.4-OMP", "npb", "3.4.1")
    (other / "MPI_dummy/README").unlink()
    (other / "MPI_dummy").rmdir()
    assert recognise(tmp_path).root == root


def test_several_packages(tmp_path: Path) -> None:
    make_tree(tmp_path / "a", "osu", "7.4")
    make_tree(tmp_path / "b", "npb", "3.4.1")
    with pytest.raises(BadInput, match=r"several packages: .*; name one of these folders"):
        recognise(tmp_path)


def test_the_nearest_tree_counts(tmp_path: Path) -> None:
    make_tree(tmp_path, "tau", "2.35")
    make_tree(tmp_path / "examples/npb", "npb", "3.4.1")
    assert recognise(tmp_path).package.name == "tau"


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_tree(tmp_path / "b", "osu", "7.4")
    (tmp_path / "a").mkdir()
    exists = Path.exists

    def refuse(path: Path) -> bool:
        if path.is_relative_to(tmp_path / "a"):
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "exists", refuse)
    assert recognise(tmp_path).root == root


def test_something_else(tmp_path: Path) -> None:
    (tmp_path / "configure.ac").write_text("AC_INIT([other], [1.0])\n")
    (tmp_path / "Makefile.am").touch()
    make_tree(tmp_path / "a/b/c/d/too-deep", "osu", "7.4")
    with pytest.raises(BadInput, match="no source tree of a known package; expected OSU"):
        recognise(tmp_path)
