# SPDX-License-Identifier: Apache-2.0
"""Sets up and diagnoses stacks from Spack's views, without building or starting anything.

A login node may not start MPI programs: ``fabricbench doctor`` tests the lanes where they may be started.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.files.writing import write_json
from fabricbench.setup.environment import write_environment
from fabricbench.setup.record import Say, remove_record
from fabricbench.setup.sources.entries import with_sources
from fabricbench.site.settings import REPOSITORY, build_root, lanes, settings_file, site_root
from fabricbench.site.spack import (
    ENVIRONMENT,
    INSTALL,
    LOCK,
    SITE_STACKS,
    Environment,
    Lock,
    SpackStack,
    View,
    chosen_stacks,
    locked,
    read_environment,
    read_lock,
    read_view,
)  # fmt: skip
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, site_stacks

LEAST: tuple[int, ...] = (1, 1)
"""The oldest version of Spack that spack.yaml and its recipes support."""
LIMIT_SECONDS = 120
IMB = "bin/IMB-MPI1"
OWN = (
    *("bin/fabricbench-launch", "bin/fabricbench-node", "bin/fabricbench-micro", "bin/fabricbench-is"),
    *("lib/libfabricbench_witness.so", "lib/libfabricbench_ucx_close.so", "lib/libfabricbench_profiler.so"),
)
PROGRAMS = {
    "intel-mpi-benchmarks": IMB,
    "gromacs": "bin/gmx_mpi",
    "osu-micro-benchmarks": "libexec/osu-micro-benchmarks",
    "npb": "bin/is.A.x",
}
"""A file of each package, by package; a view that lists the package and lacks the file is incomplete."""


@dataclass(frozen=True, slots=True)
class Spack:
    """An installed Spack of a supported version."""

    root: Path
    version: str

    @property
    def command(self) -> str:
        """The path of the command ``spack``."""
        return str(self.root / "bin/spack")


def find_spack() -> Spack:
    """The Spack in the directory SPACK_ROOT; raises BadInput if there is none or it is too old."""
    least = ".".join(map(str, LEAST))
    home = os.environ.get("SPACK_ROOT")
    hint = f"export SPACK_ROOT=DIRECTORY of Spack {least} or newer"
    if not home:
        raise BadInput("SPACK_ROOT is not set", hint=hint)
    root = Path(home).resolve()
    try:
        process = subprocess.run(
            [root / "bin/spack", "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"SPACK_ROOT holds no Spack: {error}", where=str(root), hint=hint) from None
    match = re.match(r"(\d+)\.(\d+)\S*", process.stdout)
    if process.returncode or match is None:
        output = " | ".join(process.stderr.split("\n"))[:200]
        raise BadInput(f"bin/spack --version prints no version: {output}", where=str(root), hint=hint)
    if (int(match[1]), int(match[2])) < LEAST:
        raise BadInput(f"Spack {match[0]} is too old", where=str(root), expected=f"{least} or newer", hint=hint)
    return Spack(root, match[0])


def views_in(directory: Path) -> list[str]:
    """The names of the views in a directory; raises BadInput if there is none."""
    folders = sorted(path.name for path in directory.iterdir() if path.is_dir()) if directory.is_dir() else []
    names = [name for name in folders if not name.startswith(".")]
    if not names:
        expected = "a view for each stack, DIRECTORY/STACK"
        raise BadInput("no view in it", where=str(directory), expected=expected, hint=f"run: {INSTALL}")
    return names


def set_up_views(stacks: Sequence[Stack], views: Path, say: Say) -> list[str]:
    """Records each stack from its view ``views/<stack>``. Returns the problems of the others, one line each."""
    problems = []
    for stack in stacks:
        try:
            _set_up_view(stack, views / stack.name, say)
        except BadInput as error:
            problems.append(f"{stack.name}: {error}")
    write_environment(build_root())
    return problems


def _set_up_view(stack: Stack, path: Path, say: Say) -> None:
    home = build_root() / "stacks" / stack.name
    home.mkdir(parents=True, exist_ok=True)
    remove_record(home)
    view = whole_view(path)
    installed = Installed(
        stack=stack.name,
        source="spack",
        version=f"{view.mpi.name} {view.mpi.version}",
        prefix=str(view.mpi_prefix),
        apps=str(view.prefix),
        imb=str(view.prefix / IMB) if "intel-mpi-benchmarks" in view.packages else None,
        spec_hash={view.mpi.name: view.mpi.hash},
    )
    installed = with_sources(installed, stack, home)
    write_json(home / STACK_FILE, installed.model_dump(mode="json"))
    say(f"{stack.name} is set up: {view.mpi.name}@{view.mpi.version}/{view.mpi.hash[:7]} in {view.prefix}")


def whole_view(path: Path) -> View:
    """Returns the view at ``path``; BadInput if a file of one of its packages is missing."""
    view = read_view(path)
    files = [view.mpi_prefix / "bin/mpirun", *(view.prefix / file for file in OWN)]
    files += [view.prefix / file for package, file in PROGRAMS.items() if package in view.packages]
    for file in files:
        if not file.exists():
            hint = f"run: {INSTALL}, then: spack -e . env view regenerate"
            raise BadInput(f"incomplete: {file} is missing", where=str(path), hint=hint)
    return view


@dataclass(frozen=True, slots=True)
class SpackDiagnosis:
    """The state of a stack that a site takes from Spack: ``detail`` has its packages, or why it is not ready."""

    name: str
    ready: bool
    detail: str


def examine_spack(system: str) -> Iterator[SpackDiagnosis]:
    """Compares spack.yaml, the lock and the view of each stack that a site takes from Spack.

    Raises BadInput for an invalid file. Spack itself is not started.
    """
    environment = read_environment(REPOSITORY / ENVIRONMENT)
    folder = settings_file(system).parent / "spack"
    lock_file = folder / LOCK if (folder / LOCK).exists() else REPOSITORY / LOCK
    lock = read_lock(lock_file) if lock_file.exists() else None
    for name in site_choice(system, environment, folder / SITE_STACKS):
        stack = environment.stacks[name]
        try:
            yield SpackDiagnosis(name, True, _state(stack, lock, lock_file))
        except BadInput as error:
            yield SpackDiagnosis(name, False, str(error))


def site_choice(system: str, environment: Environment, file: Path) -> tuple[str, ...]:
    """The stacks that a site takes from Spack: those of its ``stacks.yaml``, else all of its settings in spack.yaml.

    Stacks that are set up on an installed library of the user's choice are left out. Raises BadInput if the site's
    settings name another stack that set-up cannot install and that is not among them.
    """
    of_spack = (lane for lane in lanes(system) if not (lane.installed and lane.installed.is_external))
    names = list(dict.fromkeys(lane.stack.name for lane in of_spack))
    selection = (
        chosen_stacks(file, environment) if file.exists() else tuple(n for n in names if n in environment.stacks)
    )
    available = site_stacks(site_root())
    for name in names:
        if available[name].only_spack and name not in selection:
            where = str(file) if file.exists() else str(environment.path)
            raise BadInput(
                f"{settings_file(system)} names the stack {name}, which is not in it", where=where,
                expected=nearest(name, selection), hint=f"add {name} there",
            )  # fmt: skip
    return selection


def _state(stack: SpackStack, lock: Lock | None, lock_file: Path) -> str:
    hashes = locked(lock, stack, str(lock_file)) if lock is not None else {}
    view = whole_view(REPOSITORY / stack.view)
    for package, digest in hashes.items():
        if package not in view.packages:
            raise BadInput(f"incomplete: {package} is missing", where=stack.view, hint=f"run: {INSTALL}")
        if view.packages[package] != digest:
            raise BadInput(
                f"{package}/{view.packages[package][:7]} is not the lock's {package}/{digest[:7]}", where=stack.view,
                hint=f"run: {INSTALL}, then: spack -e . env view regenerate",
            )  # fmt: skip
    packages = " ".join(f"{name}/{digest[:7]}" for name, digest in sorted(view.packages.items()))
    return f"{packages} in {stack.view}, {'as locked in ' + str(lock_file) if hashes else 'no lock'}"
