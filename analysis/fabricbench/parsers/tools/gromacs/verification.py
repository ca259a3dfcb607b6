# SPDX-License-Identifier: Apache-2.0
"""Compares the energies of a checked run with those of the same input in double precision."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.parsers.output import Unreadable, read_model
from fabricbench.parsers.tools.gromacs.energies import FILE, Block
from fabricbench.parsers.tools.gromacs.log import Log

REFERENCE = "reference.json"
TERMS = ("Potential", "Kinetic En.", "Total Energy")
"""The compared energies: sums over all atoms, which depend on every force and constraint."""
SCALE = "Potential"
"""The energy that deviations are divided by: a small sum of large terms is not more exact."""


class Reference(BaseModel):
    """``reference.json``: energies in kJ/mol by step and term, by GROMACS in double precision on one rank.

    ``tolerance`` is the largest accepted deviation divided by the potential energy, ``sha256`` the input's digest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    name: str
    sha256: str
    gromacs: str
    tolerance: float = Field(gt=0, lt=1)
    steps: dict[int, dict[str, float]] = Field(min_length=1)


def read_reference(file: Path) -> Reference:
    """The reference beside an input, or its copy in a launch directory; raises Unreadable if it is not valid."""
    reference = read_model(file, Reference)
    for step, terms in reference.steps.items():
        if not all(terms.get(term) for term in TERMS):
            raise Unreadable(file.name, None, f"{', '.join(TERMS)} at step {step}, none of them 0")
    return reference


def deviations(log: Log, reference: Reference) -> Iterator[tuple[int, float]]:
    """Step and largest deviation of ``TERMS`` divided by the potential energy, for every step of the reference.

    Raises Unreadable if the log lacks a step, or if a deviation is above the tolerance.
    """
    blocks = {block.step: block for block in (log.first, log.last) if block is not None}
    for step, expected in sorted(reference.steps.items()):
        if step not in blocks:
            raise Unreadable(FILE, None, f"energies at step {step}")
        relative = {term: _deviation(blocks[step], term, expected) for term in TERMS}
        worst = max(relative, key=lambda term: relative[term])
        if relative[worst] > reference.tolerance:
            raise Unreadable(
                FILE,
                None,
                f"{worst} of {expected[worst]:.8g} kJ/mol at step {step}, give or take "
                f"{reference.tolerance * abs(expected[SCALE]):.3g}, not {blocks[step].values[worst]:.8g}: "
                "the energies are wrong",
            )
        yield step, relative[worst]


def _deviation(block: Block, term: str, expected: Mapping[str, float]) -> float:
    if term not in block.values:
        raise Unreadable(FILE, None, f"'{term}' among the energies of step {block.step}")
    return abs(block.values[term] - expected[term]) / abs(expected[SCALE])
