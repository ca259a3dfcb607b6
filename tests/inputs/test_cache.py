# SPDX-License-Identifier: Apache-2.0
"""The content digest of a system, and the file that a name stands for."""

import shutil
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs import cache, systems
from fabricbench.inputs.cache import USER_INPUTS, MissingInput, RunInput, find_input, user_input_names
from fabricbench.inputs.systems import COPIES, PRODUCTION, known_systems, repeated_topology, system

VERSION = "2022.5"


def directory_name(name: str, version: str = VERSION, copies: int = 1) -> str:
    return cache.input_directory(Path("cache"), system(name), version, copies).name


def test_every_system_number_of_copies_and_version_has_its_own_directory() -> None:
    names = [directory_name(name, copies=copies) for name in known_systems() for copies in COPIES]
    assert len(set(names)) == len(known_systems()) * len(COPIES)
    assert directory_name("villin") == directory_name("villin")
    assert directory_name("villin", "2023.1") != directory_name("villin")


@pytest.mark.parametrize("file", ["conf.gro.xz", "topol.top.xz", PRODUCTION])
def test_a_changed_file_changes_the_directory(file: str, tmp_path: Path) -> None:
    before = directory_name("villin")
    shutil.copytree(systems.FOLDER / "villin", tmp_path / "villin")
    systems.FOLDER = tmp_path
    (tmp_path / "villin/README").write_text("not read by grompp")
    assert directory_name("villin") == before
    path = tmp_path / "villin" / file
    path.write_bytes(path.read_bytes() + b"\n")
    assert directory_name("villin") != before


@pytest.mark.parametrize("name", known_systems())
def test_the_grid_has_as_many_places_as_copies(name: str) -> None:
    for copies in COPIES:
        x, y, z = system(name).grid(copies)
        assert x * y * z == copies
        assert z == 1 or not system(name).membrane


def test_a_topology_is_repeated_molecule_by_molecule() -> None:
    topology = "[ system ]\nname\n[ molecules ]\n; name number\nProtein 1\nSOL 3\n"
    assert repeated_topology(topology, 2).endswith("[ molecules ]\nProtein 1\nSOL 3\nProtein 1\nSOL 3\n")
    with pytest.raises(BadInput, match=r"topol.top: no section \[ molecules \]"):
        repeated_topology("[ system ]\n", 2)


def test_a_damaged_committed_file_is_reported(tmp_path: Path) -> None:
    shutil.copytree(systems.FOLDER / "villin", tmp_path / "villin")
    systems.FOLDER = tmp_path
    path = tmp_path / "villin/conf.gro.xz"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadInput, match=r"conf.gro.xz: cannot be read"):
        system("villin").read("conf.gro")
    (tmp_path / "villin/system.json").write_text("{")
    systems.forget()
    with pytest.raises(BadInput, match=r"villin/system.json: cannot be read"):
        known_systems()


def test_the_users_file_has_precedence_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("villin", "our-protein_2"):
        (tmp_path / f"{name}.tpr").write_bytes(b"a run input")
    (tmp_path / "a b.tpr").write_bytes(b"a run input")
    (tmp_path / "empty.tpr").touch()
    monkeypatch.setenv(USER_INPUTS, str(tmp_path))
    for name in ("villin", "our-protein_2"):
        result = find_input(name, root=tmp_path / "cache")
        assert isinstance(result, RunInput)
        assert result.tpr == tmp_path / f"{name}.tpr"
        assert result.record is None
    assert user_input_names() == ["empty", "our-protein_2", "villin"]
    assert find_input("empty") == MissingInput(f"{tmp_path / 'empty.tpr'} is empty", "replace it by the whole file")
    assert find_input("other") == MissingInput("there is no other.tpr", f"put it into {tmp_path}")
    two_copies = find_input("villin", 2, root=tmp_path / "cache")
    assert isinstance(two_copies, MissingInput)
    assert two_copies.hint == "run: fabricbench inputs villin --copies 2"


def test_missing_and_incomplete_inputs_have_a_reason_and_a_hint(tmp_path: Path) -> None:
    result = find_input("villin", root=tmp_path)
    assert result == MissingInput("the input villin (copies: 1) is not prepared yet", "run: fabricbench inputs villin")
    (tmp_path / "villin-x1-0123456789ab").mkdir()
    incomplete = find_input("villin", root=tmp_path)
    assert incomplete == MissingInput(
        "the input villin-x1-0123456789ab is incomplete", "run: fabricbench inputs villin"
    )
    (tmp_path / "villin-x1-0123456789ab/input.json").write_text('{"name": "villin"')
    damaged = find_input("villin", root=tmp_path)
    assert isinstance(damaged, MissingInput)
    assert "is damaged" in damaged.reason


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
def test_impossible_names_and_numbers_of_copies(name: str, copies: int, message: str) -> None:
    with pytest.raises(BadInput) as error:
        find_input(name, copies)
    assert message in str(error.value)


def test_a_missing_user_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_INPUTS, str(tmp_path / "none"))
    with pytest.raises(BadInput, match=r"environment: FABRICBENCH_GROMACS_INPUTS is '.*none'; expected a directory"):
        find_input("villin")
