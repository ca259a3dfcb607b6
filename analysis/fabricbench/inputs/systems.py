# SPDX-License-Identifier: Apache-2.0
"""The molecular systems that GROMACS runs, as committed under ``inputs/gromacs``.

Each system is a folder:

    system.json        name, number of atoms, checks, reference energies: ``MolecularSystem``
    conf.gro.xz        positions (nm, 3 decimals) and velocities (nm/ps, 4 decimals)
    topol.top.xz       topology; it includes a force field that every GROMACS ships
    production.mdp     settings of the benchmarked run

``inputs/gromacs/recipe`` is the maintainer's program that makes these files.
"""

import functools
import hashlib
import lzma
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.errors import BadInput, nearest
from fabricbench.site.settings import REPOSITORY

FOLDER = REPOSITORY / "inputs/gromacs"
"""The committed systems."""

DESCRIPTION = "system.json"
COORDINATES = "conf.gro"
TOPOLOGY = "topol.top"
PRODUCTION = "production.mdp"
PACKED = ".xz"
_CONTENT = (f"{COORDINATES}{PACKED}", f"{TOPOLOGY}{PACKED}", PRODUCTION)

LEAST_GROMACS = 2022
"""Oldest release whose ``grompp`` prepares the inputs."""
QUICK = "villin"
"""The system of the quick tier."""
COPIES = range(1, 9)
CHECKED_STEPS = 20
"""Steps between the two compared energies; rounding errors have not yet grown (docs/gromacs.md)."""

_SPACE = {
    1: (1, 1, 1),
    2: (2, 1, 1),
    3: (3, 1, 1),
    4: (2, 2, 1),
    5: (5, 1, 1),
    6: (3, 2, 1),
    7: (7, 1, 1),
    8: (2, 2, 2),
}
_PLANE = {
    1: (1, 1, 1),
    2: (1, 2, 1),
    3: (1, 3, 1),
    4: (2, 2, 1),
    5: (1, 5, 1),
    6: (2, 3, 1),
    7: (1, 7, 1),
    8: (2, 4, 1),
}


class Check(BaseModel):
    """A physical quantity of the system, the value that the recipe measured, and the accepted range."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    unit: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the value is in the range; NaN is not."""
        return self.low <= self.value <= self.high


class ReferenceEnergies(BaseModel):
    """Energies in double precision (kJ/mol), by step and term.

    ``content`` is the ``content_digest`` of the files that the energies belong to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    content: str
    gromacs: str
    steps: dict[int, dict[str, float]]


class MolecularSystem(BaseModel):
    """``system.json``.

    ``membrane``: copies are placed in its plane only. ``grompp_warnings``: warnings of ``grompp`` that are known and
    harmless. ``energy_tolerance``: accepted deviation from the reference energies, divided by the potential energy.
    ``gromacs``: the version that equilibrated the system.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_version: int = 1
    name: str
    atoms: int
    membrane: bool = False
    grompp_warnings: int = 0
    energy_tolerance: float
    gromacs: str
    checks: tuple[Check, ...] = ()
    reference: ReferenceEnergies | None = None

    @property
    def folder(self) -> Path:
        """The folder of the committed files."""
        return FOLDER / self.name

    def grid(self, copies: int) -> tuple[int, int, int]:
        """Numbers of copies along x, y and z."""
        return (_PLANE if self.membrane else _SPACE)[copies]

    def content_digest(self) -> str:
        """SHA-256 of everything that ``grompp`` reads."""
        total = hashlib.sha256()
        for name in _CONTENT:
            total.update(name.encode() + b"\0" + (self.folder / name).read_bytes() + b"\0")
        return total.hexdigest()

    def read(self, name: str) -> str:
        """The text of one of the files, unpacked; raises BadInput if it is missing or damaged."""
        path = self.folder / name
        try:
            return path.read_text() if path.exists() else lzma.decompress(_packed(path).read_bytes()).decode()
        except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
            raise BadInput(f"cannot be read: {error}", where=str(_packed(path)), expected="a committed file") from None


def known_systems() -> dict[str, MolecularSystem]:
    """The committed systems by name; raises BadInput for a ``system.json`` that cannot be read."""
    return _read_systems(FOLDER)


def system(name: str) -> MolecularSystem:
    """The committed system ``name``; raises BadInput with the nearest names if there is none."""
    systems = known_systems()
    if name not in systems:
        raise BadInput(f"unknown system '{name}'", expected=nearest(name, systems))
    return systems[name]


def checked_copies(copies: int) -> int:
    """``copies`` if it is an accepted number of copies, else BadInput."""
    if copies not in COPIES:
        raise BadInput(f"{copies} copies", where="--copies", expected=f"{COPIES[0]} to {COPIES[-1]}")
    return copies


def repeated_topology(topology: str, times: int) -> str:
    """The topology of ``times`` copies in the order in which ``gmx genconf`` writes them."""
    head, mark, counts = topology.rpartition("[ molecules ]")
    lines = [line for line in counts.splitlines() if line.strip() and not line.lstrip().startswith(";")]
    if not mark or not lines:
        raise BadInput("no section [ molecules ]", where=TOPOLOGY, expected="a topology")
    return head + mark + "\n" + "\n".join(lines * times) + "\n"


def forget() -> None:
    """Makes ``known_systems`` read the files again."""
    _read_systems.cache_clear()


@functools.cache
def _read_systems(folder: Path) -> dict[str, MolecularSystem]:
    systems = {}
    for file in sorted(folder.glob(f"*/{DESCRIPTION}")):
        try:
            systems[file.parent.name] = MolecularSystem.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise BadInput(f"cannot be read: {error}", where=str(file), expected="a committed system") from None
    return systems


def _packed(path: Path) -> Path:
    return path.with_name(path.name + PACKED)
