# SPDX-License-Identifier: Apache-2.0
"""A small system for the real ``gmx``: a box of water, built in seconds by the code that builds the large ones.

As a program, ``toy_input.py ROOT PICOSECONDS``, it builds the system below ROOT, so that a test can kill it.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fabricbench.inputs import recipes
from fabricbench.inputs.cache import Found
from fabricbench.inputs.checks import Check
from fabricbench.inputs.recipes import Gmx, Make, Run, System
from fabricbench.inputs.start import topology
from fabricbench.setup.gromacs import build as inputs

CHECKS = (
    Check("atoms", "", 600, 1200, per_copy=True),
    Check("density", "kg/m3", 800, 1050),
    Check("temperature", "K", 280, 320),
    Check("energy_drift", "kJ/mol/ns per atom", -20, 20),
)

_STEP = "integrator = md\ndt = 0.002\n"
_FORCES = "coulombtype = reaction-field\nepsilon-rf = 62\nrcoulomb = 0.8\nrvdw = 0.8\n"
_HEAT = "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\nref-t = 300\nld-seed = 7\n"
_PRESS = "pcoupl = C-rescale\ntau-p = 0.5\nref-p = 1\ncompressibility = 4.5e-5\n"
_NEW = "gen-vel = yes\ngen-temp = 300\ngen-seed = 7\n"


def _start(directory: Path, sources: Mapping[str, Path]) -> None:
    (directory / "topol.top").write_text(topology("water", []))


def system(folder: Path, *, checks: tuple[Check, ...] = CHECKS, picoseconds: float = 2) -> System:
    """A water box of about 800 atoms, its settings written below ``folder``."""
    recipes.SETTINGS = folder
    (folder / "toy").mkdir(parents=True, exist_ok=True)
    settings = {
        "minimise": f"integrator = steep\nnsteps = 50\nemtol = 100\n{_FORCES}",
        "equilibrate": f"{_STEP}nsteps = {int(picoseconds * 500)}\nnstenergy = 50\n{_FORCES}{_HEAT}{_PRESS}{_NEW}",
        "production": f"{_STEP}nsteps = 5000\n{_FORCES}{_HEAT}",
    }
    for name, text in settings.items():
        (folder / "toy" / f"{name}.mdp").write_text(text)
    solvate = ("solvate", "-cs", "spc216", "-box", "2", "2", "2", "-o", "conf.gro", "-p", "topol.top")
    cell = (
        Make("start", _start),
        Gmx("water", (solvate,)),
        Run("minimise", "minimise", continued=False),
        Run("equilibrate", "equilibrate", continued=False),
    )
    made = System(name="toy", sources=(), cell=cell, grid=(1, 1, 1), checks=checks, warnings=1, settle_steps=1000)
    recipes.SYSTEMS["toy"] = made
    return made


def build(root: Path, made: System, copies: int = 1) -> tuple[Found, list[str]]:
    """The finished input, and the progress lines."""
    said: list[str] = []
    (found,) = inputs.build([made], copies, root, said.append)
    assert str(found.tpr) in said[-1]
    return found, said[:-1]


def given_water(root: Path) -> Path:
    """A directory with ``water.tpr``, its reference, and what grompp needs to make another."""
    settings, systems = recipes.SETTINGS, dict(recipes.SYSTEMS)
    found, _ = build(root / "cache", system(root / "settings"))
    recipes.SETTINGS = settings
    recipes.SYSTEMS.clear()
    recipes.SYSTEMS.update(systems)
    given = root / "given"
    shutil.copytree(found.tpr.parent, given)
    (given / "toy.tpr").rename(given / "water.tpr")
    (given / "toy.reference.json").rename(given / "water.reference.json")
    return given


if __name__ == "__main__":
    where = Path(sys.argv[1])
    build(where, system(where / "settings", picoseconds=float(sys.argv[2])))
