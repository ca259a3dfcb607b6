# SPDX-License-Identifier: Apache-2.0
"""Reference energies of an input: a few steps by GROMACS in double precision, on one rank."""

import shutil
from dataclasses import replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.cache import Found
from fabricbench.inputs.recipes import CHECKED_STEPS
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs import TERMS, Reference, read_reference
from fabricbench.setup.gromacs.gmx import run_gmx
from fabricbench.setup.gromacs.steps import Place, energies

_ENERGY_NAMES = {term: term.replace(" ", "-") for term in TERMS}
"""How ``gmx energy`` wants to be asked for what the log calls otherwise."""


def ensure_reference(place: Place, found: Found) -> None:
    """Make the reference beside ``found``'s ``.tpr`` where it is not there; without a GROMACS in double precision say
    so: then the energies cannot be checked."""
    if _is_current(place, found):
        return
    program = f"{place.gromacs.program}_d"
    if shutil.which(program) is None:
        place.say(f"{found.name}: no {Path(program).name}, so no reference for its energies")
        return
    place.say(f"{found.name}: reference")
    part = place.home / "reference.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    double = replace(place.gromacs, program=program)
    words = ("mdrun", "-s", str(found.tpr), "-deffnm", "run", "-nsteps", str(CHECKED_STEPS), "-noconfout")
    run_gmx(
        double,
        (*words, *double.run_options),
        directory=part,
        log=place.log("reference"),
        answer="",
        what=f"{found.name}, reference: {Path(program).name} mdrun",
    )
    frames = energies(place, part, *_ENERGY_NAMES.values())
    if len(frames) < 2:
        raise BadInput("energies of the first and the last step are missing", where=str(place.log("reference")))
    reference = Reference(
        name=found.name,
        sha256=found.sha256,
        gromacs=place.gromacs.version,
        tolerance=place.system.tolerance,
        steps={
            step: dict(zip(TERMS, map(float, frames[row, 1:]), strict=True))
            for step, row in ((0, 0), (CHECKED_STEPS, -1))
        },
    )
    write_json(found.reference, reference.model_dump(mode="json"))
    shutil.rmtree(part)


def _is_current(place: Place, found: Found) -> bool:
    try:
        made = read_reference(found.reference)
    except Unreadable:
        return False
    return (made.sha256, made.tolerance) == (found.sha256, place.system.tolerance)
