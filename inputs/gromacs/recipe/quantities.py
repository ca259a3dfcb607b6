# SPDX-License-Identifier: Apache-2.0
"""Physical quantities of a system and their accepted ranges. inputs/gromacs/README.md has the ranges' sources."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recipe.structure import Positions, Structure

Series = NDArray[np.float64]
"""Shape (frames,), or (frames, 2): time in ps, value."""

CORE_HALF_NM = 0.6
"""Half thickness of the slab around the middle of a bilayer that contains no water. The carbonyls of DPPC are 1.5 nm
from the middle on average, the deepest ones 0.5 nm; water reaches to 0.6 nm."""

_GAUCHE_DEGREES = 120.0
_TAILS = tuple(tuple(f"C{chain}{letter}" for letter in "BCDEFGHIJKLMNOP") for chain in "12")
"""The saturated carbons of DPPC's two tails, by their GROMOS names."""


class Range(NamedTuple):
    """The accepted range of a quantity."""

    name: str
    unit: str
    low: float
    high: float


class Checked(NamedTuple):
    """A range and the measured value."""

    range: Range
    value: float

    @property
    def holds(self) -> bool:
        """Whether the value is in the range; NaN and infinity are not."""
        return bool(np.isfinite(self.value)) and self.range.low <= self.value <= self.range.high

    def __str__(self) -> str:
        unit = f" {self.range.unit}" if self.range.unit else ""
        return f"{self.range.name} {self.value:.6g}{unit} ({self.range.low:g} to {self.range.high:g})"


def checked(ranges: Sequence[Range], values: Mapping[str, float]) -> list[Checked]:
    """Every range with its value; NaN for a missing value."""
    return [Checked(range, values.get(range.name, float("nan"))) for range in ranges]


def drift(times_ps: Series, energies: Series, atoms: int) -> float:
    """Slope of the conserved energy over the second half of the frames, kJ/mol/ns per atom, by least squares.

    ``times_ps`` and ``energies`` (kJ/mol) have shape (frames,). NaN for fewer than 3 frames. The conserved energy is
    the total energy minus the thermostat's work (Bussi, Donadio and Parrinello, J. Chem. Phys. 126 (2007) 014101), so
    only errors of the integration and of the pair list change it.
    """
    half = len(times_ps) // 2
    if len(times_ps) - half < 3:
        return float("nan")
    slope = np.polyfit(times_ps[half:] - times_ps[half], energies[half:] - energies[half], 1)[0]
    return float(slope) * 1000 / atoms


def mean_of_second_half(values: Series) -> float:
    """Mean over the second half of the frames; NaN without frames."""
    return float(np.mean(values[len(values) // 2 :])) if len(values) else float("nan")


def membrane_quantities(structure: Structure) -> dict[str, float]:
    """Area per lipid, share of gauche torsions, share of water in the core; empty without lipids."""
    if "DPPC" not in structure.residues:
        return {}
    return {
        "area_per_lipid": area_per_lipid(structure),
        "gauche_share": gauche_share(structure),
        "water_in_core": water_in_core(structure),
    }


def area_per_lipid(structure: Structure) -> float:
    """Area of the box in the membrane's plane divided by the lipids of one leaflet, nm2."""
    leaflet = sum(name == "P" for name in structure.names) / 2
    return structure.box[0] * structure.box[1] / leaflet if leaflet else float("nan")


def gauche_share(structure: Structure) -> float:
    """Share of the tails' torsions below 120 degrees: 0 for stretched tails, about 0.25 in the fluid phase."""
    tails = [_indices(structure, tail) for tail in _TAILS]
    if not all(map(len, tails)) or len({len(column) for tail in tails for column in tail}) != 1:
        return float("nan")
    angles = [
        _torsion(structure, *(structure.positions[tail[k + n]] for n in range(4)))
        for tail in tails
        for k in range(len(tail) - 3)
    ]
    return float(np.mean(np.abs(np.concatenate(angles)) < _GAUCHE_DEGREES))


def water_in_core(structure: Structure) -> float:
    """Share of the waters in the hydrocarbon core."""
    ends = _heights(structure, ("C1P", "C2P"))
    waters = _heights(structure, ("OW",))
    if not len(ends) or not len(waters):
        return float("nan")
    height = structure.box[2]
    turn = 2 * np.pi / height
    middle = np.angle(np.mean(np.exp(1j * turn * ends))) / turn
    distance = np.abs((waters - middle + height / 2) % height - height / 2)
    return float(np.mean(distance < CORE_HALF_NM))


def _indices(structure: Structure, names: Sequence[str]) -> list[list[int]]:
    """For each name the indices of the lipids' atoms of that name; empty without lipids."""
    order = {name: k for k, name in enumerate(names)}
    indices: list[list[int]] = [[] for _ in names]
    for i, (residue, name) in enumerate(zip(structure.residues, structure.names, strict=True)):
        if residue == "DPPC" and name in order:
            indices[order[name]].append(i)
    return indices if indices[0] else []


def _heights(structure: Structure, names: Sequence[str]) -> Series:
    return np.array([structure.positions[i, 2] for i, name in enumerate(structure.names) if name in names])


def _torsion(structure: Structure, a: Positions, b: Positions, c: Positions, d: Positions) -> Series:
    """Torsion angles in degrees, with minimum-image vectors in the rectangular box."""
    edges = np.array(structure.box[:3])
    first, axis, last = (step - edges * np.round(step / edges) for step in (b - a, c - b, d - c))
    left, right = np.cross(first, axis), np.cross(axis, last)
    sine = np.linalg.norm(axis, axis=1) * np.sum(first * right, axis=1)
    angles: Series = np.degrees(np.arctan2(sine, np.sum(left * right, axis=1)))
    return angles
