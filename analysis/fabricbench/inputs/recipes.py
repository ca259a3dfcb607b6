# SPDX-License-Identifier: Apache-2.0
"""How each system is made: its source files, its steps in order, its settings, and what it must be in the end.

A step takes a directory that holds ``conf.gro``, ``topol.top``, where there are velocities ``state.cpt``, and leaves
the same. A *cell* is made once; its copies, side by side, are the system that is benchmarked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.inputs import start, water
from fabricbench.inputs.checks import Check
from fabricbench.site.settings import REPOSITORY

SETTINGS = REPOSITORY / "inputs/gromacs"
"""Where the ``.mdp`` files are, one folder a system."""

LEAST_GROMACS = 2022
"""The first version that reads the lysozyme and has stochastic cell rescaling in all geometries used here."""

QUICK = "villin"
"""What ``make run`` has time for."""
COPIES = range(1, 9)
CHECKED_STEPS = 20
"""Between the two steps whose energies are compared: rounding has not yet grown (docs/gromacs.md)."""
PARTS = 10
"""Parts of every run, each ending with a checkpoint: at most so much is lost by a kill."""

THREADS = 2
"""OpenMP threads of every run, on any machine: with ``-reprod`` the result depends on their number."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a package on PyPI: requirement and digest of the package, place and digest of the file."""

    package: str
    package_sha256: str
    member: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Make:
    """A step in Python."""

    name: str
    function: Callable[[Path, Mapping[str, Path]], None]


