# SPDX-License-Identifier: Apache-2.0
"""Prepares ``.tpr`` files of the committed systems with ``gmx grompp``, and with ``gmx genconf`` for several copies.

A folder of the cache is filled under another name and renamed when it is complete, so that the command can be killed
and repeated.
"""

import errno
import fcntl
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs import cache
from fabricbench.inputs.cache import InputRecord, RunInput
from fabricbench.inputs.systems import COORDINATES, PRODUCTION, TOPOLOGY, MolecularSystem, repeated_topology
from fabricbench.setup.gromacs.gmx import Gromacs, find_gromacs, run_gmx
from fabricbench.setup.gromacs.reference import ensure_reference
from fabricbench.setup.record import Say

LOG = "gmx.log"
_MARGIN_BYTES = 50_000_000
_BYTES_PER_ATOM = 500


def prepare_inputs(systems: Sequence[MolecularSystem], copies: int, root: Path, say: Say) -> list[RunInput]:
    """The inputs of ``systems``; prepares those that the cache ``root`` lacks, and reports each in a line.

    Raises BadInput if GROMACS is missing, if it fails, or if ``root`` cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _exclusive(root):
            gromacs = find_gromacs(root / LOG, say)
            inputs = []
            for system in systems:
                inputs.append(_prepare(system, copies, root, gromacs, say))
                say(summary(inputs[-1]))
            return inputs
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "make room, then run the same command again" if full else "make it writable, or give --directory"
        raise BadInput(error.strerror or str(error), where=str(error.filename or root), hint=hint) from None


def summary(run_input: RunInput) -> str:
    """One line about an input: name, file, number of atoms."""
    atoms = f": {run_input.record.atoms} atoms" if run_input.record else ""
    return f"{run_input.name}  {run_input.tpr}{atoms}"


def changed_settings(settings: str, **values: str) -> str:
    """The text of an ``.mdp`` file with other ``values``; ``_`` in a name stands for ``-``."""
    changes = {name.replace("_", "-"): value for name, value in values.items()}
    lines = [line for line in settings.splitlines() if line.partition("=")[0].strip() not in changes]
    return "\n".join([*lines, *(f"{name:24} = {value}" for name, value in changes.items())]) + "\n"


def setting(settings: str, name: str) -> str:
    """The value of a setting in the text of an ``.mdp`` file."""
    match = re.search(rf"^\s*{re.escape(name)}\s*=\s*(\S+)", settings, re.MULTILINE)
    if match is None:
        raise BadInput(f"no setting '{name}'", where=PRODUCTION, expected=f"a line '{name} = VALUE'")
    return match[1]


def _prepare(system: MolecularSystem, copies: int, root: Path, gromacs: Gromacs, say: Say) -> RunInput:
    directory = cache.input_directory(root, system, gromacs.version, copies)
    result = cache.check_directory(directory, system)
    if not isinstance(result, RunInput):
        say(f"{system.name}: grompp")
        _check_room(system.atoms * copies, root)
        shutil.rmtree(directory, ignore_errors=True)
        part = directory.with_name(f"{directory.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        record = _grompp(system, copies, part, gromacs)
        part.rename(directory)
        result = RunInput(system.name, copies, directory / record.tpr, record.sha256, record)
    ensure_reference(system, result, gromacs, say)
    return result


def _grompp(system: MolecularSystem, copies: int, directory: Path, gromacs: Gromacs) -> InputRecord:
    settings = system.read(PRODUCTION)
    topology = system.read(TOPOLOGY)
    (directory / COORDINATES).write_text(system.read(COORDINATES))
    if copies > 1:
        # Copies have the same positions and need velocities of their own, or they would move alike.
        settings = changed_settings(
            settings, gen_vel="yes", gen_temp=setting(settings, "ref-t"), gen_seed=setting(settings, "ld-seed")
        )
        topology = repeated_topology(topology, copies)
        grid = map(str, system.grid(copies))
        _gmx(gromacs, ("genconf", "-f", COORDINATES, "-o", COORDINATES, "-nbox", *grid), directory, system.name)
    (directory / PRODUCTION).write_text(settings)
    (directory / TOPOLOGY).write_text(topology)
    tpr = f"{system.name}.tpr"
    files = ("-f", PRODUCTION, "-c", COORDINATES, "-p", TOPOLOGY, "-o", tpr)
    _gmx(gromacs, ("grompp", *files, "-maxwarn", str(system.grompp_warnings)), directory, system.name)
    record = InputRecord(
        name=system.name,
        copies=copies,
        atoms=system.atoms * copies,
        tpr=tpr,
        sha256=cache.file_digest(directory / tpr),
        content=system.content_digest(),
        gromacs=gromacs.version,
    )
    write_json(directory / cache.RECORD, record.model_dump(mode="json"))
    return record


def _gmx(gromacs: Gromacs, words: Sequence[str], directory: Path, name: str) -> None:
    what = f"{name}: gmx {words[0]}"
    run_gmx(gromacs, words, directory=directory, log=directory / LOG, answer="", what=what)


def _check_room(atoms: int, root: Path) -> None:
    required, free = _MARGIN_BYTES + atoms * _BYTES_PER_ATOM, shutil.disk_usage(root).free
    if free < required:
        hint = "make room, or give --directory"
        raise BadInput(f"{free // 10**6} MB free", where=str(root), expected=f"{required // 10**6} MB", hint=hint)


@contextmanager
def _exclusive(root: Path) -> Iterator[None]:
    """Waits until no other command prepares inputs below ``root``; the lock ends with the process."""
    with (root / "lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
