# SPDX-License-Identifier: Apache-2.0
"""Physical quantities of systems with known answers, and those of the committed systems."""

import re
from pathlib import Path

import numpy as np
import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs.systems import CHECKED_STEPS, COORDINATES, PRODUCTION, TOPOLOGY, known_systems, system
from fabricbench.parsers.tools.gromacs import TERMS
from fabricbench.setup.gromacs.prepare import setting
from recipe import quantities, start
from recipe.commit import bare_topology
from recipe.quantities import Range, checked
from recipe.recipes import RECIPES
from recipe.structure import Structure, parse, read, text

MOLECULE_MASSES = {"SOL": 18.015, "CL": 35.45, "DPPC": 734.04}
"""g/mol; the topology has the masses of a protein's atoms."""
KG_PER_M3 = 1.66053907
"""One g/mol per nm3."""
GAS_CONSTANT = 8.314462618e-3
"""kJ/mol/K."""


def committed(name: str) -> Structure:
    return parse(system(name).read(COORDINATES), name)


def mass(name: str) -> float:
    """The mass of a committed system, g/mol, from its topology."""
    topology = system(name).read(TOPOLOGY)
    atoms = re.search(r"^\[ atoms \]\n(.*?)^\[", topology, re.M | re.S)
    protein = sum(float(line.split()[7]) for line in atoms[1].splitlines() if line.split()) if atoms else 0.0
    molecules = re.findall(r"^(\w+) +(\d+)$", topology.partition("[ molecules ]")[2], re.M)
    return sum(
        (MOLECULE_MASSES | {"Protein": protein, "Protein_chain_A": protein})[kind] * int(n) for kind, n in molecules
    )


def water_temperature(structure: Structure) -> tuple[float, int]:
    """Temperature (K) and degrees of freedom of the rigid waters."""
    assert structure.velocities is not None
    masses = {"OW": 15.9994, "HW1": 1.008, "HW2": 1.008}
    squares = np.sum(structure.velocities**2, axis=1)
    energy = sum(
        masses[name] * square / 2 for name, square in zip(structure.names, squares, strict=True) if name in masses
    )
    freedom = 6 * structure.names.count("OW")
    return 2 * energy / (freedom * GAS_CONSTANT), freedom


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipes_ranges_hold_for_the_committed_values(name: str) -> None:
    described = {check.name: check for check in system(name).checks}
    assert set(described) == {range.name for range in RECIPES[name].ranges}
    for range in RECIPES[name].ranges:
        check = described[range.name]
        assert (check.low, check.high, check.unit) == (range.low, range.high, range.unit)
        assert check.holds


@pytest.mark.parametrize("name", RECIPES)
def test_the_committed_coordinates_have_the_committed_values(name: str) -> None:
    """Atoms, density, area per lipid and the like from the coordinates and the topology alone."""
    structure = committed(name)
    values = {check.name: check.value for check in system(name).checks}
    measured = quantities.membrane_quantities(structure) | {
        "atoms": float(len(structure)),
        "density": KG_PER_M3 * mass(name) / structure.volume_nm3,
    }
    assert len(structure) == system(name).atoms
    for quantity, value in measured.items():
        assert value == pytest.approx(values[quantity], rel=0.002)


@pytest.mark.parametrize("name", RECIPES)
def test_the_committed_velocities_have_the_temperature_of_the_thermostat(name: str) -> None:
    """Within four standard deviations of a canonical ensemble."""
    temperature, freedom = water_temperature(committed(name))
    thermostat = float(setting(system(name).read(PRODUCTION), "ref-t"))
    assert abs(temperature / thermostat - 1) < 4 * np.sqrt(2 / freedom)


@pytest.mark.parametrize("name", RECIPES)
def test_the_box_is_wider_than_twice_the_cutoff(name: str) -> None:
    structure = committed(name)
    cutoff = float(setting(system(name).read(PRODUCTION), "rvdw"))
    assert min(structure.box[:3]) > 2 * cutoff
    assert len(structure.box) == (3 if system(name).membrane else 9)


@pytest.mark.parametrize("name", RECIPES)
def test_the_reference_belongs_to_the_committed_files(name: str) -> None:
    described, recipe = system(name), RECIPES[name]
    assert described.reference is not None
    assert described.reference.content == described.content_digest()
    assert set(described.reference.steps) == {0, CHECKED_STEPS}
    assert all(set(terms) == set(TERMS) for terms in described.reference.steps.values())
    expected = (recipe.membrane, recipe.grompp_warnings, recipe.energy_tolerance)
    assert (described.membrane, described.grompp_warnings, described.energy_tolerance) == expected


