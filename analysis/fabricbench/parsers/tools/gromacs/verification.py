# SPDX-License-Identifier: Apache-2.0
"""Energies of a checked run against those of the same input in double precision."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.parsers.output import Unreadable, read_model
from fabricbench.parsers.tools.gromacs.energies import FILE, Block
from fabricbench.parsers.tools.gromacs.log import Log

REFERENCE = "reference.json"
TERMS = ("Potential", "Kinetic En.", "Total Energy")
"""What is compared: sums over all atoms, which every force and every constraint enters."""
SCALE = "Potential"
"""What deviations are divided by: a sum of large terms of both signs is no more exact for being small."""


class Reference(BaseModel):
    """``reference.json``: energies in kJ/mol by step and term, as GROMACS in double precision found them on one rank.

    ``tolerance`` is the largest deviation over the potential energy that is no error, ``sha256`` the input's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    name: str
    sha256: str
    gromacs: str
    tolerance: float = Field(gt=0, lt=1)
    steps: dict[int, dict[str, float]] = Field(min_length=1)


def read_reference(file: Path) -> Reference:
    """The reference beside an input, or its copy in a launch directory; Unreadable where it is none."""
    found = read_model(file, Reference)
    for step, terms in found.steps.items():
        if not all(terms.get(term) for term in TERMS):
            raise Unreadable(file.name, None, f"{', '.join(TERMS)} at step {step}, none of them 0")
    return found


def deviations(log: Log, reference: Reference) -> Iterator[tuple[int, float]]:
    """Step and largest deviation of ``TERMS`` over the potential energy, of every step of the reference.

    Unreadable where the log has no such step, or where the deviation is above the tolerance.
    """
    blocks = {block.step: block for block in (log.first, log.last) if block is not None}
    for step, wanted in sorted(reference.steps.items()):
        if step not in blocks:
            raise Unreadable(FILE, None, f"energies at step {step}")
        found = {term: _deviation(blocks[step], term, wanted) for term in TERMS}
        worst = max(found, key=lambda term: found[term])
        if found[worst] > reference.tolerance:
            raise Unreadable(
                FILE,
                None,
                f"{worst} of {wanted[worst]:.8g} kJ/mol at step {step}, give or take "
                f"{reference.tolerance * abs(wanted[SCALE]):.3g}, not {blocks[step].values[worst]:.8g}: "
                "the energies are wrong",
            )
        yield step, found[worst]


def _deviation(block: Block, term: str, wanted: Mapping[str, float]) -> float:
    if term not in block.values:
        raise Unreadable(FILE, None, f"'{term}' among the energies of step {block.step}")
    return abs(block.values[term] - wanted[term]) / abs(wanted[SCALE])
