# SPDX-License-Identifier: Apache-2.0
"""The lanes that a benchmark of this folder can run on: those of MPI stacks, which have a launcher."""

import sys
from collections.abc import Sequence

from fabricbench.errors import BadInput
from fabricbench.site.lane import Lane
from fabricbench.site.settings import choose, lanes
from fabricbench.site.stacks import Installed


def mpi_lanes(system: str, wanted: Sequence[str] = ()) -> list[tuple[Lane, Installed]]:
    """The lanes called ``wanted``, or every MPI lane of ``system`` that is ready, each with its stack as installed.

    Exits with one line that says why where a wanted lane cannot run, or where there is none.
    """
    try:
        chosen = choose(lanes(system), wanted)
    except BadInput as error:
        sys.exit(str(error))
    found = []
    for lane in chosen:
        below = "" if lane.stack.level == "mpi" else f"{lane.stack.name} is a library below MPI, it has no mpirun"
        why = below or (f"{lane.unavailable.reason}; {lane.unavailable.hint}" if lane.unavailable else "")
        if not why and lane.installed is not None:
            found.append((lane, lane.installed))
        elif wanted:
            sys.exit(f"{lane.name}: {why or 'not set up; run: fabricbench setup'}")
    if not found:
        sys.exit(f"no MPI lane of {system} is ready; run: fabricbench doctor")
    return found
