# SPDX-License-Identifier: Apache-2.0
"""So many waters about a protein and no more: ``solvate -maxsol`` takes the rest out at random, each time others.

The bytes of this file are part of the content hash of the systems that use it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fabricbench.errors import BadInput
from fabricbench.inputs.structure import read, text

VILLIN_WATERS = 1612
LYSOZYME_WATERS = 7300


def villin_water(directory: Path, sources: Mapping[str, Path]) -> None:
    """Villin's waters."""
    _keep(directory, VILLIN_WATERS)


def lysozyme_water(directory: Path, sources: Mapping[str, Path]) -> None:
    """Lysozyme's waters: the number that makes 23,207 atoms."""
    _keep(directory, LYSOZYME_WATERS)


def _keep(directory: Path, waters: int) -> None:
    """Take out what is too much, evenly over the file and so over the box, and tell the topology."""
    found = read(directory / "conf.gro")
    oxygens = [i for i, (residue, name) in enumerate(zip(found.residues, found.names, strict=True))
               if residue == "SOL" and name == "OW"]  # fmt: skip
    if len(oxygens) < waters:
        raise BadInput(f"only {len(oxygens)} waters fit into the box", expected=f"at least {waters}")
    kept = np.linspace(0, len(oxygens) - 1, waters).round().astype(int)
    protein = [i for i, residue in enumerate(found.residues) if residue != "SOL"]
    atoms = [oxygens[k] + atom for k in kept for atom in range(3)]
    (directory / "conf.gro").write_text(text(found.chosen(protein + atoms), "protein in water"))
    with (directory / "topol.top").open("a") as topology:
        topology.write(f"SOL {waters}\n")
