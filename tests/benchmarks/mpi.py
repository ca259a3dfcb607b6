# SPDX-License-Identifier: Apache-2.0
"""Selects the lanes of MPI stacks for the benchmarks in this folder. Other stacks have no ``mpirun``."""

import sys
from collections.abc import Sequence

from fabricbench.errors import BadInput
from fabricbench.site.lane import Lane
from fabricbench.site.settings import choose, lanes
from fabricbench.site.stacks import Installed


def mpi_lanes(system: str, names: Sequence[str] = ()) -> list[tuple[Lane, Installed]]:
    """Returns the lanes ``names``, or all MPI lanes of ``system`` that are ready, each with its installed stack.

    Exits with a one-line reason if a named lane cannot run, or if no lane is ready.
    """
    try:
        selection = choose(lanes(system), names)
    except BadInput as error:
        sys.exit(str(error))
    usable = []
    for lane in selection:
        below = "" if lane.stack.level == "mpi" else f"{lane.stack.name} is a library below MPI, it has no mpirun"
        why = below or (f"{lane.unavailable.reason}; {lane.unavailable.hint}" if lane.unavailable else "")
        if not why and lane.installed is not None:
            usable.append((lane, lane.installed))
        elif names:
            sys.exit(f"{lane.name}: {why or 'not set up; run: fabricbench setup'}")
    if not usable:
        sys.exit(f"no MPI lane of {system} is ready; run: fabricbench doctor")
    return usable
