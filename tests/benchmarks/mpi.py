# SPDX-License-Identifier: Apache-2.0
"""The lanes that a benchmark of this folder can run on: those of MPI stacks, which have a launcher."""

import sys
from collections.abc import Sequence

from fabricbench.errors import BadInput
from fabricbench.setup.system import Lane, choose, lanes, site_root
from fabricbench.site.stacks import Installed, site_stacks


def mpi_lanes(system: str, wanted: Sequence[str] = ()) -> list[tuple[Lane, Installed]]:
    """The lanes called ``wanted``, or every MPI lane of ``system`` that is ready, each with its stack as installed.

    Exits with one line that says why where a wanted lane cannot run, or where there is none.
    """
    try:
        chosen = choose(lanes(system), wanted)
    except BadInput as error:
        sys.exit(str(error))
    stacks = site_stacks(site_root())
    found = []
    for lane in chosen:
        below = "" if stacks[lane.stack].level == "mpi" else f"{lane.stack} is a library below MPI, it has no mpirun"
        why = below or (f"{lane.missing}; {lane.hint}" if lane.missing else "")
        if not why and lane.installed is not None:
            found.append((lane, lane.installed))
        elif wanted:
            sys.exit(f"{lane.name}: {why or 'not set up; run: fabricbench setup'}")
    if not found:
        sys.exit(f"no MPI lane of {system} is ready; run: fabricbench doctor")
    return found
