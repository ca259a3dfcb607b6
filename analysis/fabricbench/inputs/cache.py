# SPDX-License-Identifier: Apache-2.0
"""Looks up ``.tpr`` files: the user's own, and those that ``fabricbench inputs`` made of the committed systems.

Starts no process. The cache is a directory with one folder per system, number of copies and GROMACS version:

    NAME-xCOPIES-KEY/    NAME.tpr, NAME.reference.json, input.json, the files that grompp read, its log

KEY is the start of a digest of the committed files and the GROMACS version.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.errors import BadInput
from fabricbench.inputs.systems import MolecularSystem, checked_copies, known_systems, system
from fabricbench.site.settings import build_root

RECORD = "input.json"
USER_INPUTS = "FABRICBENCH_GROMACS_INPUTS"
"""A directory with the user's own ``NAME.tpr``, or another cache; it precedes the cache in ``build/``."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")


class InputRecord(BaseModel):
    """``input.json`` of a cached ``.tpr``. ``content`` is the digest of the committed files it was made of."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_version: int = 2
    name: str
    copies: int
    atoms: int
    tpr: str
    sha256: str
    content: str
    gromacs: str


@dataclass(frozen=True, slots=True)
class RunInput:
    """A ``.tpr`` that can be benchmarked. ``record`` is None for a file of the user's."""

    name: str
    copies: int
    tpr: Path
    sha256: str
    record: InputRecord | None

    @property
    def reference(self) -> Path:
        """The file of its energies in double precision, which may be missing."""
        return self.tpr.with_name(f"{self.tpr.stem}.reference.json")


@dataclass(frozen=True, slots=True)
class MissingInput:
    """Why there is no ``.tpr``, and what to do about it."""

    reason: str
    hint: str


def input_cache_root() -> Path:
    """The default directory of the cache."""
    return build_root() / "inputs/gromacs"


def find_input(name: str, copies: int = 1, root: Path | None = None) -> RunInput | MissingInput:
    """The valid ``.tpr`` of ``copies`` copies of a system.

    ``NAME.tpr`` in the directory ``FABRICBENCH_GROMACS_INPUTS`` has precedence, under any name; it is used unchanged,
    as one copy only. BadInput for an impossible name or number of copies.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' is no name of an input", expected="letters, digits, '_', '.', '-'")
    checked_copies(copies)
    user_directory = user_input_directory()
    if user_directory is not None and copies == 1 and (user_directory / f"{name}.tpr").exists():
        return _user_input(name, user_directory / f"{name}.tpr")
    if name not in known_systems():
        if user_directory is None:
            system(name)
        return MissingInput(f"there is no {name}.tpr", f"put it into {user_directory}")
    reasons = []
    for place in (user_directory, root or input_cache_root()):
        directories = place.glob(f"{name}-x{copies}-*") if place else ()
        for directory in sorted(directories, key=_modification_time, reverse=True):
            result = check_directory(directory, system(name))
            if isinstance(result, RunInput):
                return result
            reasons.append(result)
    command = f"fabricbench inputs {name}" + (f" --copies {copies}" if copies > 1 else "")
    default = f"the input {name} (copies: {copies}) is not prepared yet"
    return MissingInput(reasons[0] if reasons else default, f"run: {command}")


def user_input_directory() -> Path | None:
    """The directory that ``FABRICBENCH_GROMACS_INPUTS`` names; None if the variable is not set."""
    text = os.environ.get(USER_INPUTS)
    if not text:
        return None
    directory = Path(text).resolve()
    if not directory.is_dir():
        raise BadInput(f"{USER_INPUTS} is '{text}'", where="environment", expected="a directory with NAME.tpr files")
    return directory


def user_input_names() -> list[str]:
    """Names of the user's own ``.tpr`` files, without those that cannot be names of inputs."""
    directory = user_input_directory()
    names = sorted(file.stem for file in directory.glob("*.tpr")) if directory else []
    return [name for name in names if _NAME.fullmatch(name)]


def input_directory(root: Path, system: MolecularSystem, gromacs: str, copies: int) -> Path:
    """The cache folder of a system for one GROMACS version."""
    key = hashlib.sha256(f"{system.content_digest()} {gromacs}".encode()).hexdigest()[:12]
    return root / f"{system.name}-x{copies}-{key}"


def check_directory(directory: Path, system: MolecularSystem) -> RunInput | str:
    """The input in a cache folder, or the reason why it cannot be used."""
    try:
        record = InputRecord.model_validate_json((directory / RECORD).read_bytes())
        digest = file_digest(directory / record.tpr)
    except FileNotFoundError:
        return f"the input {directory.name} is incomplete"
    except OSError as error:
        return f"the input {directory.name} cannot be read: {error.strerror}"
    except ValidationError:
        return f"{RECORD} of {directory.name} is damaged, or of another version"
    if record.content != system.content_digest():
        return f"the input {directory.name} was made of other files than those in {system.folder}"
    if digest != record.sha256:
        return f"{record.tpr} of {directory.name} was changed or damaged"
    return RunInput(record.name, record.copies, directory / record.tpr, digest, record)


def file_digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _user_input(name: str, file: Path) -> RunInput | MissingInput:
    try:
        if file.stat().st_size:
            return RunInput(name, 1, file, file_digest(file), None)
    except OSError as error:
        return MissingInput(f"{file} cannot be read: {error.strerror}", "make it readable, or remove it")
    return MissingInput(f"{file} is empty", "replace it by the whole file")


def _modification_time(directory: Path) -> float:
    record = directory / RECORD
    return record.stat().st_mtime if record.exists() else 0.0
