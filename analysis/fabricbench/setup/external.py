# SPDX-License-Identifier: Apache-2.0
"""MPI libraries that are installed already: the user's choice of a prefix or of modules, and where it leads.

Set-up remembers the choice of each stack in a file that outlives ``stack.json``, so that a later set-up builds on the
same library.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.setup.modules import OPTION as MODULE
from fabricbench.setup.modules import Loaded, load, module_names
from fabricbench.site.modules import Modules
from fabricbench.site.settings import no_blanks
from fabricbench.site.stacks import Stack

FILE = "external.json"
"""File of a stack with the user's choice."""
OPTION = "--prefix"
REQUIRED = ("mpicc", "mpirun")
OPTIONAL = ("mpicxx", "mpif90")
_LIBRARY_FOLDERS = (
    *("lib64", "lib", "lib/release"),
    *("opt/mpi/libfabric/lib", "libfabric/lib"),  # Intel MPI's own libfabric
)
_LIBRARIES = ("libmpi*.so*", "libfabric.so*")


@dataclass(frozen=True, slots=True)
class Choice:
    """The library that a user has chosen for a stack: its ``prefix``, ``modules`` that provide it, or both.

    A choice without both stands for the stack's packages. ``module_path``: the MODULEPATH in which the modules were
    found; empty before.
    """

    prefix: str = ""
    modules: tuple[str, ...] = ()
    module_path: str = ""

    def __bool__(self) -> bool:
        return bool(self.prefix or self.modules)


@dataclass(frozen=True, slots=True)
class External:
    """The place of an MPI library that is installed already, and the modules that provide it.

    ``compilers``: the paths of mpirun and of the compilers' wrappers by role.
    """

    prefix: Path
    compilers: Mapping[str, str]
    loaded: Loaded | None = None

    @property
    def modules(self) -> Modules | None:
        """The modules; None for a library that is chosen by its prefix alone."""
        return self.loaded.modules if self.loaded else None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the modules change, for a process with the environment of this one."""
        return self.loaded.changes(os.environ) if self.loaded else {}

    @property
    def source(self) -> str:
        """The source in ``stack.json``."""
        return "module" if self.modules else "prefix"

    @property
    def library_path(self) -> tuple[str, ...]:
        """The folders with the library's shared objects."""
        folders = [self.prefix / folder for folder in _LIBRARY_FOLDERS]
        present = {folder.resolve(): folder for folder in reversed(folders)}  # lib64 may be a link to lib
        return tuple(
            str(folder)
            for folder in folders
            if present[folder.resolve()] == folder and any(any(folder.glob(name)) for name in _LIBRARIES)
        )

    @property
    def origin(self) -> dict[str, object]:
        """What the programs on the library depend on: if it changes, set-up builds them again."""
        files = [*self.compilers.values(), *(str(path) for f in self.library_path for path in Path(f).glob("libmpi*"))]
        real = {file: [os.path.realpath(file), Path(file).stat().st_mtime_ns] for file in files if Path(file).exists()}
        modules = [self.loaded.modules.names, self.loaded.effects] if self.loaded else []
        digest = hashlib.sha256(json.dumps(modules, sort_keys=True).encode()).hexdigest()
        return {"prefix": str(self.prefix), "files": real, "modules": digest}


def chosen(stacks: Sequence[Stack], prefix: Path | None, module: str | None, *, packages: bool) -> Choice | None:
    """Returns the choice in the options of a command; None without any. Raises BadInput if they contradict each other.

    ``packages``: the stacks' packages are chosen.
    """
    if prefix is None and module is None:
        return Choice() if packages else None
    option = OPTION if prefix is not None else MODULE
    if packages:
        raise BadInput(f"{option} and --packages exclude each other", hint="leave out one of the two")
    if len(stacks) != 1:
        expected = "its name, as in: fabricbench setup mvapich2 --prefix DIRECTORY"
        raise BadInput(f"{option} is for one stack", expected=expected)
    if stacks[0].level != "mpi":
        raise BadInput(f"{stacks[0].name} is a library below MPI", where=option, expected="an MPI stack")
    place = "" if prefix is None else os.path.abspath(prefix.expanduser())
    return Choice(place, () if module is None else module_names(module))


def last_choice(home: Path) -> Choice:
    """Returns the choice of the stack in ``home``; an empty one if there is none."""
    try:
        content = json.loads((home / FILE).read_bytes())
        return Choice(str(content["prefix"]), tuple(map(str, content["modules"])), str(content["module_path"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Choice()


def remember_choice(home: Path, choice: Choice, external: External | None) -> None:
    """Writes the choice of the stack in ``home``, with the versions of its modules, or removes it if it is empty."""
    if choice:
        home.mkdir(parents=True, exist_ok=True)
        if external and external.modules:
            choice = replace(choice, modules=external.modules.names, module_path=external.modules.path)
        write_json(home / FILE, asdict(choice))
    else:
        (home / FILE).unlink(missing_ok=True)


def located(choice: Choice) -> External:
    """Returns the place of the chosen library; raises BadInput if there is none, or if prefix and modules disagree."""
    if not choice.modules:
        return _in(Path(choice.prefix), OPTION)
    loaded = load(choice.modules, choice.module_path)
    folders = {os.path.realpath(folder): folder for folder in loaded.folders if (folder / "mpicc").exists()}
    prefixes, names = [folder.parent for folder in folders.values()], " ".join(choice.modules)
    if len(prefixes) > 1:
        what = f"{names} provide several MPI libraries: {', '.join(map(str, prefixes))}"
        raise BadInput(what, where=MODULE, expected="the modules of one MPI library")
    provided = prefixes[0] if prefixes else None
    if provided is None and not choice.prefix:
        what = f"{names} add no directory with mpicc to PATH"
        hint = "or name --prefix DIRECTORY too"
        raise BadInput(what, where=MODULE, expected="the modules of an MPI library", hint=hint)
    if provided is not None and choice.prefix and not os.path.samefile(provided, _readable(Path(choice.prefix))):
        what = f"{choice.prefix} is not the prefix of {names}, {provided}"
        raise BadInput(what, where=OPTION, hint="leave out one of the two")
    place = _in(Path(choice.prefix), OPTION) if choice.prefix or provided is None else _in(provided, MODULE)
    return replace(place, loaded=loaded)


def _in(prefix: Path, where: str) -> External:
    """Finds the commands in a prefix."""
    programs = _readable(prefix) / "bin"
    no_blanks(prefix, "the prefix")
    for name in REQUIRED:
        if not os.access(programs / name, os.X_OK):
            hint = f"name {prefix.parent}" if (prefix / name).exists() else ""
            expected = "the directory of an MPI library, with bin/mpicc and bin/mpirun"
            raise BadInput(f"{prefix} has no bin/{name}", where=where, expected=expected, hint=hint)
    present = [*REQUIRED, *(name for name in OPTIONAL if os.access(programs / name, os.X_OK))]
    return External(prefix, {name: str(programs / name) for name in present})


def _readable(prefix: Path) -> Path:
    """Returns the prefix; raises BadInput if it is no directory that can be read."""
    try:
        os.scandir(prefix).close()
    except OSError as error:
        raise BadInput(f"{prefix}: {error.strerror}", where=OPTION) from None
    return prefix
