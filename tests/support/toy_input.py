# SPDX-License-Identifier: Apache-2.0
"""A box of 800 atoms of water, which the real ``gmx`` equilibrates in seconds with the maintainer's recipe code."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from fabricbench.inputs import systems
from fabricbench.inputs.cache import RunInput
from fabricbench.setup.gromacs.gmx import find_gromacs
from fabricbench.setup.gromacs.prepare import prepare_inputs
from recipe import recipes
from recipe.commit import commit, commit_reference
from recipe.equilibrate import equilibrate
from recipe.quantities import Range
from recipe.recipes import GmxStep, PythonStep, Recipe, RunStep
from recipe.start import topology

RANGES = (
    Range("atoms", "", 600, 1200),
    Range("density", "kg/m3", 800, 1050),
    Range("temperature", "K", 280, 320),
    Range("energy_drift", "kJ/mol/ns per atom", -20, 20),
)

_STEP = "integrator = md\ndt = 0.002\n"
_FORCES = "coulombtype = reaction-field\nepsilon-rf = 62\nrcoulomb = 0.8\nrvdw = 0.8\n"
_HEAT = "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\nref-t = 300\nld-seed = 7\n"
_PRESS = "pcoupl = C-rescale\ntau-p = 0.5\nref-p = 1\ncompressibility = 4.5e-5\n"
_VELOCITIES = "gen-vel = yes\ngen-temp = 300\ngen-seed = 7\n"


def _start(directory: Path, sources: Mapping[str, Path]) -> None:
    (directory / "topol.top").write_text(topology("water", []))


def toy_recipe(folder: Path, ranges: tuple[Range, ...] = RANGES) -> Recipe:
    """The recipe ``toy``; makes ``folder`` that of the committed systems and of the recipes' settings."""
    systems.FOLDER = recipes.SETTINGS = folder
    systems.forget()
    (folder / "toy").mkdir(parents=True, exist_ok=True)
    settings = {
        "minimise": f"integrator = steep\nnsteps = 50\nemtol = 100\n{_FORCES}",
        "equilibrate": f"{_STEP}nsteps = 1000\nnstenergy = 50\n{_FORCES}{_HEAT}{_PRESS}{_VELOCITIES}",
        "production": f"{_STEP}nsteps = 5000\n{_FORCES}{_HEAT}",
    }
    for name, text in settings.items():
        (folder / "toy" / f"{name}.mdp").write_text(text)
    solvate = ("solvate", "-cs", "spc216", "-box", "2", "2", "2", "-o", "conf.gro", "-p", "topol.top")
    steps = (
        PythonStep("start", _start),
        GmxStep("water", (solvate,)),
        RunStep("minimise", continued=False),
        RunStep("equilibrate", continued=False),
    )
    return Recipe(name="toy", sources=(), steps=steps, ranges=ranges, grompp_warnings=1, settle_steps=1000)


def make_toy(folder: Path) -> list[str]:
    """Makes the system ``toy`` below ``folder`` with its reference energies, and returns the program's lines."""
    lines: list[str] = []
    recipe = toy_recipe(folder)
    home = folder / "steps"
    home.mkdir(exist_ok=True)
    gromacs = find_gromacs(home / "gmx.log", lines.append)
    settled, values = equilibrate(recipe, home, gromacs, lines.append)
    commit(recipe, settled, values, gromacs.version)
    commit_reference("toy", home, gromacs, lines.append)
    return lines


def prepare_toy(root: Path, copies: int = 1) -> tuple[RunInput, list[str]]:
    """The prepared input, and the lines before its summary."""
    lines: list[str] = []
    (run_input,) = prepare_inputs([systems.system("toy")], copies, root, lines.append)
    assert str(run_input.tpr) in lines[-1]
    return run_input, lines[:-1]


def water_inputs(root: Path) -> Path:
    """A user's directory with ``water.tpr``, its reference, and the files for another ``grompp``."""
    folder, settings = systems.FOLDER, recipes.SETTINGS
    make_toy(root / "systems")
    run_input, _ = prepare_toy(root / "cache")
    systems.FOLDER, recipes.SETTINGS = folder, settings
    systems.forget()
    directory = root / "inputs"
    shutil.copytree(run_input.tpr.parent, directory)
    (directory / "toy.tpr").rename(directory / "water.tpr")
    (directory / "toy.reference.json").rename(directory / "water.reference.json")
    return directory
