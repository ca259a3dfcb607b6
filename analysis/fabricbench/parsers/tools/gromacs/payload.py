# SPDX-License-Identifier: Apache-2.0
"""The least that the ranks of a GROMACS run sent each other, from what its log says of domains, grids and steps."""

from math import isfinite, prod

from fabricbench.launch.record import Payload
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs.energies import FILE
from fabricbench.parsers.tools.gromacs.log import Log


def payload(log: Log) -> Payload:
    """The halo, PME's grid, and what separate PME ranks are sent, over all steps from the first on; 0 for one rank.

    A reset of the counters does not shorten it: the sockets carried the steps before it too. GROMACS's mean of halo
    atoms is over the decompositions since the reset; it is taken for the steps before as well, since box, density and
    cut-off stay, and what balancing changes is far less than what is left out. Where PME was tuned, which changes the
    cut-off, the halo of the counted steps alone is taken.

    It is a lower bound. Left out are decompositions, atoms that PME's ranks hand each other, constraints, virtual
    sites, energies, padding of the FFT, and what MPI adds. It came to between 0.72 and 0.97 of the bytes that the
    witness counted: tests/data/gromacs/README.md.
    """
    steps = log.total_steps or 0
    tuned = len(log.fourier_grids) > 1
    halo, others = _halo(log), (_grid(log), _separate(log))
    moved = halo[0] * ((log.steps or 0) if tuned else steps) + steps * sum(part[0] for part in others)
    if not isfinite(moved) or (log.halo_atoms or 0) > log.atoms * log.ranks:
        raise Unreadable(FILE, log.lines.get("halo_atoms"), "no more atoms communicated than there are")
    return Payload(bytes=int(moved), messages=steps * (halo[1] + sum(part[1] for part in others)))


def _halo(log: Log) -> tuple[float, int]:
    """Bytes and messages of a step: all ranks receive the coordinates of ``halo_atoms`` and send as many forces back.

    At a decomposition the coordinates travel with its own messages. A rank sends at least one message of coordinates
    and one of forces in every dimension that is cut; those of a further dimension need what came in along the one
    before, so no two share a segment. Source: domdec.cpp, ``dd_move_x`` and ``dd_move_f``.
    """
    cut = sum(n > 1 for n in log.domains or ())
    if not cut:
        return 0, 0
    return 2 * (log.halo_atoms or 0) * log.bytes_per_atom, 2 * cut * (log.ranks - log.pme_ranks)


def _grid(log: Log) -> tuple[float, int]:
    """Bytes and messages of a step on the smallest grid that was used; PME's tuning tries several.

    The FFT: the complex half of the grid is transposed there and back. Of P ranks each keeps at most a P-th, and an
    all-to-all takes each at least log2 P messages. Source: fft5d.cpp. The overlap: charges are spread over, and
    forces gathered from, order - 1 planes of the next rank's. Source: pme_grid.cpp, ``gmx_sum_qgrid_dd``.

    Nothing counts with multiple time steps or a GPU, where it is left out or done elsewhere.
    """
    x_ranks, y_ranks, _z = log.pme_domains or (1, 1, 1)
    ranks = x_ranks * y_ranks
    if ranks == 1 or not log.fourier_grids or log.gpu or log.multiple_steps:
        return 0, 0
    x, y, z = min(log.fourier_grids, key=prod)
    real = log.bytes_per_atom // 3
    transposed = 2 * x * y * (z // 2 + 1) * 2 * real * (ranks - 1) / ranks
    planes = x_ranks * y * z * (x_ranks > 1) + y_ranks * x * z * (y_ranks > 1)
    overlap = 2 * max(log.pme_order - 1, 0) * planes * real
    return transposed + overlap, 2 * ranks * (ranks - 1).bit_length()


def _separate(log: Log) -> tuple[float, int]:
    """Bytes and messages of a step: coordinates of all atoms to the separate PME ranks, forces back."""
    if not log.pme_ranks or log.multiple_steps:
        return 0, 0
    return 2 * log.atoms * log.bytes_per_atom, 2 * (log.ranks - log.pme_ranks)
