# SPDX-License-Identifier: Apache-2.0
"""Sets up each stack and library: its prefix, the benchmarks built on it, and its record ``stack.json``.

As root on Debian missing packages are installed; elsewhere the wheels of PyPI are used, and an error names the command
that installs what is still missing. A set-up that was interrupted continues when it is repeated: a stack counts as set
up when its ``stack.json`` and its stamp exist, which are written last; finished prefixes and compiled files are kept.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.cache import input_cache_root
from fabricbench.inputs.systems import QUICK, system
from fabricbench.setup.cmake import build_apps, source_digests
from fabricbench.setup.environment import write_environment
from fabricbench.setup.gromacs.builds import gromacs_of
from fabricbench.setup.gromacs.prepare import prepare_inputs
from fabricbench.setup.imb import imb_program, link_openmp_of_imb
from fabricbench.setup.libraries import find_programs
from fabricbench.setup.lock import sole_set_up
from fabricbench.setup.packages import install_packages
from fabricbench.setup.prefix import Prefix, forget_prefix, origin_of, provide_prefix
from fabricbench.setup.probe import probe
from fabricbench.setup.record import STAMP, Say, remove_record
from fabricbench.setup.sources.entries import source_builds, with_sources
from fabricbench.setup.target import chosen_target, last_target, remember_target
from fabricbench.site.settings import REPOSITORY, build_root
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, read_installed
from fabricbench.site.targets import NATIVE, Target

APPS = REPOSITORY / "apps"
BUILDS_AT_ONCE = 2
"""The number of stacks that are built at the same time: one compiles while the other is configured or linked."""


@dataclass(frozen=True, slots=True)
class _Built:
    """A stack whose programs are built: the prefix of an MPI stack, the programs and version of a library.

    ``digest``: the digest of everything that it was built from, taken before the build. ``target``: what the kernels of
    an MPI stack are built for.
    """

    digest: str
    prefix: Prefix | None = None
    programs: dict[str, str] = field(default_factory=dict)
    version: str = ""
    target: Target | None = None


def set_up(
    stacks: Sequence[Stack], say: Say, *, again: bool = False, for_tests: bool = False, target: str = ""
) -> list[str]:
    """Sets up every stack that can be set up. Returns the problems of the others, each in one line with a hint.

    ``again`` sets the selected stacks up from nothing; otherwise only what has changed is built. ``for_tests`` also
    installs the packages that only the tests need. ``target``: what the NAS kernels are built for, a value of
    ``-march``; empty for that of each stack's last set-up, at first this machine's processor. Raises BadInput if the
    compiler does not accept it.
    """
    root = build_root()
    (root / "stacks").mkdir(parents=True, exist_ok=True)
    with sole_set_up(root, say):
        install_packages(stacks, root / "setup.log", say, for_tests=for_tests)
        targets = _targets(stacks, root, target)
        if again:
            for stack in stacks:
                _forget(root / "stacks" / stack.name)
        sources = source_digests(APPS, REPOSITORY / "inputs/npb")  # before the builds: a later change is not built
        outdated = [stack for stack in stacks if not _is_current(stack, root, sources, targets.get(stack.name))]
        problems = []
        with ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:
            builds = [pool.submit(_build, s, root, sources, targets.get(s.name), say) for s in outdated]
        for stack, built in zip(outdated, builds, strict=True):
            try:
                _record(stack, root, built.result(), say)
            except BadInput as error:
                problems.append(f"{stack.name}: {error}")
        write_environment(root)
    return problems


def _targets(stacks: Sequence[Stack], root: Path, name: str) -> dict[str, Target]:
    """Returns the targets of the MPI stacks by name, and records a chosen one."""
    homes = {stack.name: root / "stacks" / stack.name for stack in stacks if stack.level == "mpi"}
    names = {stack: name or last_target(home) for stack, home in homes.items()}
    known = {one: chosen_target(one) for one in set(names.values())}
    if name:
        for home in homes.values():
            remember_target(home, name)
    return {stack: known[one] for stack, one in names.items()}


def set_up_input(say: Say) -> str:
    """Prepares the GROMACS input of the quick tier if a stack has a GROMACS; the problem, or empty."""
    files = (build_root() / "stacks").glob(f"*/{STACK_FILE}")
    builds = [installed.gromacs for file in files if (installed := read_installed(file))]
    if not any(build and not build.problem for build in builds):
        return ""
    try:
        prepare_inputs([system(QUICK)], 1, input_cache_root(), say)
    except BadInput as error:
        return f"{QUICK}: {error}"
    return ""


def _is_current(stack: Stack, root: Path, sources: Mapping[str, str], target: Target | None) -> bool:
    """Whether the stack is set up from these sources, given by their digests, for ``target``.

    Updates the record of a GROMACS that has changed since.
    """
    home = root / "stacks" / stack.name
    try:
        installed = read_installed(home / STACK_FILE)
    except BadInput:  # an invalid record, or one of another version, is written again
        return False
    if installed is None or installed.missing_file or _read(home / STAMP) != _digest(stack, sources, target):
        return False
    if source_builds(installed, home) != installed.sources:
        return False
    if stack.level == "mpi":
        gromacs = gromacs_of(installed, installed.variables(stack, next(iter(stack.transports))))
        if gromacs != installed.gromacs:
            changed = installed.model_copy(update={"gromacs": gromacs})
            write_json(home / STACK_FILE, changed.model_dump(mode="json"))
    return True


def _forget(home: Path) -> None:
    """Makes the next set-up of a stack start from nothing."""
    (home / STACK_FILE).unlink(missing_ok=True)
    forget_prefix(home)


def _build(stack: Stack, root: Path, sources: Mapping[str, str], target: Target | None, say: Say) -> _Built:
    """Provides the stack and builds the programs on it, unless they are up to date."""
    home = root / "stacks" / stack.name
    home.mkdir(parents=True, exist_ok=True)
    remove_record(home)
    if stack.level == "user":
        programs, version = find_programs(stack, home / "setup.log", say)
        digest = _digest(stack, sources, None)
        say(f"building launch wrapper and witness for {stack.name}")
        for name in stack.own:
            (home / "apps/bin" / name).unlink(missing_ok=True)
        build_apps(home, {"FABRICBENCH_MPI": "OFF", **dict.fromkeys(stack.own.values(), "ON")}, source=APPS)
        return _Built(digest, programs=programs, version=version)
    prefix = provide_prefix(stack, home, say)
    digest = _digest(stack, sources, target)
    name = target.name if target else NATIVE
    say(f"building the benchmarks on {stack.name} ({prefix.source})" + (f" for {name}" if name != NATIVE else ""))
    build_apps(home, _mpi_options(prefix, name), source=APPS)
    return _Built(digest, prefix=prefix, target=target)


def _mpi_options(prefix: Prefix, target: str) -> dict[str, str]:
    compilers = prefix.compilers
    return {
        "MPI_C_COMPILER": compilers["mpicc"],
        "MPI_CXX_COMPILER": compilers["mpicxx"],
        "MPIEXEC_EXECUTABLE": compilers["mpirun"],
        **({"MPI_Fortran_COMPILER": compilers["mpif90"]} if "mpif90" in compilers else {}),
        "FABRICBENCH_NPB_TARGET": target,
    }


def _record(stack: Stack, root: Path, built: _Built, say: Say) -> None:
    """Writes ``stack.json`` and the stamp; raises BadInput if two ranks of an MPI stack do not run."""
    home = root / "stacks" / stack.name
    if built.prefix is None:
        installed = _installed_library(stack, home, built, say)
    else:
        installed = _installed_stack(stack, root, home, built.prefix, built.target)
    write_json(home / STACK_FILE, installed.model_dump(mode="json"))
    (home / STAMP).write_text(built.digest)
    say(f"{stack.name} is ready: {installed.version}")
    for build in installed.sources.values():
        if build.target is not None and build.target != installed.target:
            again = f"fabricbench setup {stack.name} --source {build.origin}"
            say(f"{build.package} on {stack.name} was built for {build.target.text}; to build it anew, run: {again}")


def _installed_library(stack: Stack, home: Path, built: _Built, say: Say) -> Installed:
    own = {name: str(path) for name in stack.own if (path := home / "apps/bin" / name).exists()}
    for name in stack.own.keys() - own.keys():
        say(f"no headers of {stack.name}: {name} is skipped")
    return Installed(
        stack=stack.name,
        source="found",
        version=built.version,
        prefix=str(home / "prefix"),
        apps=str(home / "apps"),
        programs=built.programs | own,
    )


def _installed_stack(stack: Stack, root: Path, home: Path, prefix: Prefix, target: Target | None) -> Installed:
    """The record of an MPI stack, after two ranks have started and ended on it."""
    link_openmp_of_imb(stack, root, home)
    installed = Installed(
        stack=stack.name,
        source=prefix.source,
        version="",
        prefix=str(home / "prefix"),
        apps=str(home / "apps"),
        library_path=tuple(str(path) for path in (home / "abi", home / "prefix/lib") if path.is_dir()),
        imb=imb_program(stack, root),
        target=target,
    )
    variables = installed.variables(stack, next(iter(stack.transports)))
    outcome = probe(installed, variables)
    if outcome.problem:
        raise BadInput(f"two ranks do not run: {outcome.problem}", where=str(home))
    return with_sources(installed.model_copy(update={"version": outcome.library}), stack, home)


def _digest(stack: Stack, sources: Mapping[str, str], target: Target | None) -> str:
    """The digest of all that a stack is built and probed with: its description, its origin, the sources, the target."""
    parts = [repr(stack), origin_of(stack), dict(sources), target.model_dump(mode="json") if target else None]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
