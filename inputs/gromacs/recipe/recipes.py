# SPDX-License-Identifier: Apache-2.0
"""The recipe of each system: source files, steps in order, settings, checks.

A step reads ``conf.gro``, ``topol.top`` and, after a run, ``state.cpt`` in its directory, and replaces them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recipe import start, water
from recipe.quantities import Range

SETTINGS = Path(__file__).resolve().parent
"""The ``.mdp`` files of the steps, one folder per system."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a package on PyPI: requirement and digest of the package, path and digest of the file."""

    package: str
    package_sha256: str
    member: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name without directories."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class PythonStep:
    """A step by a function of the step's directory and the source files."""

    name: str
    function: Callable[[Path, Mapping[str, Path]], None]


@dataclass(frozen=True, slots=True)
class GmxStep:
    """A step by commands of ``gmx``; ``{NAME}`` stands for the path of a source file, ``answer`` is standard input."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class RunStep:
    """``grompp`` and ``mdrun`` with the settings ``NAME.mdp``.

    ``continued``: from the state of the step before. ``warnings``: known warnings of ``grompp`` beyond the system's.
    """

    name: str
    continued: bool = True
    warnings: int = 0


Step = PythonStep | GmxStep | RunStep


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a system is made.

    ``steps`` make a cell, ``grid`` is the number of cells along x, y and z. A last run of ``settle_steps`` steps uses
    the production settings; ``ranges`` are checked on it. The other fields are those of ``MolecularSystem``.
    """

    name: str
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    ranges: tuple[Range, ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    settle_steps: int = 5000
    membrane: bool = False
    grompp_warnings: int = 0
    energy_tolerance: float = 6e-5


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


def _protein(force_field: str, model: str, edge: str, waters: PythonStep) -> tuple[Step, ...]:
    """Hydrogens and topology, a dodecahedron, water, neutralising ions, minimisation, 40 ps at 300 K and 1 bar."""
    on = ("-f", "conf.gro", "-o", "conf.gro")
    box = ("editconf", *on, "-bt", "dodecahedron", "-box", edge, "-c")
    solvate = ("solvate", "-cp", "conf.gro", "-cs", "spc216", "-o", "conf.gro")
    prepare = ("grompp", "-f", "minimise.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "ions.tpr", "-maxwarn", "2")
    ions = ("genion", "-s", "ions.tpr", "-p", "topol.top", "-o", "conf.gro", "-neutral", "-seed", "1")
    return (
        GmxStep("topology", (("pdb2gmx", *on, "-ff", force_field, "-water", model, "-ignh", "-p", "topol.top"),)),
        GmxStep("water", (box, solvate)),
        waters,
        GmxStep("ions", (prepare, ions), answer="SOL\n"),
        RunStep("minimise", continued=False),
        RunStep("equilibrate", continued=False),
    )


_DRIFT = Range("energy_drift", "kJ/mol/ns per atom", -1.0, 1.0)

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="villin",
            sources=(_VILLIN,),
            steps=(
                PythonStep("protein", start.villin),
                *_protein("amber99sb-ildn", "tip3p", "4.3", PythonStep("waters", water.villin_water)),
            ),
            ranges=(
                Range("atoms", "", 5300, 5500),
                Range("density", "kg/m3", 980, 1060),
                Range("temperature", "K", 295, 305),
                _DRIFT,
            ),
        ),
        Recipe(
            name="lzm",
            sources=(_LYSOZYME,),
            steps=(
                GmxStep(
                    "protein", (("editconf", "-f", "{2lyz_gmx_2022-rc1.tpr}", "-ndef", "-o", "conf.gro"),), "Protein\n"
                ),
                *_protein("gromos54a7", "spc", "7.0", PythonStep("waters", water.lysozyme_water)),
            ),
            ranges=(
                Range("atoms", "", 23207, 23207),
                Range("density", "kg/m3", 960, 1040),
                Range("temperature", "K", 295, 305),
                _DRIFT,
            ),
            grompp_warnings=1,
        ),
        Recipe(
            name="dppc",
            sources=(),
            steps=(
                PythonStep("lipids", start.bilayer),
                GmxStep("water", (("solvate", "-cp", "conf.gro", "-cs", "spc216", "-o", "conf.gro"),)),
                PythonStep("outside", start.water_outside),
                RunStep("minimise", continued=False),
                RunStep("melt", continued=False, warnings=1),
                RunStep("equilibrate"),
            ),
            ranges=(
                Range("atoms", "", 121856, 121856),
                Range("density", "kg/m3", 950, 1030),
                Range("temperature", "K", 318, 328),
                _DRIFT,
                Range("area_per_lipid", "nm2", 0.58, 0.68),
                Range("gauche_share", "", 0.15, 0.40),
                Range("water_in_core", "", 0, 0.002),
            ),
            grid=(4, 2, 1),
            settle_steps=2500,
            membrane=True,
            grompp_warnings=1,
            energy_tolerance=2e-4,
        ),
    )
}
