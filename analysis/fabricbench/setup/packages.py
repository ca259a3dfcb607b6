# SPDX-License-Identifier: Apache-2.0
"""Installs the missing Debian packages of a set-up, as root on Debian; elsewhere an error names the command to use."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.processes.external_programs import apt_install, is_root_on_debian, run_logged
from fabricbench.setup.record import Say
from fabricbench.site.stacks import Debian, Stack

TOOLCHAIN = ("g++", "gfortran", "make", "cmake")
LMOD = Path("/usr/share/lmod")
STACK_COMMANDS = ("mpirun", "mpicc", "mpicxx")
"""The commands without which Debian's package of an MPI stack counts as missing."""
FOR_TESTS = {
    "ccache": "ccache",
    "chromium": "chromium",
    "smpicxx": "libsimgrid-dev",
    "modulecmd": "environment-modules",
    "munged": "munge",
    "slurmctld": "slurm-wlm",
    "ip": "iproute2",
    "unshare": "util-linux",
}
"""Debian packages of the tests by a command of each: a compiler cache, a browser, environment modules, a network
simulator, Slurm and its virtual nodes."""


def install_packages(stacks: Sequence[Stack], log: Path, say: Say, *, for_tests: bool) -> None:
    """Installs all missing packages in one call of apt-get, then checks the toolchain.

    One call takes less time than a call for each stack. If it fails, each stack tries its own packages later, so
    that one missing package affects one stack only. Outside root on Debian nothing is installed here.
    """
    packages = missing_packages(stacks, for_tests=for_tests)
    if packages and is_root_on_debian():
        say(f"installing Debian's {' '.join(packages)}")
        try:
            apt_install(packages, log)
        except BadInput as error:
            say(f"not all packages could be installed at once: {error}")
    _check_toolchain(log, say)


def missing_packages(stacks: Sequence[Stack], *, for_tests: bool) -> list[str]:
    """The Debian packages of the toolchain, GROMACS, the stacks and the tests that are missing, without duplicates."""
    packages = [name for name in TOOLCHAIN if shutil.which(name) is None]
    if shutil.which("gmx") is None and shutil.which("gmx_mpi") is None:
        packages.append("gromacs")
    for stack in stacks:
        if stack.debian is not None and not is_installed(stack, stack.debian):
            packages += stack.debian.packages
    if for_tests:
        paths = f"{os.environ['PATH']}:/usr/sbin:/sbin"
        absent = [package for command, package in FOR_TESTS.items() if shutil.which(command, path=paths) is None]
        if LMOD.exists() and "environment-modules" in absent:
            absent.remove("environment-modules")  # apt-get would remove lmod
        packages += [*absent, *(["libpmi2-0"] if "slurm-wlm" in absent else [])]
    return list(dict.fromkeys(packages))


def is_installed(stack: Stack, debian: Debian) -> bool:
    """Whether Debian's packages of a stack are installed: its commands are on PATH and its files exist."""
    commands = [debian.commands[role] for role in STACK_COMMANDS] if stack.level == "mpi" else list(stack.programs)
    return all(map(shutil.which, commands)) and all(Path(file).exists() for file in debian.files)


def _check_toolchain(log: Path, say: Say) -> None:
    """Raises BadInput without a C++ compiler or make. CMake is installed from PyPI if it is missing."""
    if shutil.which("g++") is None and shutil.which("c++") is None:
        raise BadInput("no C++ compiler", hint="install one, on Debian: apt-get install g++")
    if shutil.which("gfortran") is None:
        say("no Fortran compiler: benchmarks in Fortran are skipped; on Debian: apt-get install gfortran")
    if shutil.which("make") is None:
        raise BadInput("no make", hint="install it, on Debian: apt-get install make")
    if shutil.which("cmake") is None and not Path(sys.executable).with_name("cmake").exists():
        say("installing cmake from PyPI")
        run_logged([sys.executable, "-m", "pip", "install", "-q", "cmake>=3.22"], log, what="installing cmake")
