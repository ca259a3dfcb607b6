# SPDX-License-Identifier: Apache-2.0
"""Physical checks on numbers and structures whose answer is known."""

from pathlib import Path

import numpy as np
import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs import checks, start
from fabricbench.inputs.recipes import SYSTEMS
from fabricbench.inputs.structure import Structure, parse, read, text

RIGHT = {
    "villin": {"atoms": 5423.0, "density": 1027.0, "temperature": 299.8, "energy_drift": 0.2},
    "lzm": {"atoms": 23207.0, "density": 990.0, "temperature": 300.0, "energy_drift": 0.0},
    "dppc": {
        "atoms": 121856.0,
        "density": 990.0,
        "temperature": 323.0,
        "energy_drift": 0.0,
        "area_per_lipid": 0.63,
        "gauche_share": 0.25,
        "water_in_core": 0.0,
    },
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_system_holds_and_copies_multiply_atoms(name: str) -> None:
    outcomes = checks.judge(SYSTEMS[name].checks, RIGHT[name], copies=1, where="here", hint="make it")
    assert all(outcome.holds for outcome in outcomes)
    assert outcomes[0].check.name == "atoms"
    twice = RIGHT[name] | {"atoms": 2 * RIGHT[name]["atoms"]}
    checks.judge(SYSTEMS[name].checks, twice, copies=2, where="here", hint="make it")
    with pytest.raises(BadInput, match=r"here: not the system it should be: atoms"):
        checks.judge(SYSTEMS[name].checks, twice, copies=1, where="here", hint="make it")


@pytest.mark.parametrize(
    ("name", "quantity", "value"),
    [
        ("villin", "atoms", 5300.0 - 1),
        ("villin", "density", 640.0),
        ("lzm", "atoms", 23206.0),
        ("lzm", "temperature", 340.0),
        ("lzm", "temperature", float("nan")),
        ("villin", "energy_drift", 40.0),
        ("dppc", "area_per_lipid", 0.48),
        ("dppc", "gauche_share", 0.02),
        ("dppc", "water_in_core", 0.05),
        ("dppc", "density", float("inf")),
    ],
)
def test_a_wrong_value_is_refused_with_its_range(name: str, quantity: str, value: float) -> None:
    with pytest.raises(BadInput, match=rf"not the system it should be: {quantity} {value:g}.*\(\S+ to \S+\); make it"):
        checks.judge(SYSTEMS[name].checks, RIGHT[name] | {quantity: value}, copies=1, where="here", hint="make it")


def test_a_value_that_was_not_measured_is_refused() -> None:
    with pytest.raises(BadInput, match="density nan"):
        checks.judge(SYSTEMS["villin"].checks, {"atoms": 5423.0}, copies=1, where="here", hint="make it")


def test_drift_is_the_slope_of_the_second_half() -> None:
    rng = np.random.default_rng(5)
    times = np.arange(0, 10, 0.02)
    energies = -75000 + 2.5 * times + np.where(times < 4, 100 * np.exp(-times), 0) + rng.normal(0, 0.5, len(times))
    assert checks.drift(times, energies, 5000) == pytest.approx(0.5, rel=0.05)
    assert np.isnan(checks.drift(times[:4], energies[:4], 5000))


def test_a_stretched_bilayer_is_stretched_dry_and_of_the_area_it_was_given(tmp_path: Path) -> None:
    start.bilayer(tmp_path, {})
    made = read(tmp_path / "conf.gro")
    assert len(made) == start.LIPIDS * 50
    assert checks.area_per_lipid(made) == pytest.approx(start.START_AREA_NM2, abs=1e-4)
    assert checks.gauche_share(made) == 0
    assert np.isnan(checks.water_in_core(made))


def test_gauche_and_core_across_the_box() -> None:
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
    made = Structure(
        (1,) * (lipids * 30 + 4),
        ("DPPC",) * (lipids * 30) + ("SOL",) * 4,
        tuple(tail) * lipids + ("OW",) * 4,
        np.concatenate([*blocks, water]),
        tuple(box),
    )
    assert checks.gauche_share(made) == pytest.approx(0.5)
    # Half of the tails end at z = 0, half at 0.14 times 14: their middle is half way.
    assert checks.water_in_core(made) == pytest.approx(1 / 4)


def test_structures_survive_the_format(tmp_path: Path) -> None:
    start.bilayer(tmp_path, {})
    made = read(tmp_path / "conf.gro")
    again = parse(text(made, "again"), "memory")
    assert again.names == made.names
    assert np.array_equal(again.positions, made.positions)


@pytest.mark.parametrize(
    "cut", ["", "title\n", "title\n3\n    1SOL     OW    1   0.1   0.2   0.3\n", "t\nx\n", "t\n-1\n1 1 1\n"]
)
def test_what_is_no_structure_is_refused(cut: str) -> None:
    with pytest.raises(BadInput, match=r"file.gro: not a structure, or cut; expected a file in GROMACS's .gro format"):
        parse(cut, "file.gro")
