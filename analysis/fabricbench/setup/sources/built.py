# SPDX-License-Identifier: Apache-2.0
"""Recognises a folder in which the user built or installed a package, and the MPI library of its programs."""

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.setup.probe import lane_environment
from fabricbench.setup.sources.recognise import PACKAGES, Package
from fabricbench.setup.trial import mpi_library
from fabricbench.site.profilers import tau_version
from fabricbench.site.programs import osu_version
from fabricbench.site.stacks import Installed, SourceBuild, Stack

PROGRAMS = {
    "osu": "osu_latency",
    "npb": "is.?.x",
    "imb": "IMB-MPI1",
    "tau": "libTAU.so",
    "gromacs": "gmx_mpi",
}
"""A file of each installed package that loads the MPI library."""
_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class InstalledTree:
    """A folder with an installed package; ``program`` is a file of it that loads its MPI library."""

    package: Package
    folder: Path
    program: Path

    @property
    def prefix(self) -> Path:
        """The folder in which the checks look for the programs: below it, or for NPB and TAU at a fixed place."""
        if self.package.name == "npb":
            return self.program.parent
        return self.program.parents[2] if self.package.name == "tau" else self.folder

    @property
    def version(self) -> str:
        """The version that the programs contain; empty if it is unknown."""
        if self.package.name == "osu":
            return osu_version(self.program) or ""
        return tau_version(self.program) if self.package.name == "tau" else ""


def installed_tree(folder: Path) -> InstalledTree | None:
    """Returns the package that is installed in a folder; None if there is none. BadInput if there are several."""
    trees = []
    for name in PROGRAMS:
        if program := program_of(name, folder):
            trees.append(InstalledTree(PACKAGES[name], folder, program))
    if len(trees) > 1:
        names = ", ".join(tree.package.title for tree in trees)
        raise BadInput(f"several packages: {names}", where=str(folder), hint="name the folder of one of them")
    return trees[0] if trees else None


def program_of(package: str, folder: Path) -> Path | None:
    """Returns the program of a package, anywhere in a folder, that loads the MPI library; None if there is none."""
    programs = (path for path in sorted(folder.rglob(PROGRAMS[package])) if _is_program(path))
    return next((path for path in programs if package != "tau" or _is_for_mpi(path)), None)


def _is_for_mpi(library: Path) -> bool:
    """Whether a library of TAU is one of an MPI configuration: ``lib/shared-…mpi…/libTAU.so``."""
    configuration = library.parent
    return configuration.parent.name == "lib" and fnmatch(configuration.name, "shared-*mpi*")


def other_library(program: Path, stack: Stack, installed: Installed) -> str:
    """Returns in words which MPI library a program loads and which the stack has; empty if they are the same."""
    environment = lane_environment(installed, stack.environment_at(installed.prefix))
    library = mpi_library(program, environment)
    own = mpi_library(Path(installed.apps, "bin/fabricbench-micro"), environment)
    if library and os.path.realpath(library) == os.path.realpath(own):
        return ""
    loads = f"it loads {library}" if library else "it loads no MPI library"
    return f"{loads}, the stack has {own}"


def entry_of(tree: InstalledTree, stack: Stack, installed: Installed) -> SourceBuild:
    """Returns the entry of an installed package in the record of a stack.

    Raises BadInput if the program does not load the MPI library of the stack.
    """
    if difference := other_library(tree.program, stack, installed):
        what = f"{tree.package.title} was not built with this stack: {difference}"
        raise BadInput(what, where=str(tree.program))
    return SourceBuild(
        package=tree.package.name, version=tree.version, prefix=str(tree.prefix), origin=str(tree.folder)
    )


def _is_program(path: Path) -> bool:
    """Whether a file is a compiled program or library, and no script."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(_ELF)) == _ELF
    except OSError:
        return False