def test_every_committed_system_has_a_recipe() -> None:
    assert set(known_systems()) == set(RECIPES)


def test_a_committed_topology_has_no_comments_and_no_restraints() -> None:
    topology = """; made in /home/somebody
#include "a.ff/forcefield.itp" ; force field
[ atoms ]
   1  N  ; qtot 1
#ifdef POSRES
#include "posre.itp"
#endif
[ molecules ]
"""
    expected = '#include "a.ff/forcefield.itp"\n[ atoms ]\n   1  N\n[ molecules ]\n'
    assert bare_topology(topology) == expected
    for name in RECIPES:
        assert bare_topology(system(name).read(TOPOLOGY)) == system(name).read(TOPOLOGY)


@pytest.mark.parametrize(
    ("value", "holds"), [(1.0, True), (2.0, True), (2.1, False), (float("nan"), False), (float("inf"), False)]
)
def test_a_value_holds_inside_its_range_only(value: float, holds: bool) -> None:
    (outcome,) = checked([Range("density", "kg/m3", 1, 2)], {"density": value})
    assert outcome.holds == holds
    assert str(outcome) == f"density {value:.6g} kg/m3 (1 to 2)"


def test_a_missing_value_does_not_hold() -> None:
    (outcome,) = checked([Range("density", "kg/m3", 1, 2)], {})
    assert not outcome.holds


def test_drift_is_the_slope_of_the_second_half() -> None:
    rng = np.random.default_rng(5)
    times = np.arange(0, 10, 0.02)
    energies = -75000 + 2.5 * times + np.where(times < 4, 100 * np.exp(-times), 0) + rng.normal(0, 0.5, len(times))
    assert quantities.drift(times, energies, 5000) == pytest.approx(0.5, rel=0.05)
    assert np.isnan(quantities.drift(times[:4], energies[:4], 5000))


def test_the_start_of_a_bilayer_has_stretched_tails_and_the_chosen_area(tmp_path: Path) -> None:
    start.bilayer(tmp_path, {})
    structure = read(tmp_path / "conf.gro")
    assert len(structure) == start.LIPIDS * 50
    assert quantities.area_per_lipid(structure) == pytest.approx(start.START_AREA_NM2, abs=1e-4)
    assert quantities.gauche_share(structure) == 0
    assert np.isnan(quantities.water_in_core(structure))


def test_torsions_and_core_across_the_periodic_boundary() -> None:
    rng = np.random.default_rng(11)
    lipids = 400
    tail = [f"C{chain}{letter}" for chain in "12" for letter in "BCDEFGHIJKLMNOP"]
    trans = np.array([(0.127 * k, 0.087 * (k % 2), 0) for k in range(15)])
    helix = np.array([(0.043 * np.cos(1.2 * k), 0.043 * np.sin(1.2 * k), 0.14 * k) for k in range(15)])
    box = np.array([5.0, 5.0, 6.0])
    blocks = []
    for _ in range(lipids // 2):
        for shape in (trans, helix):
            at = np.array([*rng.uniform(0, 5, 2), 0.0])
            blocks.append(np.concatenate([shape + at, shape + at]) % box)
    water = np.array([[1.0, 1.0, z] for z in (5.9, 2.8, 3.0, 0.5 + 1.96 / 2)])
    structure = Structure(
        (1,) * (lipids * 30 + 4),
        ("DPPC",) * (lipids * 30) + ("SOL",) * 4,
        tuple(tail) * lipids + ("OW",) * 4,
        np.concatenate([*blocks, water]),
        tuple(box),
    )
    assert quantities.gauche_share(structure) == pytest.approx(0.5)
    # Half of the tails end at z = 0, half at 0.14 * 14; the middle of the bilayer is between.
    assert quantities.water_in_core(structure) == pytest.approx(1 / 4)


def test_a_written_structure_is_read_unchanged(tmp_path: Path) -> None:
    start.bilayer(tmp_path, {})
    structure = read(tmp_path / "conf.gro")
    again = parse(text(structure, "again"), "memory")
    assert again.names == structure.names
    assert np.array_equal(again.positions, structure.positions)


@pytest.mark.parametrize(
    "text", ["", "title\n", "title\n3\n    1SOL     OW    1   0.1   0.2   0.3\n", "t\nx\n", "t\n-1\n1 1 1\n"]
)
def test_an_invalid_structure_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"file.gro: not a structure, or cut; expected a file in GROMACS's .gro format"):
        parse(text, "file.gro")
