# SPDX-License-Identifier: Apache-2.0
"""Start structures that GROMACS's tools do not make: villin with the residues of its force field, and a bilayer.

Each function reads and writes ``conf.gro`` and ``topol.top`` in the directory of a step.
"""

import bz2
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fabricbench.errors import BadInput
from recipe.structure import Positions, Structure, parse, read, text

LIPIDS_PER_EDGE = 8
LIPIDS = 2 * LIPIDS_PER_EDGE**2
WATERS = 23 * LIPIDS
START_AREA_NM2 = 0.64
"""Area per lipid as measured at 323 K (Nagle and Tristram-Nagle, Biochim. Biophys. Acta 1469 (2000) 159)."""

_BOX_HEIGHT_NM = 7.7
_CORE_NM = 2.1
"""Half thickness of the slab of the stretched tails, from which water is removed."""

_RESIDUES = {"NLE": "LYS", "HSP": "HIS"}
_ATOMS = {("NLE", "HE1"): "NZ", ("PHE", "OT1"): "O", ("PHE", "OT2"): "OXT"}


def villin(directory: Path, sources: Mapping[str, Path]) -> None:
    """HP35 without water. Norleucine 65 and 70 become lysine, as in the wild type: a hydrogen of CE becomes NZ."""
    source = sources["villin_folded.gro.bz2"]
    try:
        whole = parse(bz2.decompress(source.read_bytes()).decode("ascii"), str(source))
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be unpacked: {error}", where=str(source), hint=f"delete it: rm {source}") from None
    protein = whole.subset([i for i, residue in enumerate(whole.residues) if residue != "SOL"])
    names = tuple(
        _ATOMS.get((residue, name), name) for residue, name in zip(protein.residues, protein.names, strict=True)
    )
    residues = tuple(_RESIDUES.get(residue, residue) for residue in protein.residues)
    structure = Structure(protein.residue_numbers, residues, names, protein.positions, protein.box)
    (directory / "conf.gro").write_text(text(structure, "villin headpiece HP35"))


def bilayer(directory: Path, sources: Mapping[str, Path]) -> None:
    """128 stretched DPPC in two leaflets on a centred square lattice, tails inward, and their topology."""
    lipid, names = _lipid()
    spacing = float(np.sqrt(START_AREA_NM2))
    edge = spacing * LIPIDS_PER_EDGE
    placed = []
    for leaflet in (1, -1):
        # Half a turn about x: unlike a reflection it keeps the chirality of the glycerol.
        turned = lipid * np.array([1, leaflet, leaflet])
        for i in range(LIPIDS_PER_EDGE):
            for j in range(LIPIDS_PER_EDGE):
                shift = np.array([(i + 0.25) * spacing, (j + 0.5 - 0.25 * leaflet) * spacing, _BOX_HEIGHT_NM / 2])
                placed.append(turned + shift)
    structure = Structure(
        tuple(number for number in range(1, LIPIDS + 1) for _ in names),
        ("DPPC",) * (LIPIDS * len(names)),
        names * LIPIDS,
        np.concatenate(placed),
        (edge, edge, _BOX_HEIGHT_NM),
    )
    (directory / "conf.gro").write_text(text(structure, "DPPC bilayer"))
    (directory / "topol.top").write_text(topology("DPPC in water", [("DPPC", LIPIDS)]))


def water_outside(directory: Path, sources: Mapping[str, Path]) -> None:
    """Keeps the 23 waters per lipid that are farthest from the middle of the bilayer."""
    solvated = read(directory / "conf.gro")
    lipids = [i for i, residue in enumerate(solvated.residues) if residue == "DPPC"]
    oxygens = [i for i, name in enumerate(solvated.names) if name == "OW"]
    height = np.abs(solvated.positions[:, 2] - solvated.box[2] / 2)
    oxygens.sort(key=lambda i: (-round(float(height[i]), 3), i))
    selection = sorted(oxygens[:WATERS])
    if len(selection) < WATERS or height[oxygens[WATERS - 1]] < _CORE_NM:
        raise BadInput(f"only {len(oxygens)} waters fit beside the bilayer", expected=f"at least {WATERS}")
    waters = [atom for i in selection for atom in (i, i + 1, i + 2)]
    (directory / "conf.gro").write_text(text(solvated.subset(lipids + waters), "DPPC in water"))
    molecules = [("DPPC", LIPIDS), ("SOL", WATERS)]
    (directory / "topol.top").write_text(topology("DPPC in water", molecules))


def topology(title: str, molecules: list[tuple[str, int]]) -> str:
    """A topology with GROMOS 54A7, its DPPC and SPC water."""
    field = "gromos54a7.ff"
    includes = "".join(f'#include "{field}/{name}.itp"\n' for name in ("forcefield", "dppc", "spc"))
    counts = "".join(f"{name} {count}\n" for name, count in molecules)
    return f"{includes}\n[ system ]\n{title}\n\n[ molecules ]\n{counts}"


def _lipid() -> tuple[Positions, tuple[str, ...]]:
    """Positions and names of one stretched DPPC, head up, tail ends near z = 0; order of GROMOS 54A7's ``dppc.itp``.

    Bond lengths and angles are approximate until minimisation. The tails are half a diagonal of the lattice apart, so
    all tails of a leaflet are 0.57 nm from their neighbours.
    """
    apart = float(np.sqrt(START_AREA_NM2)) / 2
    top = 0.25 + 15 * 0.127
    where: dict[str, tuple[float, float, float]] = {
        "CD": (0.12, 0.12, top + 0.28),
        "OE": (0.22, 0.21, top + 0.25),
        "C1A": (0.30, 0.31, top + 0.18),
        "OF": (0.20, 0.40, top + 0.13),
        "CE": (0.02, 0.02, top + 0.20),
        "OG": (0.03, 0.07, top + 0.08),
        "CC": (0.05, 0.10, top + 0.41),
        "OD": (0.08, 0.10, top + 0.55),
        "P": (0.02, 0.10, top + 0.69),
        "OB": (-0.06, 0.22, top + 0.70),
        "OC": (-0.06, -0.02, top + 0.70),
        "OA": (0.13, 0.10, top + 0.80),
        "CB": (0.09, 0.10, top + 0.94),
        "CA": (0.20, 0.10, top + 1.04),
        "NTM": (0.16, 0.10, top + 1.18),
        "CN1": (0.28, 0.10, top + 1.26),
        "CN2": (0.08, 0.22, top + 1.22),
        "CN3": (0.08, -0.02, top + 1.22),
    }
    letters = "ABCDEFGHIJKLMNOP"
    for chain, x, first, up in (("2", 0.0, 0, 0.0), ("1", apart, 1, 2 * 0.127)):
        for k, letter in enumerate(letters[first:], start=first):
            where[f"C{chain}{letter}"] = (x + (0.04 if k % 2 else -0.04), x, top - 0.127 * k + up)
    where["OH"] = (-0.12, -0.08, top + 0.02)
    names = (
        *("CN1", "CN2", "CN3", "NTM", "CA", "CB", "OA", "P", "OB", "OC", "OD", "CC", "CD", "OE", "C1A", "OF"),
        *(f"C1{letter}" for letter in letters[1:]),
        *("CE", "OG", "C2A", "OH"),
        *(f"C2{letter}" for letter in letters[1:]),
    )
    return np.array([where[name] for name in names]), names
