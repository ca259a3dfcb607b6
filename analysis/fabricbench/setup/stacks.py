# SPDX-License-Identifier: Apache-2.0
"""Sets up each stack and library: its prefix, the benchmarks built on it, and its record ``stack.json``.

As root on Debian missing packages are installed; elsewhere the wheels of PyPI are used, and an error names the command
that installs what is still missing. The user may choose an MPI library that is installed already (``external``).

A set-up that was interrupted continues when it is repeated: a stack counts as set up when its ``stack.json`` and its
stamp exist, which are written last; finished prefixes and compiled files are kept.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.cache import input_cache_root
from fabricbench.inputs.systems import QUICK, system
from fabricbench.setup.cmake import build_apps, source_digests
from fabricbench.setup.environment import write_environment
from fabricbench.setup.external import Choice, located
from fabricbench.setup.gromacs.builds import gromacs_of
from fabricbench.setup.gromacs.prepare import prepare_inputs
from fabricbench.setup.imb import imb_program, link_openmp_of_imb
from fabricbench.setup.libraries import find_programs
from fabricbench.setup.lock import sole_set_up
from fabricbench.setup.order import Order, choice_of, remember, targets_of
from fabricbench.setup.packages import install_packages
from fabricbench.setup.prefix import Prefix, forget_prefix, provide_prefix
from fabricbench.setup.probe import probe
from fabricbench.setup.record import STAMP, Say, remove_record
from fabricbench.setup.sources.entries import source_builds, with_sources
from fabricbench.setup.trial import tried
from fabricbench.site.settings import REPOSITORY, build_root, site_root
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, read_installed, site_stacks
from fabricbench.site.targets import NATIVE

APPS = REPOSITORY / "apps"
BUILDS_AT_ONCE = 2
"""The number of stacks that are built at the same time: one compiles while the other is configured or linked."""


@dataclass(frozen=True, slots=True)
class _Built:
    """A stack whose programs are built: the prefix of an MPI stack, the programs and version of a library.

    ``digest``: the digest of everything that it was built from, taken before the build.
    """

    digest: str
    prefix: Prefix | None = None
    programs: dict[str, str] = field(default_factory=dict)
    version: str = ""


def set_up(
    stacks: Sequence[Stack],
    say: Say,
    *,
    again: bool = False,
    for_tests: bool = False,
    target: str = "",
    choice: Choice | None = None,
) -> list[str]:
    """Sets up every stack that can be set up. Returns the problems of the others, each in one line with a hint.

    ``again`` sets the selected stacks up from nothing; otherwise only what has changed is built. ``for_tests`` also
    installs the packages that only the tests need. ``target``: what the NAS kernels are built for, a value of
    ``-march``; empty for that of each stack's last set-up, at first this machine's processor. Raises BadInput if the
    compiler does not accept it. ``choice``: the installed MPI library for the stacks, an empty one for their packages;
    None for that of each stack's last set-up. Raises BadInput if it cannot be used; nothing has changed then.
    """
    root = build_root()
    (root / "stacks").mkdir(parents=True, exist_ok=True)
    with sole_set_up(root, say):
        choices = {s.name: choice_of(s, root / "stacks" / s.name, choice) for s in stacks}
        install_packages([s for s in stacks if not choices[s.name]], root / "setup.log", say, for_tests=for_tests)
        targets = targets_of(stacks, root, target)  # before the stacks: an unknown target changes nothing
        sources = source_digests(APPS, REPOSITORY / "inputs/npb")  # before the builds: a later change is not built
        outdated, problems = [], []
        for stack in stacks:
            order = Order(stack, root / "stacks" / stack.name, sources, targets.get(stack.name))
            try:
                order = _with_external(order, choices[stack.name], again=again)
            except BadInput as error:
                if choice:
                    raise
                problems.append(f"{stack.name}: {error}")
                continue
            remember(order, target, choice)
            if again:
                _forget(order.home)
            if not _is_current(order):
                outdated.append(order)
        problems += _set_up_all(outdated, root, say)
        write_environment(root)
    return problems


def _with_external(order: Order, choice: Choice, *, again: bool) -> Order:
    """Returns the order with the installed library of a choice, tried unless the stack is set up on it already."""
    if not choice:
        return order
    external = located(choice)
    if external.prefix.resolve().is_relative_to(order.home.resolve()):
        raise BadInput(f"{external.prefix} is a directory of set-up's own", where="--prefix")
    order = replace(order, external=external)
    if not again and _is_current(order):
        return order
    return replace(order, trial=tried(external, order.stack, site_stacks(site_root())))


def _set_up_all(outdated: Sequence[Order], root: Path, say: Say) -> list[str]:
    """Builds and records the stacks. Returns the problems."""
    problems = []
    with ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:
        builds = [pool.submit(_build, order, say) for order in outdated]
    for order, built in zip(outdated, builds, strict=True):
        try:
            _record(order, root, built.result(), say)
        except BadInput as error:
            problems.append(f"{order.stack.name}: {error}")
    return problems


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


def _is_current(order: Order) -> bool:
    """Whether the stack is set up as ordered. Updates the record of a GROMACS that has changed since."""
    stack, home = order.stack, order.home
    try:
        installed = read_installed(home / STACK_FILE)
    except BadInput:  # an invalid record, or one of another version, is written again
        return False
    if installed is None or installed.missing_file or _read(home / STAMP) != order.digest():
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


def _build(order: Order, say: Say) -> _Built:
    """Provides the stack and builds the programs on it, unless they are up to date."""
    stack, home, external = order.stack, order.home, order.external
    home.mkdir(parents=True, exist_ok=True)
    remove_record(home)
    if stack.level == "user":
        programs, version = find_programs(stack, home / "setup.log", say)
        digest = order.digest()
        say(f"building launch wrapper and witness for {stack.name}")
        for name in stack.own:
            (home / "apps/bin" / name).unlink(missing_ok=True)
        build_apps(home, {"FABRICBENCH_MPI": "OFF", **dict.fromkeys(stack.own.values(), "ON")}, source=APPS)
        return _Built(digest, programs=programs, version=version)
    prefix = provide_prefix(stack, home, say, external)
    digest = order.digest()
    name = order.target.name if order.target else NATIVE
    origin = f"{prefix.source} {prefix.path}" if external else prefix.source
    say(f"building the benchmarks on {stack.name} ({origin})" + (f" for {name}" if name != NATIVE else ""))
    problem = order.trial.fortran_problem if order.trial else ""
    if problem:
        say(f"{stack.name}: CG and FT, which are written in Fortran, are skipped: {problem}")
    environment = {**external.environment, **stack.environment_at(prefix.path)} if external else {}
    build_apps(home, _mpi_options(prefix, name, fortran=not problem), source=APPS, environment=environment)
    return _Built(digest, prefix=prefix)


def _mpi_options(prefix: Prefix, target: str, *, fortran: bool) -> dict[str, str]:
    compilers = prefix.compilers
    return {
        "MPI_C_COMPILER": compilers["mpicc"],
        "MPI_CXX_COMPILER": compilers.get("mpicxx", compilers["mpicc"]),  # CMake reads the options of the wrapper only
        "MPIEXEC_EXECUTABLE": compilers["mpirun"],
        **({"MPI_Fortran_COMPILER": compilers["mpif90"]} if fortran and "mpif90" in compilers else {}),
        "FABRICBENCH_NPB_TARGET": target,
    }


def _record(order: Order, root: Path, built: _Built, say: Say) -> None:
    """Writes ``stack.json`` and the stamp; raises BadInput if two ranks do not run on a stack that set-up installed."""
    stack, home = order.stack, order.home
    if built.prefix is None:
        installed = _installed_library(stack, home, built, say)
    else:
        installed = _installed_stack(order, root, built.prefix, say)
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


def _installed_stack(order: Order, root: Path, prefix: Prefix, say: Say) -> Installed:
    """The record of an MPI stack, after two ranks have started and ended on it.

    A library of the user's choice may need devices or a launcher that this machine lacks, such as a login node, so that
    a failure of its two ranks is shown, and the stack is recorded.
    """
    stack, home, external, trial = order.stack, order.home, order.external, order.trial
    link_openmp_of_imb(stack, root, home)
    own = (home / "abi", *(() if external else (home / "prefix/lib",)))
    library_path = tuple(str(path) for path in own if path.is_dir()) + (external.library_path if external else ())
    installed = Installed(
        stack=stack.name,
        source=prefix.source,
        version=trial.version if trial else "",
        prefix=prefix.path,
        apps=str(home / "apps"),
        library_path=library_path,
        modules=external.modules if external else None,
        fortran_problem=trial.fortran_problem if trial else "",
        imb=imb_program(stack, root),
        target=order.target,
    )
    if external and not any(Path(folder, "libmpi.so.12").exists() for folder in external.library_path):
        installed = installed.model_copy(update={"imb": None})  # the public binaries need MPICH's common ABI
    outcome = probe(installed, installed.variables(stack, next(iter(stack.transports))))
    if outcome.problem and external is None:
        raise BadInput(f"two ranks do not run: {outcome.problem}", where=str(home))
    if outcome.problem:
        say(f"{stack.name}: two ranks do not run here: {outcome.problem}; fabricbench doctor tests each lane")
    else:
        installed = installed.model_copy(update={"version": outcome.library})
    return with_sources(installed, stack, home)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
