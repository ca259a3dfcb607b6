# SPDX-License-Identifier: Apache-2.0
"""Enters packages that were built from sources in the ``stack.json`` of their stack."""

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from fabricbench.setup.gromacs.builds import gromacs_of
from fabricbench.setup.probe import probe_imb_mt
from fabricbench.site.stacks import Installed, SourceBuild, Stack

FOLDER = "sources"
"""The folder of a stack with a folder for each package."""
BUILT = "built.json"
"""File in the folder of a package that describes its last complete build; it is written last."""
IMB_PROGRAM = "IMB-MPI1"


def mpi_identity(installed: Installed) -> str:
    """Returns a digest of the MPI library of a stack: what was built on another one is not used."""
    facts = [installed.source, installed.version, installed.prefix, sorted(installed.spec_hash.items())]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def read_build(home: Path, package: str) -> tuple[SourceBuild | None, str]:
    """Returns the last complete build of a package and the identity of its MPI; None if there is none."""
    try:
        content = json.loads((home / FOLDER / package / BUILT).read_bytes())
        build = SourceBuild.model_validate(content["build"])
        identity = str(content["mpi"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None, ""
    return (build, identity) if Path(build.prefix).is_dir() else (None, "")


def source_builds(installed: Installed, home: Path) -> dict[str, SourceBuild]:
    """Returns the packages that were built on this stack as it is now, by name."""
    identity, builds = mpi_identity(installed), {}
    for folder in sorted((home / FOLDER).glob("*/")):
        build, built_on = read_build(home, folder.name)
        if build is not None and built_on == identity:
            builds[build.package] = build
    return builds


def with_sources(installed: Installed, stack: Stack, home: Path) -> Installed:
    """Returns the record of an MPI stack with its packages from sources, and with the IMB and GROMACS that it uses.

    Starts two ranks of IMB-MT on stacks that are not Spack's.
    """
    builds = source_builds(installed, home)
    imb = next(iter(sorted(Path(builds["imb"].prefix).rglob(IMB_PROGRAM))), None) if "imb" in builds else None
    installed = installed.model_copy(update={"sources": builds, "imb": str(imb) if imb else installed.imb})
    variables = installed.variables(stack, next(iter(stack.transports)))
    is_probed = installed.imb and installed.source != "spack"  # a login node of a cluster may start no MPI program
    problem = probe_imb_mt(installed, variables) if is_probed else ""
    gromacs = gromacs_of(installed, variables)
    return installed.model_copy(update={"imb_mt_problem": problem, "gromacs": gromacs})