@dataclass(frozen=True, slots=True)
class Gmx:
    """A step by commands of ``gmx``; ``{NAME}`` is the path of a source file, ``answer`` what is typed in."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """``grompp`` and ``mdrun`` with ``settings``, an ``.mdp`` file of the system; ``warnings`` are known ones more."""

    name: str
    settings: str
    continued: bool = True
    warnings: int = 0


Step = Make | Gmx | Run


@dataclass(frozen=True, slots=True)
class System:
    """One system. ``cell`` makes a cell; ``grid`` says how many of them, in x, y and z, one copy is made of.

    ``settle_steps`` is the length of the last run, with the settings that are benchmarked; ``warnings`` how many of
    ``grompp``'s warnings are known and harmless; ``checks`` what must hold in the end; ``tolerance`` how far energies
    may be from those in double precision, over the potential energy (docs/gromacs.md).
    """

    name: str
    sources: tuple[Source, ...]
    cell: tuple[Step, ...]
    grid: tuple[int, int, int]
    checks: tuple[Check, ...]
    warnings: int = 0
    lipids_per_copy: int = 0
    settle_steps: int = 5000
    tolerance: float = 6e-5

    @property
    def folder(self) -> Path:
        """Where its settings are."""
        return SETTINGS / self.name

    def cells(self, copies: int) -> tuple[int, int, int]:
        """Cells in x, y and z: as near to a cube as may be; a membrane grows in its plane."""
        x, y, z = _MEMBRANE[copies] if self.lipids_per_copy else _SPACE[copies]
        return self.grid[0] * x, self.grid[1] * y, self.grid[2] * z


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
_MEMBRANE = {
    1: (1, 1, 1),
    2: (1, 2, 1),
    3: (1, 3, 1),
    4: (2, 2, 1),
    5: (1, 5, 1),
    6: (2, 3, 1),
    7: (1, 7, 1),
    8: (2, 4, 1),
}

_TESTS = ("MDAnalysisTests==2.11.0", "5edeb5b01805da728b202103aa8d2b5974a37f1005ab1fe0150ed7d59702d2ea")
_VILLIN = Source(
    *_TESTS,
    "MDAnalysisTests/data/contacts/villin_folded.gro.bz2",
    "b7bc48e9c77993ea22c04cafbc3ad5d2d9bdcca3f86bc2604b36ef2443fa402a",
)
_LYSOZYME = Source(
    *_TESTS,
    "MDAnalysisTests/data/tprs/2lyz_gmx_2022-rc1.tpr",
    "fc62f7794bd56ff236bdedd0a13ddc2036a248e6f94083b57477c5af8175c22c",
)


def _protein(force_field: str, model: str, edge: str, waters: Make) -> tuple[Step, ...]:
    """Hydrogens and topology, a dodecahedron, water, ions that make it neutral, rest, 40 ps with both couplings."""
    on = ("-f", "conf.gro", "-o", "conf.gro")
    box = ("editconf", *on, "-bt", "dodecahedron", "-box", edge, "-c")
    solvate = ("solvate", "-cp", "conf.gro", "-cs", "spc216", "-o", "conf.gro")
    prepare = ("grompp", "-f", "minimise.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "ions.tpr", "-maxwarn", "2")
    ions = ("genion", "-s", "ions.tpr", "-p", "topol.top", "-o", "conf.gro", "-neutral", "-seed", "1")
    return (
        Gmx("topology", (("pdb2gmx", *on, "-ff", force_field, "-water", model, "-ignh", "-p", "topol.top"),)),
        Gmx("water", (box, solvate)),
        waters,
        Gmx("ions", (prepare, ions), answer="SOL\n"),
        Run("minimise", "minimise", continued=False),
        Run("equilibrate", "equilibrate", continued=False),
    )


def _atoms(low: float, high: float) -> Check:
    return Check("atoms", "", low, high, per_copy=True)


_DRIFT = Check("energy_drift", "kJ/mol/ns per atom", -1.0, 1.0)

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            name="villin",
            sources=(_VILLIN,),
            cell=(
                Make("protein", start.villin),
                *_protein("amber99sb-ildn", "tip3p", "4.3", Make("waters", water.villin_water)),
            ),
            grid=(1, 1, 1),
            checks=(
                _atoms(5300, 5500),
                Check("density", "kg/m3", 980, 1060),
                Check("temperature", "K", 295, 305),
                _DRIFT,
            ),
        ),
        System(
            name="lzm",
            sources=(_LYSOZYME,),
            cell=(
                Gmx(
                    "protein", (("editconf", "-f", "{2lyz_gmx_2022-rc1.tpr}", "-ndef", "-o", "conf.gro"),), "Protein\n"
                ),
                *_protein("gromos54a7", "spc", "7.0", Make("waters", water.lysozyme_water)),
            ),
            grid=(1, 1, 1),
            checks=(
                _atoms(23207, 23207),
                Check("density", "kg/m3", 960, 1040),
                Check("temperature", "K", 295, 305),
                _DRIFT,
            ),
            warnings=1,
        ),
        System(
            name="dppc",
            sources=(),
            cell=(
                Make("lipids", start.bilayer),
                Gmx("water", (("solvate", "-cp", "conf.gro", "-cs", "spc216", "-o", "conf.gro"),)),
                Make("outside", start.water_outside),
                Run("minimise", "minimise", continued=False),
                Run("melt", "melt", continued=False, warnings=1),
                Run("equilibrate", "equilibrate"),
            ),
            grid=(4, 2, 1),
            checks=(
                _atoms(121856, 121856),
                Check("density", "kg/m3", 950, 1030),
                Check("temperature", "K", 318, 328),
                _DRIFT,
                Check("area_per_lipid", "nm2", 0.58, 0.68),
                Check("gauche_share", "", 0.15, 0.40),
                Check("water_in_core", "", 0, 0.002),
            ),
            warnings=1,
            lipids_per_copy=1024,
            tolerance=2e-4,
            settle_steps=2500,
        ),
    )
}


def system(name: str) -> System:
    """The system ``name``; BadInput with the nearest names where there is none."""
    if name not in SYSTEMS:
        raise BadInput(f"unknown system '{name}'", expected=nearest(name, SYSTEMS))
    return SYSTEMS[name]


def checked_copies(copies: int) -> int:
    """``copies``, if it is a number of copies that can be made."""
    if copies not in COPIES:
        raise BadInput(f"{copies} copies", where="--copies", expected=f"{COPIES[0]} to {COPIES[-1]}")
    return copies
