# SPDX-License-Identifier: Apache-2.0
"""Inputs prepared by the real ``gmx``: once, reproducibly, as copies, after damage, and with GROMACS's errors."""

import subprocess
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs import systems
from fabricbench.inputs.cache import MissingInput, find_input
from fabricbench.inputs.systems import system
from fabricbench.parsers.tools.gromacs import read_reference
from fabricbench.setup.gromacs import gmx as gromacs
from fabricbench.setup.gromacs import prepare
from fabricbench.setup.gromacs.prepare import changed_settings, prepare_inputs, setting
from fabricbench.setup.gromacs.reference import double_precision, reference_energies
from recipe import recipes
from recipe.equilibrate import equilibrate
from recipe.quantities import Range
from recipe.structure import read
from support import toy_input

pytestmark = pytest.mark.usefixtures("gmx")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder with the committed files of ``toy``."""
    gmx = request.getfixturevalue("gmx")
    if double_precision(gromacs.described(gmx)) is None:
        pytest.skip("no gmx_d: Debian's package gromacs has both")
    folder, settings = systems.FOLDER, recipes.SETTINGS
    toy_folder = tmp_path_factory.mktemp("systems")
    lines = toy_input.make_toy(toy_folder)
    steps = [f"toy: {step}" for step in ("start", "water", "minimise", "equilibrate", "settle", "grompp")]
    assert lines[:-1] == [*steps, "toy: energies in double precision"]
    systems.FOLDER, recipes.SETTINGS = folder, settings
    return toy_folder


@pytest.fixture
def toy_system(toy: Path) -> Path:
    """The folder ``toy`` as that of the committed systems."""
    systems.FOLDER = toy
    return toy


def differences(gmx: str, one: Path, other: Path) -> list[str]:
    """The differences that ``gmx check`` reports between two run inputs."""
    result = subprocess.run(
        [gmx, "-quiet", "check", "-s1", str(one), "-s2", str(other)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert any("comparing" in line for line in lines), result.stdout
    return [line for line in lines if line.strip() and not line.startswith(("comparing", "Both files"))]


def test_an_input_is_prepared_once_and_reproducibly(gmx: str, toy_system: Path, tmp_path: Path) -> None:
    before = find_input("toy", root=tmp_path / "one")
    assert isinstance(before, MissingInput)
    assert before.hint == "run: fabricbench inputs toy"
    first, lines = toy_input.prepare_toy(tmp_path / "one")
    assert lines == ["toy: grompp"]
    assert first.record is not None
    assert first.record.atoms == len(read(first.tpr.with_name("conf.gro")))
    assert toy_input.prepare_toy(tmp_path / "one") == (first, [])
    assert find_input("toy", root=tmp_path / "one") == first
    other, _ = toy_input.prepare_toy(tmp_path / "two")
    assert differences(gmx, first.tpr, other.tpr) == []


def test_a_damaged_input_is_prepared_again(gmx: str, toy_system: Path, tmp_path: Path) -> None:
    first, _ = toy_input.prepare_toy(tmp_path)
    first.tpr.write_bytes(first.tpr.read_bytes()[:-1])
    damaged = find_input("toy", root=tmp_path)
    assert isinstance(damaged, MissingInput)
    assert "was changed or damaged" in damaged.reason
    _, lines = toy_input.prepare_toy(tmp_path)
    assert lines == ["toy: grompp"]


def test_copies_have_their_own_velocities_and_reference(toy_system: Path, tmp_path: Path) -> None:
    one, _ = toy_input.prepare_toy(tmp_path)
    four, lines = toy_input.prepare_toy(tmp_path, copies=4)
    assert lines == ["toy: grompp", "toy: energies in double precision"]
    assert four.record is not None
    assert four.record.atoms == 4 * system("toy").atoms
    assert find_input("toy", 4, root=tmp_path) == four
    single, multiple = (read_reference(run_input.reference).steps[0] for run_input in (one, four))
    assert multiple["Potential"] == pytest.approx(4 * single["Potential"], rel=1e-4)
    assert multiple["Kinetic En."] == pytest.approx(4 * single["Kinetic En."], rel=0.15)


def test_the_reference_of_a_changed_system_comes_from_gmx_d(
    toy_system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed energies belong to the committed files only."""
    committed = system("toy").reference
    assert committed is not None
    unchanged, _ = toy_input.prepare_toy(tmp_path / "cache")
    assert read_reference(unchanged.reference).steps == committed.steps
    production = toy_system / "toy/production.mdp"
    text = production.read_text()
    try:
        production.write_text(changed_settings(text, rcoulomb="0.7", rvdw="0.7"))
        changed, lines = toy_input.prepare_toy(tmp_path / "cache")
        assert lines == ["toy: grompp", "toy: energies in double precision"]
        assert read_reference(changed.reference).steps != committed.steps
        changed.reference.unlink()
        monkeypatch.setattr("fabricbench.setup.gromacs.reference.double_precision", lambda gromacs: None)
        _, lines = toy_input.prepare_toy(tmp_path / "cache")
        assert lines == ["toy: no gmx_d is installed, so its energies cannot be checked"]
    finally:
        production.write_text(text)


