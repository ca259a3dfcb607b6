# SPDX-License-Identifier: Apache-2.0
"""Limits the number of waters around a protein; ``solvate -maxsol`` would remove the others at random."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fabricbench.errors import BadInput
from recipe.structure import read, text

VILLIN_WATERS = 1612
LYSOZYME_WATERS = 7300


def villin_water(directory: Path, sources: Mapping[str, Path]) -> None:
    """Keeps villin's number of waters."""
    _keep(directory, VILLIN_WATERS)


def lysozyme_water(directory: Path, sources: Mapping[str, Path]) -> None:
    """Keeps the number of waters with which lysozyme's system has 23,207 atoms."""
    _keep(directory, LYSOZYME_WATERS)


def _keep(directory: Path, waters: int) -> None:
    """Removes the surplus, evenly over the file and so over the box, and adds the number to the topology."""
    solvated = read(directory / "conf.gro")
    oxygens = [i for i, (residue, name) in enumerate(zip(solvated.residues, solvated.names, strict=True))
               if residue == "SOL" and name == "OW"]  # fmt: skip
    if len(oxygens) < waters:
        raise BadInput(f"only {len(oxygens)} waters fit into the box", expected=f"at least {waters}")
    selection = np.linspace(0, len(oxygens) - 1, waters).round().astype(int)
    protein = [i for i, residue in enumerate(solvated.residues) if residue != "SOL"]
    atoms = [oxygens[k] + atom for k in selection for atom in range(3)]
    (directory / "conf.gro").write_text(text(solvated.subset(protein + atoms), "protein in water"))
    with (directory / "topol.top").open("a") as topology:
        topology.write(f"SOL {waters}\n")
