# SPDX-License-Identifier: Apache-2.0
"""What goes into the content hash, and which file is found under a name."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs import cache, recipes
from fabricbench.inputs.cache import GIVEN, Found, Missing, find_input, given_names
from fabricbench.inputs.recipes import COPIES, SETTINGS, SYSTEMS, Gmx, Make, Run, System

VERSION = "2022.5"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings in a place where they can be changed."""
    shutil.copytree(SETTINGS, tmp_path / "settings")
    monkeypatch.setattr(recipes, "SETTINGS", tmp_path / "settings")
    return tmp_path / "settings"


def places(made: System, version: str = VERSION, copies: int = 1) -> tuple[str, str]:
    """Names of the directories of the cell and of the copies."""
    root = Path("cache")
    return cache.cell_directory(root, made, version).name, cache.copies_directory(root, made, version, copies).name


def test_every_system_and_copies_has_its_own_place(settings: Path) -> None:
    names = [name for made in SYSTEMS.values() for copies in COPIES for name in places(made, copies=copies)]
    assert len(set(names)) == len(SYSTEMS) * (1 + len(COPIES))
    assert places(SYSTEMS["villin"]) == places(SYSTEMS["villin"])


def test_what_goes_in_changes_the_place(settings: Path) -> None:
    villin = SYSTEMS["villin"]
    cell, copies = places(villin)

    def another(directory: Path, sources: Mapping[str, Path]) -> None:
        raise AssertionError

    first, *steps = villin.cell
    topology = next(step for step in steps if isinstance(step, Gmx))
    equilibrate = next(step for step in reversed(steps) if isinstance(step, Run))
    changed = [
        replace(villin, sources=(replace(villin.sources[0], sha256="0" * 64),)),
        replace(villin, warnings=1),
        replace(villin, cell=(Make("protein", another), *steps)),
        replace(villin, cell=(first, *(replace(step, answer="y") if step is topology else step for step in steps))),
        replace(
            villin, cell=(first, *(replace(step, continued=True) if step is equilibrate else step for step in steps))
        ),
    ]
    for made in changed:
        assert places(made)[0] != cell
        assert places(made)[1] != copies
    assert places(villin, "2023.1")[0] != cell

    file = settings / "villin/equilibrate.mdp"
    file.write_text(file.read_text().replace("300", "301"))
    assert places(villin)[0] != cell


def test_what_is_benchmarked_changes_the_copies_not_the_cell(settings: Path) -> None:
    villin = SYSTEMS["villin"]
    cell, copies = places(villin)
    (settings / "villin/README").write_text("no settings")
    assert places(villin) == (cell, copies)
    for made in (replace(villin, settle_steps=10), replace(villin, grid=(2, 1, 1))):
        assert places(made)[0] == cell
        assert places(made)[1] != copies
    file = settings / "villin/production.mdp"
    file.write_text(file.read_text().replace("0.9", "1.0"))
    assert places(villin)[0] == cell
    assert places(villin)[1] != copies


@pytest.mark.parametrize("made", SYSTEMS.values(), ids=lambda made: made.name)
def test_copies_multiply(made: System) -> None:
    for copies in COPIES:
        x, y, z = made.cells(copies)
        grid_x, grid_y, grid_z = made.grid
        assert x * y * z == copies * grid_x * grid_y * grid_z
        assert z == 1 or not made.lipids_per_copy


def test_the_users_own_wins_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("villin", "our-protein_2"):
        (tmp_path / f"{name}.tpr").write_bytes(b"a run input")
    (tmp_path / "a b.tpr").write_bytes(b"a run input")
    (tmp_path / "empty.tpr").touch()
    monkeypatch.setenv(GIVEN, str(tmp_path))
    for name in ("villin", "our-protein_2"):
        found = find_input(name, root=tmp_path / "cache")
        assert isinstance(found, Found)
        assert found.tpr == tmp_path / f"{name}.tpr"
        assert found.facts is None
    assert given_names() == ["empty", "our-protein_2", "villin"]
    assert find_input("empty") == Missing(f"{tmp_path / 'empty.tpr'} is empty", "put the whole file there")
    assert find_input("other") == Missing("there is no other.tpr", f"put it into {tmp_path}")
    twice = find_input("villin", 2, root=tmp_path / "cache")
    assert isinstance(twice, Missing)
    assert twice.hint == "run: fabricbench inputs villin --copies 2"


def test_nothing_made_and_half_made_are_named_skips(tmp_path: Path) -> None:
    missing = find_input("dppc", root=tmp_path)
    assert missing == Missing("the input dppc (copies: 1) is not made yet", "run: fabricbench inputs dppc")
    (tmp_path / "dppc-x1-0123456789ab").mkdir()
    half = find_input("dppc", root=tmp_path)
    assert half == Missing("the input dppc-x1-0123456789ab was never finished", "run: fabricbench inputs dppc")
    (tmp_path / "dppc-x1-0123456789ab/facts.json").write_text('{"name": "dppc"')
    broken = find_input("dppc", root=tmp_path)
    assert isinstance(broken, Missing)
    assert "cannot be read" in broken.reason


@pytest.mark.parametrize(
    ("name", "copies", "message"),
    [
        ("vilin", 1, "unknown system 'vilin'; expected villin"),
        ("../villin", 1, "'../villin' is no name of an input; expected letters, digits"),
        ("", 1, "'' is no name of an input"),
        ("villin", 0, "--copies: 0 copies; expected 1 to 8"),
        ("villin", 9, "--copies: 9 copies; expected 1 to 8"),
    ],
)
def test_impossible_names_and_copies(name: str, copies: int, message: str) -> None:
    with pytest.raises(BadInput) as error:
        find_input(name, copies)
    assert message in str(error.value)


def test_a_directory_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GIVEN, str(tmp_path / "none"))
    with pytest.raises(BadInput, match=r"environment: FABRICBENCH_GROMACS_INPUTS is '.*none'; expected a directory"):
        find_input("villin")