def test_villins_committed_energies_are_those_of_gmx_d(gmx: str, tmp_path: Path) -> None:
    """Another GROMACS may round differently, by far less than the tolerance of a checked run."""
    programs = gromacs.described(gmx)
    double = double_precision(programs)
    if double is None:
        pytest.skip("no gmx_d: Debian's package gromacs has both")
    villin = system("villin")
    (prepared,) = prepare_inputs([villin], 1, tmp_path, lambda line: None)
    energies = reference_energies(prepared.tpr, double, programs)
    assert villin.reference is not None
    for step, terms in villin.reference.steps.items():
        scale = abs(terms["Potential"])
        for term, value in terms.items():
            assert abs(energies[step][term] - value) / scale < villin.energy_tolerance / 10


def test_a_recipe_refuses_a_system_out_of_range(toy: Path, gmx: str) -> None:
    heavy = (*toy_input.RANGES[:1], Range("density", "kg/m3", 1900, 2100), *toy_input.RANGES[2:])
    recipe = toy_input.toy_recipe(toy, heavy)
    with pytest.raises(BadInput, match=r"out of range: density [89]\d\d.* kg/m3 \(1900 to 2100\)"):
        equilibrate(recipe, toy / "steps", gromacs.described(gmx), lambda line: None)


def test_a_failing_command_is_reported_with_gromacss_message(toy_system: Path, tmp_path: Path) -> None:
    production = toy_system / "toy/production.mdp"
    text = production.read_text()
    try:
        production.write_text("integrator = steap\n")
        with pytest.raises(BadInput, match=r"gmx.log: toy: gmx grompp failed: .*'steap'.*integrator"):
            toy_input.prepare_toy(tmp_path)
    finally:
        production.write_text(text)


def test_a_full_disk_is_reported(toy_system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**9, 0, 5_000_000))
    with pytest.raises(BadInput, match="5 MB free; expected 50 MB; make room, or give --directory"):
        toy_input.prepare_toy(tmp_path)


def test_a_directory_that_cannot_be_written_is_reported(toy_system: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="make it writable, or give --directory"):
        toy_input.prepare_toy(tmp_path / "file/inside")


def test_another_version_of_gromacs_has_its_own_input(
    toy_system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = toy_input.prepare_toy(tmp_path)
    programs = gromacs.find_gromacs(tmp_path / "log", print)
    monkeypatch.setattr(prepare, "find_gromacs", lambda log, say: replace(programs, version=f"{programs.version}-next"))
    second, lines = toy_input.prepare_toy(tmp_path)
    assert lines[0] == "toy: grompp"
    assert second.tpr != first.tpr
    assert find_input("toy", root=tmp_path) == second


def test_settings_are_replaced_and_read() -> None:
    settings = "nsteps = 10\nref-t                    = 300\n"
    assert changed_settings(settings, nsteps="5", gen_vel="yes").splitlines()[1:] == [
        f"{'nsteps':24} = 5",
        f"{'gen-vel':24} = yes",
    ]
    assert setting(settings, "ref-t") == "300"
    with pytest.raises(BadInput, match="no setting 'pcoupl'"):
        setting(settings, "pcoupl")
