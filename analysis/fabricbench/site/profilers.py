# SPDX-License-Identifier: Apache-2.0
"""The MPI profilers of a stack: TAU where it is installed for the stack, and this project's own."""

import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fabricbench.site.stacks import Installed

ProfilerName = Literal["own", "tau"]
PROFILERS: tuple[ProfilerName, ...] = get_args(ProfilerName)

TAU = "FABRICBENCH_TAU"
"""A directory with TAU built on each stack, anywhere below ``<stack>/``."""
OWN_LIBRARY = "lib/libfabricbench_profiler.so"
REGION_LIBRARY = "lib/libfabricbench_tau_region.so"
"""This project's programs on a stack: its profiler, and the library that passes the marked region to TAU."""

_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_INTERPRETER = 3
"""The type of the program header that names the dynamic linker (System V ABI, ELF-64)."""
_VERSION = re.compile(rb"TAU_VERSION\s+\"([0-9][0-9A-Za-z.-]{0,19})\"")


@dataclass(frozen=True, slots=True)
class Profiler:
    """A profiler that is loaded into the ranks of a launch.

    ``libraries``: the libraries to preload, in order. ``variables``: its settings. ``problem``: the reason why it
    cannot be used, empty if it can; ``hint``: what to do about it.
    """

    name: ProfilerName
    version: str = ""
    libraries: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    problem: str = ""
    hint: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is this project's profiler."""
        return self.name == "own"

    def launch_variables(self, directory: str) -> dict[str, str]:
        """Returns the environment variables of a launch whose profile belongs into ``directory``."""
        place = "PROFILEDIR" if self.name == "tau" else "FABRICBENCH_PROFILE"
        return {place: directory, **(self.variables or {})}


def profiler_of(installed: Installed, name: str = "") -> Profiler:
    """Returns the profiler called ``name`` for a stack; without a name TAU if the stack has it, else this project's."""
    if name and name not in PROFILERS:
        return Profiler("own", problem=f"unknown profiler '{name[:40]}'", hint=f"choose one of {', '.join(PROFILERS)}")
    if name != "own":
        tau = _tau(installed)
        if tau is not None:
            return tau
        if name == "tau":
            hint = f"run: fabricbench setup {installed.stack} --source TAU, or name a directory with it in {TAU}"
            return Profiler("tau", problem=f"TAU is not installed for {installed.stack}", hint=hint)
    return _own(installed)


def is_static(program: Path) -> bool:
    """Returns whether an executable is linked statically, so that nothing can be preloaded into it.

    False for scripts, for damaged files and for those that cannot be read.
    """
    try:
        with program.open("rb") as stream:
            header = stream.read(_ELF_HEADER.size)
            if len(header) < _ELF_HEADER.size or header[:6] != b"\x7fELF\x02\x01":
                return False
            offset, size, count = (_ELF_HEADER.unpack(header)[index] for index in (5, 9, 10))
            stream.seek(offset)
            table = stream.read(size * count)
    except (OSError, ValueError):  # ValueError: an offset beyond any file
        return False
    if size < 4 or len(table) < size * count:
        return False
    return _INTERPRETER not in [struct.unpack_from("<I", table, at)[0] for at in range(0, len(table), size)]


def _own(installed: Installed) -> Profiler:
    library = Path(installed.apps, OWN_LIBRARY)
    if not library.exists():
        hint = f"run: fabricbench setup --again {installed.stack}"
        return Profiler("own", problem=f"{installed.stack} was set up without the profiler", hint=hint)
    return Profiler("own", libraries=(str(library),))


def _tau(installed: Installed) -> Profiler | None:
    """Returns the TAU of a stack; None without. If it has several configurations, one that records message sizes."""
    named = os.environ.get(TAU)
    if named and not Path(named).is_dir():
        return Profiler("tau", problem=f"{TAU} names {named}, which is no directory", hint=f"correct or unset {TAU}")
    build = installed.sources.get("tau")
    own = Path(build.prefix) if build else Path(installed.apps)
    folder = Path(named, installed.stack).resolve() if named else own
    library = _tau_library(folder, searches=bool(named or build))
    if library is None:
        return None
    region = Path(installed.apps, REGION_LIBRARY)
    if not region.exists():
        problem = f"{installed.stack} was set up without the library that passes marked regions to TAU"
        return Profiler("tau", problem=problem, hint=f"run: fabricbench setup --again {installed.stack}")
    return Profiler(
        "tau",
        version=tau_version(library),
        libraries=(str(region), str(library)),
        variables={
            "TAU_THROTTLE": "0",
            "TAU_METRICS": "TIME",
            "TAU_TRACK_MESSAGE": "1",
            "TAU_COMM_MATRIX": "1",
            "TAU_CALLPATH": "1",
            "TAU_CALLPATH_DEPTH": "3",
        },
    )


@cache
def _tau_library(folder: Path, *, searches: bool) -> Path | None:
    """Returns the library that ``tau_exec -T mpi`` preloads. ``searches``: also in folders below ``folder``."""
    pattern = "lib/shared-*mpi*/libTAU.so"
    matches = sorted(folder.rglob(pattern) if searches else [*folder.glob(pattern), *folder.glob(f"*/{pattern}")])
    with_sizes = [path for path in matches if "param" in path.parent.name.split("-")]
    return next(iter(with_sizes or matches), None)


@cache
def tau_version(library: Path) -> str:
    """Returns the version in TAU's header beside the library; empty if there is none."""
    for folder in library.parents[2:4]:
        header = folder / "include" / "TAU.h"
        if header.is_file() and (match := _VERSION.search(header.read_bytes()[: 1 << 20])):
            return match[1].decode()
    return ""
