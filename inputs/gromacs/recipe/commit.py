# SPDX-License-Identifier: Apache-2.0
"""Writes a finished system to its committed files, and its reference energies to ``system.json``."""

import lzma
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs import systems
from fabricbench.inputs.systems import COORDINATES, DESCRIPTION, PACKED, TOPOLOGY, Check, MolecularSystem
from fabricbench.setup.gromacs.gmx import Gromacs
from fabricbench.setup.gromacs.prepare import prepare_inputs
from fabricbench.setup.gromacs.reference import double_precision, reference_energies
from recipe.quantities import checked
from recipe.recipes import Recipe


def commit(recipe: Recipe, finished: Path, values: Mapping[str, float], gromacs: str) -> None:
    """Writes the files of the system whose ``conf.gro`` and ``topol.top`` are in ``finished``."""
    folder = systems.FOLDER / recipe.name
    _pack(folder / f"{COORDINATES}{PACKED}", (finished / "conf.gro").read_text())
    _pack(folder / f"{TOPOLOGY}{PACKED}", bare_topology((finished / "topol.top").read_text()))
    checks = tuple(
        Check(name=name, unit=unit, value=value, low=low, high=high)
        for (name, unit, low, high), value in checked(recipe.ranges, values)
    )
    system = MolecularSystem(
        name=recipe.name,
        atoms=int(values["atoms"]),
        membrane=recipe.membrane,
        grompp_warnings=recipe.grompp_warnings,
        energy_tolerance=recipe.energy_tolerance,
        gromacs=gromacs,
        checks=checks,
    )
    write_json(folder / DESCRIPTION, system.model_dump(mode="json"))
    systems.forget()


def commit_reference(name: str, home: Path, gromacs: Gromacs, say: Callable[[str], None]) -> None:
    """Adds the energies in double precision of the committed files to ``system.json``."""
    double = double_precision(gromacs)
    if double is None:
        raise BadInput("no gmx_d on PATH", expected="GROMACS in double precision", hint="install it, then repeat")
    system = systems.system(name)
    (prepared,) = prepare_inputs([system], 1, home / "prepared", say)
    energies = systems.ReferenceEnergies(
        content=system.content_digest(),
        gromacs=gromacs.version,
        steps=reference_energies(prepared.tpr, double, gromacs),
    )
    complete = system.model_copy(update={"reference": energies})
    write_json(system.folder / DESCRIPTION, complete.model_dump(mode="json"))
    systems.forget()


def bare_topology(topology: str) -> str:
    """A topology without comments, which name paths and dates, and without position restraints."""
    without_comments = "\n".join(line.partition(";")[0].rstrip() for line in topology.splitlines())
    without_restraints = re.sub(r"^#ifdef POSRES\w*\n.*?^#endif\n", "", without_comments, flags=re.M | re.S)
    return re.sub(r"\n{3,}", "\n\n", without_restraints).strip() + "\n"


def _pack(path: Path, text: str) -> None:
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
