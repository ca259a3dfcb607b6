# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a recipe and measures the result.

Each step works in ``NN-NAME.part``, renamed to ``NN-NAME`` when it is done; finished steps are not repeated.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.inputs import systems
from fabricbench.inputs.systems import PRODUCTION, repeated_topology
from fabricbench.setup.gromacs.gmx import Gromacs, run_gmx
from fabricbench.setup.gromacs.prepare import changed_settings, setting
from fabricbench.setup.gromacs.reference import energy_series
from recipe import quantities, recipes
from recipe.recipes import GmxStep, PythonStep, Recipe, RunStep, Step
from recipe.sources import provide
from recipe.structure import read

Say = Callable[[str], None]

STATE = ("conf.gro", "topol.top", "state.cpt")
"""The files that a step takes over from the one before, with the topologies that ``topol.top`` includes."""


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of a system's steps and the GROMACS that does them."""

    home: Path
    recipe: Recipe
    gromacs: Gromacs
    sources: Mapping[str, Path]
    say: Say


def equilibrate(recipe: Recipe, home: Path, gromacs: Gromacs, say: Say) -> tuple[Path, dict[str, float]]:
    """The directory of the last run with the production settings, and the measured quantities.

    BadInput if a quantity is out of its range.
    """
    place = Place(home, recipe, gromacs, provide(recipe.sources, home / "sources", home / "gmx.log", say), say)
    before = None
    for number, step in enumerate(recipe.steps, start=1):
        before = _do(place, number, step, before)
    if before is None:
        raise BadInput(f"{recipe.name} has no steps", expected="at least one step")
    settled = _settle(place, len(recipe.steps) + 1, before)
    values = _measure(place, settled, before)
    problems = [str(check) for check in quantities.checked(recipe.ranges, values) if not check.holds]
    if problems:
        raise BadInput(f"out of range: {'; '.join(problems)}", where=str(settled), hint=f"to repeat: rm -r {home}")
    return settled, values


def _settle(place: Place, number: int, cell: Path) -> Path:
    """The cells of the grid, with new velocities if there are several, and a run with the production settings."""
    recipe, before = place.recipe, cell
    production = (systems.FOLDER / recipe.name / PRODUCTION).read_text()
    settings = changed_settings(production, nsteps=str(recipe.settle_steps), nstenergy="10", nstcalcenergy="10")
    x, y, z = recipe.grid
    if x * y * z > 1:
        genconf = ("genconf", "-f", "conf.gro", "-o", "conf.gro", "-nbox", str(x), str(y), str(z))
        topology = repeated_topology((cell / "topol.top").read_text(), x * y * z)
        before = _do(place, number, GmxStep("grid", (genconf,)), cell, {"topol.top": topology})
        number += 1
        settings = changed_settings(
            settings, gen_vel="yes", gen_temp=setting(production, "ref-t"), gen_seed=setting(production, "ld-seed")
        )
    return _do(place, number, RunStep("settle", continued=before == cell), before, {"settle.mdp": settings})


def _do(place: Place, number: int, step: Step, before: Path | None, extra: Mapping[str, str] | None = None) -> Path:
    """Does a step on the state in ``before``, unless it is done; ``extra`` are texts of further files by name."""
    directory = place.home / f"{number:02d}-{step.name}"
    if directory.is_dir():
        return directory
    place.say(f"{place.recipe.name}: {step.name}")
    part = directory.with_name(f"{directory.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    state = [] if before is None else [*(before / name for name in STATE), *before.glob("*.itp")]
    for file in (*state, *(recipes.SETTINGS / place.recipe.name).glob("*.mdp")):
        if file.exists():
            shutil.copy(file, part)
    for name, content in (extra or {}).items():
        (part / name).write_text(content)
    if isinstance(step, PythonStep):
        step.function(part, place.sources)
    elif isinstance(step, GmxStep):
        for command in step.commands:
            words = [str(place.sources[word[1:-1]]) if word.startswith("{") else word for word in command]
            _gmx(place, step.name, words, part, step.answer)
    else:
        _run(place, step, part)
    part.rename(directory)
    return directory


def _run(place: Place, step: RunStep, part: Path) -> None:
    """``grompp`` and ``mdrun``; the end of the run becomes ``conf.gro`` and ``state.cpt``."""
    state = ("-t", "state.cpt") if step.continued and (part / "state.cpt").exists() else ()
    files = ("-f", f"{step.name}.mdp", "-c", "conf.gro", "-p", "topol.top", *state, "-o", "run.tpr")
    warnings = place.recipe.grompp_warnings + step.warnings
    _gmx(place, step.name, ("grompp", *files, "-maxwarn", str(warnings)), part)
    _gmx(place, step.name, ("mdrun", "-s", "run.tpr", "-deffnm", "run", *place.gromacs.run_options), part)
    shutil.copy(part / "run.gro", part / "conf.gro")
    (part / "state.cpt").unlink(missing_ok=True)
    if (part / "run.cpt").exists():
        shutil.copy(part / "run.cpt", part / "state.cpt")


def _measure(place: Place, settled: Path, cell: Path) -> dict[str, float]:
    """The quantities of the last run. The mass of a cell is its density times its volume."""
    final = read(settled / "conf.gro")
    cells = len(final) / len(read(cell / "conf.gro"))
    density, volume = (_series(place, cell, term)[:, 1] for term in ("Density", "Volume"))
    temperature, conserved = (_series(place, settled, term) for term in ("Temperature", "Conserved-En."))
    return {
        "atoms": float(len(final)),
        "density": quantities.mean_of_second_half(density * volume) * cells / final.volume_nm3,
        "temperature": quantities.mean_of_second_half(temperature[:, 1]),
        "energy_drift": quantities.drift(conserved[:, 0], conserved[:, 1], len(final)),
    } | quantities.membrane_quantities(final)


def _series(place: Place, directory: Path, term: str) -> quantities.Series:
    return energy_series(place.gromacs, directory, term, place.home / "measure.log")


def _gmx(place: Place, step: str, words: Sequence[str], directory: Path, answer: str = "") -> None:
    what = f"{place.recipe.name}, {step}: gmx {words[0]}"
    log = place.home / f"{step}.log"
    run_gmx(place.gromacs, words, directory=directory, log=log, answer=answer, what=what)
