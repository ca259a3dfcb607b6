# SPDX-License-Identifier: Apache-2.0
"""Computes a lower bound of the payload of a GROMACS run from its domains, grids and steps."""

from math import isfinite, prod

from fabricbench.launch.record import Payload
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs.energies import FILE
from fabricbench.parsers.tools.gromacs.log import Log


def payload(log: Log) -> Payload:
    """The payload of the halo, PME's grid and separate PME ranks, over all steps; 0 for one rank.

    Steps before the reset of the counters are included, as the sockets carried them too. GROMACS's mean number of halo
    atoms covers the steps since the reset; it is used for the steps before as well, since box, density and cut-off are
    constant and load balancing changes it little. If PME was tuned, which changes the cut-off, only the halo of the
    counted steps is included.

    Not included are decompositions, redistribution of atoms for PME, constraints, virtual sites, energies, padding of
    the FFT, and MPI's own bytes. The result was 0.72 to 0.97 of the bytes that the witness counted
    (tests/data/gromacs/README.md). Unreadable for an impossible number of halo atoms.
    """
    steps = log.total_steps or 0
    tuned = len(log.fourier_grids) > 1
    halo, others = _halo(log), (_grid(log), _separate(log))
    messages = halo[0] * ((log.steps or 0) if tuned else steps) + steps * sum(part[0] for part in others)
    if not isfinite(messages) or (log.halo_atoms or 0) > log.atoms * log.ranks:
        raise Unreadable(FILE, log.lines.get("halo_atoms"), "no more atoms communicated than there are")
    return Payload(bytes=int(messages), messages=steps * (halo[1] + sum(part[1] for part in others)))


def _halo(log: Log) -> tuple[float, int]:
    """Bytes and messages per step: all ranks receive the coordinates of ``halo_atoms`` and send as many forces back.

    A rank sends at least one message of coordinates and one of forces in every divided dimension. Messages of a
    dimension depend on those of the one before, so no two share a segment. Source: domdec.cpp, ``dd_move_x`` and
    ``dd_move_f``.
    """
    cut = sum(n > 1 for n in log.domains or ())
    if not cut:
        return 0, 0
    return 2 * (log.halo_atoms or 0) * log.bytes_per_atom, 2 * cut * (log.ranks - log.pme_ranks)


def _grid(log: Log) -> tuple[float, int]:
    """Bytes and messages per step on the smallest grid that was used; PME's tuning tries several.

    FFT: the complex half of the grid is transposed twice. Each of P ranks keeps at most 1/P of it, and an all-to-all
    takes at least log2 P messages per rank. Source: fft5d.cpp. Overlap: charges are spread over, and forces gathered
    from, order - 1 planes of the next rank. Source: pme_grid.cpp, ``gmx_sum_qgrid_dd``.

    0 with multiple time steps or a GPU, which may do this less often or elsewhere.
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
    """Bytes and messages per step: coordinates of all atoms to the separate PME ranks, forces back."""
    if not log.pme_ranks or log.multiple_steps:
        return 0, 0
    return 2 * log.atoms * log.bytes_per_atom, 2 * (log.ranks - log.pme_ranks)
