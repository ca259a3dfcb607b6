# SPDX-License-Identifier: Apache-2.0
"""Finished inputs: where they lie, what is known of them, and whether they are still what the recipe makes.

``find_input`` builds nothing and starts nothing. Below a cache's root:

    sources/                       files out of packages
    NAME-cell-KEY/                 the cell: logs, its last step
    NAME-xCOPIES-KEY/              NAME.tpr, facts.json (written last), conf.gro, topol.top, production.mdp, logs

KEY is the start of a digest of all that goes in.
"""

import hashlib
import inspect
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.errors import BadInput
from fabricbench.inputs.checks import Outcome
from fabricbench.inputs.recipes import (
    PARTS,
    SYSTEMS,
    THREADS,
    Gmx,
    Make,
    Run,
    Step,
    System,
    checked_copies,
    system,
)
from fabricbench.site.settings import build_root

FACTS = "facts.json"
PRODUCTION = "production.mdp"
"""Settings of what is benchmarked; all others belong to the cell."""
GIVEN = "FABRICBENCH_GROMACS_INPUTS"
"""A directory with the user's own ``NAME.tpr``, or another cache; it wins over the cache in ``build/``."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")


class Value(BaseModel):
    """A check that was made, and the value found."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    unit: str
    value: float
    low: float
    high: float


class Facts(BaseModel):
    """``facts.json``. ``recipe`` is the digest of all that goes in but GROMACS itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_version: int = 1
    name: str
    copies: int
    atoms: int
    tpr: str
    sha256: str
    recipe: str
    gromacs: str
    checks: tuple[Value, ...]
    seconds: float
    steps: dict[str, float]


@dataclass(frozen=True, slots=True)
class Found:
    """A ``.tpr`` that can be benchmarked. ``facts`` is None for a file of the user's, of which nothing is known."""

    name: str
    copies: int
    tpr: Path
    sha256: str
    facts: Facts | None

    @property
    def reference(self) -> Path:
        """Where its energies in double precision are, if anybody has found them."""
        return self.tpr.with_name(f"{self.tpr.stem}.reference.json")


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is none: what a named skip says."""

    reason: str
    hint: str


def cache_root() -> Path:
    """Where inputs are kept by default."""
    return build_root() / "inputs/gromacs"


def find_input(name: str, copies: int = 1, root: Path | None = None) -> Found | Missing:
    """The ``.tpr`` of ``copies`` of a system, if it is there and whole; builds nothing and starts nothing.

    ``NAME.tpr`` in the directory that ``FABRICBENCH_GROMACS_INPUTS`` names wins, under any name; it is taken as it
    is, so only as one copy. BadInput for an impossible name or number of copies.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' is no name of an input", expected="letters, digits, '_', '.', '-'")
    checked_copies(copies)
    given = given_directory()
    if given is not None and copies == 1 and (given / f"{name}.tpr").exists():
        return _users(name, given / f"{name}.tpr")
    roots = [place for place in (given, root or cache_root()) if place is not None]
    if name not in SYSTEMS:
        if given is None:
            system(name)
        return Missing(f"there is no {name}.tpr", f"put it into {given}")
    reasons = []
    for place in roots:
        for directory in sorted(place.glob(f"{name}-x{copies}-*"), key=_made, reverse=True):
            found = check_directory(directory, SYSTEMS[name])
            if isinstance(found, Found):
                return found
            reasons.append(found)
    command = f"fabricbench inputs {name}" + (f" --copies {copies}" if copies > 1 else "")
    return Missing(reasons[0] if reasons else f"the input {name} (copies: {copies}) is not made yet", f"run: {command}")


def given_directory() -> Path | None:
    """The directory that ``FABRICBENCH_GROMACS_INPUTS`` names; None where it names none."""
    text = os.environ.get(GIVEN)
    if not text:
        return None
    directory = Path(text).resolve()
    if not directory.is_dir():
        raise BadInput(f"{GIVEN} is '{text}'", where="environment", expected="a directory with NAME.tpr files")
    return directory


def given_names() -> list[str]:
    """Names of the user's own ``.tpr`` files; a file whose name cannot be one is left out."""
    directory = given_directory()
    names = sorted(file.stem for file in directory.glob("*.tpr")) if directory else []
    return [name for name in names if _NAME.fullmatch(name)]


def check_directory(directory: Path, wanted: System) -> Found | str:
    """The finished input in ``directory``, or why it is none."""
    try:
        facts = Facts.model_validate_json((directory / FACTS).read_bytes())
        digest = digest_of(directory / facts.tpr)
    except FileNotFoundError:
        return f"the input {directory.name} was never finished"
    except OSError as error:
        return f"the input {directory.name} cannot be read: {error.strerror}"
    except ValidationError:
        return f"the facts of {directory.name} cannot be read, or are of another version"
    if facts.recipe != recipe_digest(wanted):
        return f"the input {directory.name} was made by another recipe"
    if digest != facts.sha256:
        return f"{facts.tpr} of {directory.name} is not the file that was made"
    values = {value.name: value.value for value in facts.checks}
    for check in wanted.checks:
        outcome = Outcome(check.times(facts.copies), values.get(check.name, float("nan")))
        if not outcome.holds:
            return f"the input {directory.name} is not the system it should be: {outcome}"
    return Found(facts.name, facts.copies, directory / facts.tpr, digest, facts)


def recipe_digest(made: System) -> str:
    """Of all that goes into a system but GROMACS and the copies. The ranges of checks are compared, not hashed."""
    parts = [_cell_digest(made), repr((made.grid, made.settle_steps)), (made.folder / PRODUCTION).read_text()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def cell_directory(root: Path, made: System, gromacs: str) -> Path:
    """Where the cell of a system is made."""
    return root / f"{made.name}-cell-{_key(_cell_digest(made), gromacs)}"


def copies_directory(root: Path, made: System, gromacs: str, copies: int) -> Path:
    """Where a finished system lies."""
    return root / f"{made.name}-x{copies}-{_key(recipe_digest(made), gromacs)}"


def _cell_digest(made: System) -> str:
    """Of sources, steps, their settings, and the code of the steps in Python."""
    total = hashlib.sha256(repr((made.name, made.warnings, THREADS, PARTS)).encode())
    total.update(repr([(source.package_sha256, source.sha256) for source in made.sources]).encode())
    for step in made.cell:
        total.update(_step(step).encode())
    for file in sorted(made.folder.glob("*.mdp")):
        if file.name != PRODUCTION:
            total.update(file.name.encode() + file.read_bytes())
    for name in sorted({inspect.getfile(step.function) for step in made.cell if isinstance(step, Make)}):
        total.update(Path(name).read_bytes())
    return total.hexdigest()


def _key(digest: str, gromacs: str) -> str:
    return hashlib.sha256(f"{digest} {gromacs}".encode()).hexdigest()[:12]


def digest_of(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _users(name: str, file: Path) -> Found | Missing:
    try:
        if file.stat().st_size:
            return Found(name, 1, file, digest_of(file), None)
    except OSError as error:
        return Missing(f"{file} cannot be read: {error.strerror}", "make it readable, or take it away")
    return Missing(f"{file} is empty", "put the whole file there")


def _made(directory: Path) -> float:
    facts = directory / FACTS
    return facts.stat().st_mtime if facts.exists() else 0.0


def _step(step: Step) -> str:
    if isinstance(step, Gmx):
        return repr((step.name, step.commands, step.answer))
    if isinstance(step, Run):
        return repr((step.name, step.settings, step.continued, step.warnings))
    return repr((step.name, step.function.__name__))
