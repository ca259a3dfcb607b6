# SPDX-License-Identifier: Apache-2.0
"""Reference energies of an input in double precision, as ``NAME.reference.json`` beside its ``.tpr``.

Those of a committed system are committed with it. Those of several copies come from ``gmx_d`` if it is installed.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.cache import RunInput
from fabricbench.inputs.systems import CHECKED_STEPS, MolecularSystem
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs import TERMS, Reference, read_reference
from fabricbench.setup.gromacs.gmx import Gromacs, run_gmx
from fabricbench.setup.record import Say

Energies = dict[int, dict[str, float]]
"""kJ/mol, by step and term."""

LOG = "reference.log"


def ensure_reference(system: MolecularSystem, run_input: RunInput, gromacs: Gromacs, say: Say) -> None:
    """Writes the reference of an input unless it is there already.

    Reports in a line if there are no committed energies and no GROMACS in double precision.
    """
    if _is_current(system, run_input):
        return
    committed = system.reference
    if run_input.copies == 1 and committed and committed.content == system.content_digest():
        version, steps = committed.gromacs, committed.steps
    else:
        double = double_precision(gromacs)
        if double is None:
            say(f"{run_input.name}: no {Path(gromacs.program).name}_d is installed, so its energies cannot be checked")
            return
        say(f"{run_input.name}: energies in double precision")
        version, steps = gromacs.version, reference_energies(run_input.tpr, double, gromacs)
    reference = Reference(
        name=run_input.name,
        sha256=run_input.sha256,
        gromacs=version,
        tolerance=system.energy_tolerance,
        steps=steps,
    )
    write_json(run_input.reference, reference.model_dump(mode="json"))


def double_precision(gromacs: Gromacs) -> Gromacs | None:
    """The double-precision program beside ``gromacs``; None if it is not installed."""
    program = f"{gromacs.program}_d"
    return replace(gromacs, program=program) if shutil.which(program) else None


def reference_energies(tpr: Path, double: Gromacs, gromacs: Gromacs) -> Energies:
    """Energies at step 0 and at step ``CHECKED_STEPS``, from a run of ``double`` on one rank."""
    log = tpr.with_name(LOG)
    with tempfile.TemporaryDirectory(dir=tpr.parent, prefix=".reference-") as name:
        directory = Path(name)
        words = ("mdrun", "-s", str(tpr.resolve()), "-deffnm", "run", "-nsteps", str(CHECKED_STEPS), "-noconfout")
        what = f"{tpr.stem}, reference"
        run_gmx(double, (*words, *double.run_options), directory=directory, log=log, answer="", what=what)
        columns = [energy_series(gromacs, directory, term.replace(" ", "-"), log)[:, 1] for term in TERMS]
    if len(columns[0]) < 2:
        raise BadInput("energies of the first and the last step are missing", where=str(log))
    return {
        step: {term: float(column[row]) for term, column in zip(TERMS, columns, strict=True)}
        for step, row in ((0, 0), (CHECKED_STEPS, -1))
    }


def energy_series(gromacs: Gromacs, directory: Path, term: str, log: Path) -> NDArray[np.float64]:
    """Time (ps) and a term of the energies in ``run.edr``, shape (frames, 2)."""
    words = ("energy", "-f", "run.edr", "-o", "term.xvg", "-xvg", "none", "-dp")
    run_gmx(gromacs, words, directory=directory, log=log, answer=f"{term}\n\n", what=f"gmx energy, {term}")
    series: NDArray[np.float64] = np.loadtxt(directory / "term.xvg", ndmin=2)
    return series


def _is_current(system: MolecularSystem, run_input: RunInput) -> bool:
    try:
        reference = read_reference(run_input.reference)
    except Unreadable:
        return False
    return (reference.sha256, reference.tolerance) == (run_input.sha256, system.energy_tolerance)
