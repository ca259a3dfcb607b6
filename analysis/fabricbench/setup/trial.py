# SPDX-License-Identifier: Apache-2.0
"""Builds small programs on an MPI library that is installed already, and finds out which library it is.

The programs call no MPI function that starts communication, because a login node may not start MPI programs.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fabricbench.errors import BadInput
from fabricbench.setup.external import External
from fabricbench.site.library import first_line
from fabricbench.site.stacks import Stack

LIMIT_SECONDS = 60
_MPI_LIBRARY = re.compile(r"^\s*(?P<name>libmpi(?:ch)?\.so\S*) => (?P<path>\S+|not found)", re.MULTILINE)
_OTHER_ARCHITECTURE = re.compile(
    r"skipping incompatible|file in wrong format|wrong ELF class|incompatible target|cannot execute binary|Exec format"
)
_ANOTHER_ARCHITECTURE = "its MPI library is for another processor architecture"
_IN_C = """\
#include <mpi.h>
#include <stdio.h>
int main(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  puts(text);
  return 0;
}
"""
_IN_FORTRAN = """\
program trial
  use mpi
  implicit none
  integer :: error
  call MPI_Init(error)
  call MPI_Finalize(error)
end program trial
"""


class _Outcome(NamedTuple):
    """A command that ended: ``ok``: with status 0. A command that could not be started has the reason as ``errors``."""

    ok: bool
    output: str
    errors: str

    @property
    def text(self) -> str:
        """The errors, or else the output, in one line of at most 300 characters without its beginning."""
        lines = (self.errors.strip() or self.output).splitlines()
        return " | ".join(" ".join(line.split()) for line in lines if line.strip())[-300:]


@dataclass(frozen=True, slots=True)
class Trial:
    """What the programs showed: the ``text`` of the library, and the reason why there is no Fortran, or empty."""

    text: str
    fortran_problem: str

    @property
    def version(self) -> str:
        """The library's name and version, as ``fabricbench-micro`` prints it."""
        return first_line(self.text)


def mpi_library(program: Path, environment: Mapping[str, str]) -> str:
    """The shared MPI library that a program loads; empty if it loads none."""
    match = _MPI_LIBRARY.search(_outcome(["ldd", str(program)], environment).output)
    if match is None:
        return ""
    return match["name"] if match["path"] == "not found" else match["path"]


def tried(external: External, stack: Stack, declared: Mapping[str, Stack]) -> Trial:
    """Returns the outcome of the programs; raises BadInput if the library cannot be used, or is not the stack's.

    ``declared``: all stacks, of which an error names the one that the library is for.
    """
    environment = _environment(external, stack)
    where = str(external.prefix)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        messages = _compile(external, folder, environment)
        library = mpi_library(folder / "trial", environment)
        if not library:
            what = "its MPI library is static; the profiler and the comparison of libraries need a shared one"
            raise BadInput(what, where=where, hint="build it with shared libraries")
        if not _is_of(external, library):
            if _OTHER_ARCHITECTURE.search(messages):
                raise BadInput(_ANOTHER_ARCHITECTURE, where=where)
            raise BadInput(
                f"a program that its mpicc builds loads {library}", where=where, expected="its own MPI library"
            )
        started = _outcome([str(folder / "trial")], environment)
        if not started.ok:
            hint = "" if external.modules else "if it needs other libraries, name its modules with --module"
            raise BadInput(f"a program on it does not start: {started.text}", where=where, hint=hint)
        text = started.output
        if stack.library and (mismatch := stack.library.mismatch(text)):
            raise BadInput(mismatch, where=where, hint=_hint(text, external, stack, declared))
        return Trial(text, _fortran_problem(external, folder, environment))


def _environment(external: External, stack: Stack) -> dict[str, str]:
    """The environment of the programs and of the compilers, whose messages are in English."""
    variables = {**external.environment, **stack.environment_at(str(external.prefix))}
    # Wrappers of Intel MPI find their headers by I_MPI_ROOT.
    environment = {**os.environ, "I_MPI_ROOT": str(external.prefix), **variables, "LC_ALL": "C"}
    environment["PATH"] = f"{external.prefix}/bin:{environment.get('PATH', '')}"
    paths = [*external.library_path, *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return environment | ({"LD_LIBRARY_PATH": ":".join(paths)} if paths else {})


def _is_of(external: External, library: str) -> bool:
    """Whether a loaded library is in the prefix. A linker passes over a library that it cannot use, and takes another.

    A prefix without libraries, of wrappers for libraries elsewhere, has none to compare with.
    """
    if not external.library_path or not os.path.isabs(library):
        return True
    folders = [external.prefix, *map(Path, external.library_path)]
    return any(Path(library).resolve().is_relative_to(folder.resolve()) for folder in folders)


def _compile(external: External, folder: Path, environment: Mapping[str, str]) -> str:
    """Builds the program in C and returns the messages of the compiler and the linker."""
    (folder / "trial.c").write_text(_IN_C)
    argv = [external.compilers["mpicc"], "-o", str(folder / "trial"), str(folder / "trial.c")]
    compiled = _outcome(argv, environment)
    where, messages = str(external.prefix), compiled.output + compiled.errors
    if compiled.ok:
        return messages
    if _OTHER_ARCHITECTURE.search(messages):
        raise BadInput(_ANOTHER_ARCHITECTURE, where=where)
    if "MPI_MAX_LIBRARY_VERSION_STRING" in messages:
        raise BadInput("it is older than MPI 3.0", where=where, expected="MPI 3.0 or newer")
    raise BadInput(f"mpicc cannot build a program: {compiled.text}", where=where)


def _fortran_problem(external: External, folder: Path, environment: Mapping[str, str]) -> str:
    if "mpif90" not in external.compilers:
        return f"{external.prefix} has no bin/mpif90"
    if shutil.which("gfortran", path=environment["PATH"]) is None and not os.environ.get("FC"):
        return "there is no Fortran compiler"
    (folder / "trial.f90").write_text(_IN_FORTRAN)
    argv = [external.compilers["mpif90"], "-o", "fortran", "trial.f90"]
    compiled = _outcome(argv, environment, folder)
    return "" if compiled.ok else f"mpif90 cannot build a program: {compiled.text}"


def _hint(text: str, external: External, stack: Stack, declared: Mapping[str, Stack]) -> str:
    """The command for the stack that the library is for; empty if no stack is declared for it."""
    option = f"--module {','.join(external.modules.names)}" if external.modules else f"--prefix {external.prefix}"
    for other in declared.values():
        if other.library is not None and other.name != stack.name and not other.library.mismatch(text):
            return f"run: fabricbench setup {other.name} {option}"
    return ""


def _outcome(argv: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> _Outcome:
    """Runs a command with a time limit."""
    try:
        process = subprocess.run(
            argv, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        return _Outcome(False, "", f"{argv[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return _Outcome(False, "", f"{argv[0]} did not end within {LIMIT_SECONDS} s")
    return _Outcome(process.returncode == 0, process.stdout, process.stderr)
