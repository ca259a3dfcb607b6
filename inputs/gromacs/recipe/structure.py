# SPDX-License-Identifier: Apache-2.0
"""Reads and writes structures in GROMACS's ``.gro`` format: fixed columns, nm and nm/ps."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabricbench.errors import BadInput

Positions = NDArray[np.float64]
"""Shape (atoms, 3), nm."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Atoms in file order. ``box`` (nm) has 3 numbers if it is rectangular, else 9, in the order of the format.

    ``velocities`` (nm/ps) has the shape of ``positions``; None if the file has none. ``text`` does not write them.
    """

    residue_numbers: tuple[int, ...]
    residues: tuple[str, ...]
    names: tuple[str, ...]
    positions: Positions
    box: tuple[float, ...]
    velocities: Positions | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def volume_nm3(self) -> float:
        """Volume of the box, whose matrix is lower triangular."""
        return self.box[0] * self.box[1] * self.box[2]

    def subset(self, indices: list[int]) -> "Structure":
        """The atoms at ``indices``, without velocities."""
        return Structure(
            tuple(self.residue_numbers[i] for i in indices),
            tuple(self.residues[i] for i in indices),
            tuple(self.names[i] for i in indices),
            self.positions[indices],
            self.box,
        )


def parse(text: str, where: str) -> Structure:
    """The structure in the text of a ``.gro`` file; BadInput if it is not valid."""
    lines = text.splitlines()
    try:
        count = int(lines[1])
        if count < 1 or len(lines) < count + 3:
            raise ValueError
        atoms = lines[2 : count + 2]
        # Positions may have more than three decimals; the distance between the points is the column width.
        first = atoms[0].index(".", 20)
        width = atoms[0].index(".", first + 1) - first
        columns = 6 if len(atoms[0].rstrip()) > 20 + 3 * width else 3
        values = np.array(
            [[float(line[20 + i * width : 20 + (i + 1) * width]) for i in range(columns)] for line in atoms]
        )
        box = tuple(map(float, lines[count + 2].split()))
        numbers = tuple(int(line[:5]) for line in atoms)
        if len(box) not in (3, 9) or not np.isfinite(values).all() or min(box[:3]) <= 0:
            raise ValueError
    except (IndexError, ValueError):
        raise BadInput("not a structure, or cut", where=where, expected="a file in GROMACS's .gro format") from None
    residues = tuple(line[5:10].strip() for line in atoms)
    names = tuple(line[10:15].strip() for line in atoms)
    return Structure(numbers, residues, names, values[:, :3], box, values[:, 3:] if columns == 6 else None)


def read(path: Path) -> Structure:
    """The structure in the file ``path``."""
    try:
        return parse(path.read_text(encoding="ascii", errors="replace"), str(path))
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def text(structure: Structure, title: str) -> str:
    """The structure in ``.gro`` format. Numbers of atoms and residues restart at 0 after 99,999, as in GROMACS."""
    lines = [title, f"{len(structure)}"]
    for i, (x, y, z) in enumerate(structure.positions):
        number, residue = structure.residue_numbers[i] % 100_000, structure.residues[i]
        atom = f"{structure.names[i]:>5}{(i + 1) % 100_000:5d}"
        lines.append(f"{number:5d}{residue:<5}{atom}{x:8.3f}{y:8.3f}{z:8.3f}")
    lines.append(" ".join(f"{edge:.5f}" for edge in structure.box))
    return "\n".join(lines) + "\n"
