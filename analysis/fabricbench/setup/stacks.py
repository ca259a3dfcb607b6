# SPDX-License-Identifier: Apache-2.0
"""Set-up: find or install each stack and library, build what runs on it, and write down what was found.

As root on Debian packages may be installed; anywhere else the wheels of PyPI serve, and what is still missing is
said with the line that installs it. Everything can be interrupted and repeated: a stack counts when its
``stack.json`` is there, which is written last.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.cache import cache_root
from fabricbench.inputs.recipes import QUICK, SYSTEMS
from fabricbench.processes.commands import apt_install, is_root_on_debian, run_logged
from fabricbench.setup.gromacs.build import build
from fabricbench.setup.gromacs.builds import gromacs_of
from fabricbench.setup.libraries import find_programs
from fabricbench.setup.probe import probe, probe_imb_mt
from fabricbench.site.settings import REPOSITORY, build_root, site_root
from fabricbench.site.stacks import STACK_FILE, Debian, Installed, Stack, read_installed

Say = Callable[[str], None]
_TOOLCHAIN = ("g++", "gfortran", "make", "cmake")
IMB = "IMB-MPI1"


def set_up(stacks: Sequence[Stack], say: Say, *, again: bool = False, for_tests: bool = False) -> list[str]:
    """Set every stack up that can be; the problems of the others, one line each with the hint."""
    root = build_root()
    (root / "stacks").mkdir(parents=True, exist_ok=True)
    _toolchain(root / "setup.log", say)
    _applications(root / "setup.log", say)
    if for_tests:
        _for_tests(root / "setup.log", say)
    problems = []
    for stack in stacks:
        try:
            if again:
                (root / "stacks" / stack.name / STACK_FILE).unlink(missing_ok=True)
            _set_up_one(stack, root, say)
        except BadInput as error:
            problems.append(f"{stack.name}: {error}")
    write_environment(root)
    return problems


def set_up_input(say: Say) -> str:
    """The GROMACS input of the quick tier, where a stack has a GROMACS to run it; what stood in the way, else empty."""
    files = (build_root() / "stacks").glob(f"*/{STACK_FILE}")
    builds = [installed.gromacs for file in files if (installed := read_installed(file))]
    if not any(build and not build.problem for build in builds):
        return ""
    try:
        build([SYSTEMS[QUICK]], 1, cache_root(), say)
    except BadInput as error:
        return f"{QUICK}: {error}"
    return ""


def write_environment(root: Path) -> Path:
    """``env.sh``, to be sourced: after it ``reframe -c reframe_checks -r`` works as typed."""
    programs = root / "bin"
    programs.mkdir(exist_ok=True)
    guard = programs / "reframe"
    guard.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fabricbench.runner.reframe "$@"\n')
    guard.chmod(0o755)
    settings = f"{shlex.quote(str(site_root()))}/[!_]*/settings.py"
    path = f"{programs}:{Path(sys.executable).parent}"
    file = root / "env.sh"
    file.write_text(
        "# Written by set-up: source it.\n"
        f'export PATH={shlex.quote(path)}:"$PATH"\n'
        f'RFM_CONFIG_FILES=$(printf "%s:" {settings})\n'  # of every system, also of one that comes later
        'export RFM_CONFIG_FILES="${RFM_CONFIG_FILES%:}"\n'
        'export RFM_SYSTEM="${RFM_SYSTEM:-local}"\n'
    )
    return file


def _toolchain(log: Path, say: Say) -> None:
    missing = [name for name in _TOOLCHAIN if shutil.which(name) is None]
    if missing and is_root_on_debian():
        say(f"installing Debian's {' '.join(missing)}")
        apt_install(missing, log)
        return
    if "g++" in missing and shutil.which("c++") is None:
        raise BadInput("no C++ compiler", hint="install one, on Debian: apt-get install g++")
    if "gfortran" in missing:
        say("no Fortran compiler: what needs one will be a named skip; on Debian: apt-get install gfortran")
    if "make" in missing:
        raise BadInput("no make", hint="install it, on Debian: apt-get install make")
    if "cmake" in missing and not Path(sys.executable).with_name("cmake").exists():
        say("installing cmake from PyPI")
        run_logged([sys.executable, "-m", "pip", "install", "-q", "cmake>=3.22"], log, what="installing cmake")


def _applications(log: Path, say: Say) -> None:
    """GROMACS. Without it its launches are named skips."""
    if shutil.which("gmx") is None and shutil.which("gmx_mpi") is None and is_root_on_debian():
        say("installing Debian's gromacs")
        apt_install(["gromacs"], log)


def _for_tests(log: Path, say: Say) -> None:
    """A browser that opens the report, a simulator of networks, Slurm and what its virtual nodes need. Without them
    their tests skip and say so."""
    packages = {
        **{"chromium": "chromium", "smpicxx": "libsimgrid-dev", "munged": "munge", "slurmctld": "slurm-wlm"},
        **{"ip": "iproute2", "unshare": "util-linux"},
    }
    paths = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [package for command, package in packages.items() if shutil.which(command, path=paths) is None]
    missing += ["libpmi2-0"] if "slurm-wlm" in missing else []
    if missing and is_root_on_debian():
        say(f"installing Debian's {' '.join(missing)} for the tests")
        apt_install(missing, log)


def _set_up_one(stack: Stack, root: Path, say: Say) -> None:
    home = root / "stacks" / stack.name
    stamp = _sources_digest(stack)
    try:
        installed = read_installed(home / STACK_FILE)
    except BadInput:  # of another version, or broken: it is made anew
        installed = None
    if installed is not None and _read(home / "stamp") == stamp and not installed.missing_file:
        _look_for_gromacs_again(stack, installed, home)
        return
    home.mkdir(parents=True, exist_ok=True)
    for name in (STACK_FILE, "stamp"):
        (home / name).unlink(missing_ok=True)
    make = _make_library if stack.level == "user" else _make_stack
    installed = make(stack, home, say)
    write_json(home / STACK_FILE, installed.model_dump(mode="json"))
    (home / "stamp").write_text(stamp)
    say(f"{stack.name} is ready: {installed.version}")


def _look_for_gromacs_again(stack: Stack, installed: Installed, home: Path) -> None:
    """One that came, went or was replaced since then, without building anything anew."""
    if stack.level != "mpi":
        return
    found = gromacs_of(installed, installed.variables(stack, next(iter(stack.transports))))
    if found != installed.gromacs:
        write_json(home / STACK_FILE, installed.model_copy(update={"gromacs": found}).model_dump(mode="json"))


def _make_library(stack: Stack, home: Path, say: Say) -> Installed:
    """A user-level library: its programs as they are found, and beside them launch wrapper and witness, without MPI."""
    programs, version = find_programs(stack, home / "setup.log", say)
    say(f"building launch wrapper and witness for {stack.name}")
    own = {name: home / "apps/bin" / name for name in stack.own}
    for path in own.values():
        path.unlink(missing_ok=True)
    _build(home, {"FABRICBENCH_MPI": "OFF", **dict.fromkeys(stack.own.values(), "ON")})
    built = {name: str(path) for name, path in own.items() if path.exists()}
    for name in own:
        if name not in built:
            say(f"no headers of {stack.name}: {name} will be a named skip")
    return Installed(
        stack=stack.name,
        source="found",
        version=version,
        prefix=str(home / "prefix"),
        apps=str(home / "apps"),
        programs=programs | built,
    )


def _make_stack(stack: Stack, home: Path, say: Say) -> Installed:
    """An MPI stack, the benchmarks built on it, seen to start two ranks."""
    source, compilers = _provide(stack, home, say)
    link_openmp_of_imb(stack, home.parent.parent, home)
    say(f"building the benchmarks on {stack.name} ({source})")
    _build(home, _mpi_options(compilers))
    installed = Installed(
        stack=stack.name,
        source=source,
        version="",
        prefix=str(home / "prefix"),
        apps=str(home / "apps"),
        library_path=_library_path(home),
        imb=_imb(stack, home.parent.parent),
    )
    variables = installed.variables(stack, next(iter(stack.transports)))
    found = probe(installed, variables)
    if found.problem:
        raise BadInput(f"two ranks do not run: {found.problem}", where=str(home))
    problem = probe_imb_mt(installed, variables) if installed.imb else ""
    gromacs = gromacs_of(installed, variables)
    return installed.model_copy(update={"version": found.library, "imb_mt_problem": problem, "gromacs": gromacs})


def _provide(stack: Stack, home: Path, say: Say) -> tuple[str, dict[str, str]]:
    """Fill ``home/prefix``; where the stack came from, and its compilers by role."""
    debian = stack.debian
    if debian is not None and not _has(debian) and is_root_on_debian():
        say(f"installing Debian's {' '.join(debian.packages)}")
        apt_install(debian.packages, home / "setup.log")
    shutil.rmtree(home / "prefix", ignore_errors=True)
    shutil.rmtree(home / "abi", ignore_errors=True)
    if debian is not None and _has(debian):
        return "debian", _provide_debian(debian, home)
    if not stack.pypi:
        raise BadInput("it is not installed and PyPI has no wheel of it", hint="install it with Spack")
    say(f"installing {stack.name} from PyPI")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--ignore-installed"]
    run_logged(
        [*pip, "--prefix", str(home / "prefix"), *stack.pypi],
        home / "setup.log",
        what=f"installing {stack.name}",
    )
    for name, target in stack.links.items():
        link = home / "prefix" / name
        if (link.parent / target).exists() and not link.exists():
            link.symlink_to(target)
    roles = {role: home / "prefix/bin" / role for role in ("mpicc", "mpicxx", "mpif90", "mpirun")}
    if shutil.which("gfortran") is None:
        del roles["mpif90"]
    return "pypi", {role: str(path) for role, path in roles.items() if path.exists()}


def _has(debian: Debian) -> bool:
    needed = ("mpirun", "mpicc", "mpicxx")
    return all(shutil.which(debian.commands[role]) for role in needed)


def _provide_debian(debian: Debian, home: Path) -> dict[str, str]:
    """Wrapper scripts under the plain names: through a symbolic link Hydra does not find its proxy."""
    (home / "prefix/bin").mkdir(parents=True)
    found = {}
    for role, command in debian.commands.items():
        path = shutil.which(command)
        if path is None:
            continue
        script = home / "prefix/bin" / role
        script.write_text(f'#!/bin/sh\nexec "{path}" "$@"\n')
        script.chmod(0o755)
        found[role] = path
    if debian.abi_library is not None and (library := _shared_library(debian.abi_library)):
        (home / "abi").mkdir()
        (home / "abi/libmpi.so.12").symlink_to(library)
    return found


def _shared_library(name: str) -> str | None:
    ldconfig = shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
    if ldconfig is None:
        return None
    done = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        words = line.split()
        if words and words[0] == name:
            return words[-1]
    return None


def _library_path(home: Path) -> tuple[str, ...]:
    return tuple(str(path) for path in (home / "abi", home / "prefix/lib") if path.is_dir())


def _mpi_options(compilers: dict[str, str]) -> dict[str, str]:
    return {
        "MPI_C_COMPILER": compilers["mpicc"],
        "MPI_CXX_COMPILER": compilers["mpicxx"],
        "MPIEXEC_EXECUTABLE": compilers["mpirun"],
        **({"MPI_Fortran_COMPILER": compilers["mpif90"]} if "mpif90" in compilers else {}),
        "FABRICBENCH_NPB_NATIVE": "ON",  # what is built here runs here
    }


def _build(home: Path, options: dict[str, str]) -> None:
    log = home / "setup.log"
    cmake = shutil.which("cmake") or str(Path(sys.executable).with_name("cmake"))
    options = options | {
        "CMAKE_INSTALL_PREFIX": str(home / "apps"),
        "CMAKE_INSTALL_LIBDIR": "lib",
        "CMAKE_BUILD_TYPE": "Release",
    }
    tree = home / "build"
    shutil.rmtree(tree, ignore_errors=True)
    defines = [f"-D{key}={value}" for key, value in options.items()]
    environment = {"I_MPI_ROOT": str(home / "prefix")}
    argv = [cmake, "-S", str(REPOSITORY / "apps"), "-B", str(tree), *defines]
    run_logged(argv, log, what="configuring", environment=environment)
    argv = [cmake, "--build", str(tree), "-j", str(os.cpu_count() or 1)]
    run_logged(argv, log, what="building", environment=environment)
    run_logged([cmake, "--install", str(tree)], log, what="installing")


def _imb(stack: Stack, root: Path) -> str | None:
    """IMB-MPI1; the public IMB comes with the Intel runtime and runs on every stack of MPICH's common ABI."""
    path = root / "stacks/impi/prefix/bin" / IMB
    return str(path) if stack.runs_imb and path.exists() else None


def link_openmp_of_imb(stack: Stack, root: Path, home: Path) -> None:
    """A link to Intel's OpenMP, which IMB-MT needs, among the stack's own libraries: that one file and no other."""
    library = root / "stacks/impi/prefix/lib/libiomp5.so"
    link = home / "abi" / library.name
    if stack.runs_imb and library.exists() and library.parent != home / "prefix/lib":
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(library)


def _sources_digest(stack: Stack) -> str:
    """What a set-up stack depends on: the sources in ``apps`` and ``inputs`` and where the stack comes from."""
    programs = [*stack.programs, *stack.own]
    facts = [stack.name, stack.pypi, str(stack.debian), dict(stack.links), stack.runs_imb, *programs]
    total = hashlib.sha256(json.dumps(facts).encode())
    for path in sorted(path for part in ("apps", "inputs/npb") for path in (REPOSITORY / part).rglob("*")):
        if path.is_file():
            total.update(str(path.relative_to(REPOSITORY)).encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
