# SPDX-License-Identifier: Apache-2.0
"""Intel's MPI Benchmarks, which come with the wheels of Intel MPI and run on every stack of MPICH's common ABI."""

from pathlib import Path

from fabricbench.site.stacks import Stack

PROGRAM = "IMB-MPI1"
_INTEL = "stacks/impi/prefix"


def imb_program(stack: Stack, root: Path) -> str | None:
    """The path of IMB-MPI1 below the build directory ``root``; None if the stack cannot run it or it is missing."""
    path = root / _INTEL / "bin" / PROGRAM
    return str(path) if stack.runs_imb and path.exists() else None


def link_openmp_of_imb(stack: Stack, root: Path, home: Path) -> None:
    """Links Intel's OpenMP, which IMB-MT needs, into the directory of the stack's own libraries, and no other file."""
    library = root / _INTEL / "lib/libiomp5.so"
    link = home / "abi" / library.name
    if stack.runs_imb and library.exists() and library.parent != home / "prefix/lib":
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(library)
