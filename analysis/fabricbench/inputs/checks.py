# SPDX-License-Identifier: Apache-2.0
"""What a finished system must be: numbers from its last run against stated ranges.

Where the ranges come from: inputs/gromacs/README.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabricbench.errors import BadInput
from fabricbench.inputs.structure import Positions, Structure

Series = NDArray[np.float64]
"""Shape (frames, 1 + quantities): time in ps, then what was asked for."""

CORE_HALF_NM = 0.6
"""Half thickness of the slab about the middle of a bilayer that must be dry. The carbonyls of DPPC stand 1.5 nm from
the middle, the deepest single ones of a rough surface at 0.5; their water is at home beyond 0.6."""

_GAUCHE_DEGREES = 120.0
_TAILS = tuple(tuple(f"C{chain}{letter}" for letter in "BCDEFGHIJKLMNOP") for chain in "12")
"""The saturated carbons of DPPC's two tails, as GROMOS names them."""


@dataclass(frozen=True, slots=True)
class Check:
    """A quantity and the range that it must lie in; ``per_copy`` ranges are multiplied by the number of copies."""

    name: str
    unit: str
    low: float
    high: float
    per_copy: bool = False

    def times(self, copies: int) -> "Check":
        """The check of so many copies."""
        factor = copies if self.per_copy else 1
        return Check(self.name, self.unit, self.low * factor, self.high * factor)


class Outcome(NamedTuple):
    """A check and the value found."""

    check: Check
    value: float

    @property
    def holds(self) -> bool:
        """Whether the value is in range; a value that is not finite never is."""
        return bool(np.isfinite(self.value)) and self.check.low <= self.value <= self.check.high

    def __str__(self) -> str:
        unit = f" {self.check.unit}" if self.check.unit else ""
        return f"{self.check.name} {self.value:.6g}{unit} ({self.check.low:g} to {self.check.high:g})"


def judge(checks: Sequence[Check], values: Mapping[str, float], *, copies: int, where: str, hint: str) -> list[Outcome]:
    """Every check with its value; BadInput that names those that do not hold. A missing value does not hold."""
    outcomes = [Outcome(check.times(copies), values.get(check.name, float("nan"))) for check in checks]
    wrong = [str(outcome) for outcome in outcomes if not outcome.holds]
    if wrong:
        raise BadInput(f"not the system it should be: {'; '.join(wrong)}", where=where, hint=hint)
    return outcomes


def drift(times_ps: Series, energies: Series, atoms: int) -> float:
    """Slope of the conserved energy, kJ/mol/ns per atom, by least squares over the second half.

    ``times_ps`` and ``energies`` (kJ/mol) have shape (frames,). The conserved energy is total energy less what the
    thermostat put in (Bussi, Donadio and Parrinello, J. Chem. Phys. 126 (2007) 014101), so it drifts by errors of
    the integration and of the pair list only.
    """
    half = len(times_ps) // 2
    if len(times_ps) - half < 3:
        return float("nan")
    slope = np.polyfit(times_ps[half:] - times_ps[half], energies[half:] - energies[half], 1)[0]
    return float(slope) * 1000 / atoms


def mean_of_second_half(values: Series) -> float:
    """Mean over the second half of the frames, when the start is forgotten."""
    return float(np.mean(values[len(values) // 2 :])) if len(values) else float("nan")


def area_per_lipid(structure: Structure) -> float:
    """Area of the box in the membrane's plane over the lipids of one leaflet, nm2."""
    leaflet = sum(name == "P" for name in structure.names) / 2
    return structure.box[0] * structure.box[1] / leaflet if leaflet else float("nan")


def gauche_share(structure: Structure) -> float:
    """Share of the tails' torsions below 120 degrees: 0 stretched, about a quarter in the fluid phase."""
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
    """Share of the waters that lie in the hydrocarbon core."""
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
    place = {name: k for k, name in enumerate(names)}
    found: list[list[int]] = [[] for _ in names]
    for i, (residue, name) in enumerate(zip(structure.residues, structure.names, strict=True)):
        if residue == "DPPC" and name in place:
            found[place[name]].append(i)
    return found if found[0] else []


def _heights(structure: Structure, names: Sequence[str]) -> Series:
    return np.array([structure.positions[i, 2] for i, name in enumerate(structure.names) if name in names])


def _torsion(structure: Structure, a: Positions, b: Positions, c: Positions, d: Positions) -> Series:
    """Torsion angles in degrees, each pair of neighbours taken across the rectangular box where that is nearer."""
    edges = np.array(structure.box[:3])
    first, axis, last = (step - edges * np.round(step / edges) for step in (b - a, c - b, d - c))
    left, right = np.cross(first, axis), np.cross(axis, last)
    sine = np.linalg.norm(axis, axis=1) * np.sum(first * right, axis=1)
    angles: Series = np.degrees(np.arctan2(sine, np.sum(left * right, axis=1)))
    return angles
