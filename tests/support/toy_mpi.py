# SPDX-License-Identifier: Apache-2.0
"""An MPI library in a prefix of its own, as computing centres have them: a few lines of C, and scripts as wrappers."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

MPICH = "MPICH Version:      4.2.1\nMPICH Device:       ch4:ucx\n"
OPEN_MPI = "Open MPI v4.1.4, package: a toy\n"
MVAPICH2 = "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Device       :\tch3:mrail\n"
HEADER = """\
#define MPI_MAX_LIBRARY_VERSION_STRING 256
int MPI_Get_library_version(char* text, int* length);
"""
OLD_HEADER = "int MPI_Get_version(int* version, int* subversion);\n"
ARM = 183
"""The number of 64-bit ARM in the header of an ELF file."""
_MACHINE_AT = 18
_LIBRARY = """\
#include <string.h>
int MPI_Get_library_version(char* text, int* length) {
  strcpy(text, %s);
  *length = (int)strlen(text);
  return 0;
}
"""


def toy_mpi(prefix: Path, text: str = MPICH, *, header: str = HEADER, static: bool = False, machine: int = 0) -> Path:
    """Makes the prefix of a library whose ``MPI_Get_library_version`` returns ``text``, without Fortran.

    ``machine`` is the number of another processor architecture in the header of the library.
    """
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    for folder in ("bin", "include", "lib"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "include/mpi.h").write_text(header)
    source, library = prefix / "library.c", prefix / "lib/libmpi.so"
    source.write_text(_LIBRARY % json.dumps(text))
    if static:
        subprocess.run(["cc", "-c", "-o", prefix / "library.o", source], check=True)
        subprocess.run(["ar", "rcs", prefix / "lib/libmpi.a", prefix / "library.o"], check=True)
    else:
        options = ("-shared", "-fPIC", "-Wl,-soname,libmpi.so.12")
        subprocess.run(["cc", *options, "-o", library, source], check=True)
        library.with_name("libmpi.so.12").symlink_to(library.name)
    if machine:
        content = bytearray(library.read_bytes())
        content[_MACHINE_AT : _MACHINE_AT + 2] = machine.to_bytes(2, "little")
        library.write_bytes(content)
    program(prefix, "mpicc", f'exec cc "$@" -I{prefix}/include -L{prefix}/lib -Wl,-rpath,{prefix}/lib -lmpi')
    program(prefix, "mpicxx", f'exec c++ "$@" -I{prefix}/include -L{prefix}/lib -Wl,-rpath,{prefix}/lib -lmpi')
    program(prefix, "mpirun", 'shift 2; "$@"')
    return prefix


def program(prefix: Path, name: str, command: str) -> None:
    """Writes a shell script into ``bin`` of the prefix."""
    file = prefix / "bin" / name
    file.write_text(f"#!/bin/sh\n{command}\n")
    file.chmod(0o755)
