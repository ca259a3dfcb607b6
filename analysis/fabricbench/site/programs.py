# SPDX-License-Identifier: Apache-2.0
"""The OSU Micro-Benchmarks and NASA's NPB of a stack: the folder of their programs, and where it comes from."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabricbench.site.spack import package_of
from fabricbench.site.stacks import Installed

OSU = "FABRICBENCH_OSU"
"""A directory with OSU's programs built on each stack, anywhere below ``<stack>/``."""
NASA = "FABRICBENCH_NPB"
"""A directory with NASA's programs built on each stack, ``<stack>/<kernel>.<CLASS>.x``."""
OSU_IN_PREFIX = "libexec/osu-micro-benchmarks"
"""The folder in a prefix in which OSU installs its programs, and MVAPICH its copy of them."""
SOURCE = "source"
"""The origin of programs from ``fabricbench setup --source``."""
LARGEST_PROGRAM_BYTES = 64 * 2**20
_TITLE = re.compile(rb"# OSU MPI[^\n\0]{0,99} v(\d{1,3}(?:\.\d{1,3}){1,3}(?:-[\w.]{1,40})?)\n")


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a package by name.

    ``origin``: the variable that names their directory, ``source``, or the stack's own source, such as ``spack``.
    """

    paths: Mapping[str, Path]
    origin: str
    version: str = ""

    @property
    def text(self) -> str:
        """The version and the origin."""
        return f"{self.version} ({self.origin})".lstrip()


def osu_programs(installed: Installed) -> Programs:
    """Returns OSU's programs of a stack; none if it has no OSU.

    They are in the directory ``FABRICBENCH_OSU``, else from ``setup --source``, else in the stack's Spack view or
    prefix.
    """
    if directory := os.environ.get(OSU):
        return Programs(_osu_below((Path(directory) / installed.stack).resolve()), OSU)
    if build := installed.sources.get("osu"):
        return Programs(_osu_below(Path(build.prefix)), SOURCE, build.version)
    prefixes = (installed.apps, installed.prefix)
    in_view, in_stack = (_osu_below(Path(prefix).resolve() / OSU_IN_PREFIX) for prefix in prefixes)
    return Programs(in_view or in_stack, installed.source)


def npb_programs(installed: Installed) -> Programs | None:
    """Returns NASA's programs of a stack; None if it has none. A directory in ``FABRICBENCH_NPB`` may be empty."""
    if directory := os.environ.get(NASA):
        return Programs(_npb_in(Path(directory, installed.stack).resolve()), NASA)
    if build := installed.sources.get("npb"):
        return Programs(_npb_in(Path(build.prefix, "bin")) or _npb_in(Path(build.prefix)), SOURCE, build.version)
    programs = _npb_in(Path(installed.apps, "bin"))
    if not programs:
        return None
    package = package_of(next(iter(programs.values())))
    return Programs(programs, installed.source, package.version if package else "")


@cache
def osu_version(program: Path) -> str | None:
    """Returns the version in the title that the program's file contains; None if there is none.

    Does not start the program, because some systems do not allow MPI programs on the node that prepares the checks.
    """
    if program.stat().st_size > LARGEST_PROGRAM_BYTES:
        return None
    title = _TITLE.search(program.read_bytes())
    return title.group(1).decode() if title else None


@cache
def _osu_below(folder: Path) -> Mapping[str, Path]:
    """The programs below a folder by name; if a name occurs several times, the one with the shortest path."""
    longest_first = sorted(folder.rglob("osu_*"), key=lambda path: (len(path.parts), path), reverse=True)
    return {path.name: path for path in longest_first if path.is_file() and os.access(path, os.X_OK)}


def _npb_in(folder: Path) -> Mapping[str, Path]:
    return {path.name: path for path in sorted(folder.glob("[a-z][a-z].?.x"))}
