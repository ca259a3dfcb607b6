# SPDX-License-Identifier: Apache-2.0
"""Finds the GROMACS of each MPI stack, its MPI library and its SIMD level."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.setup.gromacs.gmx import facts_of
from fabricbench.setup.probe import lane_environment
from fabricbench.setup.trial import mpi_library
from fabricbench.site.stacks import GromacsBuild, Installed

GROMACS = "FABRICBENCH_GROMACS"
"""Variable with the path of a directory; its folder ``<stack>`` is the prefix of a GROMACS with that stack's MPI."""
PROGRAM = "gmx_mpi"
SIMD_LEVELS = {
    "None": (),
    "SSE2": ("sse2",),
    "SSE4.1": ("sse4_1",),
    "AVX_256": ("avx",),
    "AVX2_256": ("avx2", "fma"),
    "AVX_512": ("avx512f",),
}
"""GROMACS's SIMD levels on x86 in ascending order, and the processor flags that each needs."""


def gromacs_of(installed: Installed, variables: Mapping[str, str]) -> GromacsBuild | None:
    """The stack's GROMACS: from ``FABRICBENCH_GROMACS``, from its sources, from the prefix or Spack view, or Debian's.

    None if there is none. A GROMACS that cannot run on this stack is returned with its ``problem``.
    """
    program, from_debian = _program(installed)
    if program is None:
        return None
    environment = lane_environment(installed, variables)
    mpi = mpi_library(program, environment)
    own = mpi_library(Path(installed.apps) / "bin/fabricbench-micro", environment)
    build = GromacsBuild(program=str(program), mpi_library=mpi)
    if mpi and own and os.path.realpath(mpi) != os.path.realpath(own):
        if from_debian:  # Debian builds it on one of its stacks only
            return None
        return build.model_copy(update={"problem": f"built with another MPI: it loads {mpi}, the stack has {own}"})
    try:
        facts = facts_of(str(program), environment)
    except BadInput as error:
        return build.model_copy(update={"problem": str(error)})
    kind = facts.get("MPI library", "MPI")
    builds = {
        "version": facts["GROMACS version"],
        "simd": facts.get("SIMD instructions", ""),
        "precision": facts.get("Precision", ""),
        "problem": "" if kind.startswith("MPI") else f"built without MPI ({kind})",
    }
    return build.model_copy(update=builds)


def better_simd(simd: str, flags: set[str]) -> str:
    """The best SIMD level of a processor with these ``flags``; empty if it is not better than ``simd``.

    AVX_512 is never proposed: on processors with one AVX-512 unit GROMACS is faster with AVX2_256 (its install guide).
    """
    levels = list(SIMD_LEVELS)
    if simd not in levels:
        return ""
    offered = [level for level in levels if level != "AVX_512" and flags.issuperset(SIMD_LEVELS[level])]
    best = offered[-1]
    return best if levels.index(best) > levels.index(simd) else ""


def _program(installed: Installed) -> tuple[Path | None, bool]:
    """The path of the program, and whether it is Debian's, which runs on one of Debian's stacks only."""
    if path := os.environ.get(GROMACS):
        program = Path(path) / installed.stack / "bin" / PROGRAM
        if program.exists():
            return program.resolve(), False
    build = installed.sources.get("gromacs")
    if build and (programs := sorted(path for path in Path(build.prefix).rglob(PROGRAM) if path.is_file())):
        return programs[0], False
    for prefix in (installed.prefix, installed.apps):  # a stack from Spack has it in its view
        if (program := Path(prefix) / "bin" / PROGRAM).exists():
            return program, False
    on_path = shutil.which(PROGRAM) if installed.source == "debian" else None
    return (Path(on_path), True) if on_path else (None, False)
