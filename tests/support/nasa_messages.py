# SPDX-License-Identifier: Apache-2.0
"""The MPI calls that NASA's IS, CG and FT (NPB 3.4) make on a number of ranks: a formula for each kernel.

The formulas follow the specification (RNR-94-007) and the call sites of NPB 3.4.1. They cover a whole run with its
untimed first iteration. Set-up and report are left out.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Calls = Counter[tuple[int, str, int, int]]
"""The number of calls by rank, function, peer and bytes of a message, as ``message_counts.c`` counts them."""

GRIDS = {"S": (64, 64, 64), "W": (128, 128, 32), "A": (256, 256, 128)}
FT_ITERATIONS = 6
ORDERS = {"S": 1400, "W": 7000, "A": 14000}
CG_ITERATIONS, CG_STEPS = 15, 25
KEYS = {"S": (2**16, 2**11), "W": (2**20, 2**16), "A": (2**23, 2**19)}
"""The number of keys and the largest key plus 1."""
IS_ITERATIONS, TEST_KEYS = 10, 5
DOUBLE, COMPLEX, INTEGER = 8, 16, 4


def read_calls(path: Path) -> Calls:
    """Reads the file that ``message_counts.c`` writes."""
    calls: Calls = Counter()
    for line in path.read_text().splitlines():
        rank, function, peer, size, number = line.split()
        calls[int(rank), function, int(peer), int(size)] += int(number)
    return calls


def buckets(problem_class: str) -> int:
    return 512 if problem_class == "S" else 1024


def ft_grid(problem_class: str, ranks: int) -> tuple[int, int]:
    """Returns the ranks that divide x or y and those that divide y or z: slabs up to nz ranks, then pencils."""
    nz = GRIDS[problem_class][2]
    return (1, ranks) if ranks <= nz else (nz, ranks // nz)


def ft(problem_class: str, ranks: int) -> Calls:
    """One transform before each of the two starts of the clock and one per iteration; a checksum per iteration."""
    nx, ny, nz = GRIDS[problem_class]
    p1, p2 = ft_grid(problem_class, ranks)
    share = nx * ny * nz // ranks * COMPLEX
    transforms = FT_ITERATIONS + 2
    calls: Calls = Counter()
    for rank in range(ranks):
        me1, me2 = divmod(rank, p2)
        calls[rank, "MPI_Barrier", -1, 0] += 1
        calls[rank, "MPI_Reduce", 0, COMPLEX] += FT_ITERATIONS
        if ranks == 1:
            continue
        for other in range(p2):
            calls[rank, "MPI_Alltoall", me1 * p2 + other, share // p2] += transforms
        for other in range(p1 if p1 > 1 else 0):
            calls[rank, "MPI_Alltoall", other * p2 + me2, share // p1] += transforms
    return calls


@dataclass(frozen=True)
class _Place:
    """A rank's place in CG's grid of ranks and the lengths of its vectors."""

    row: int
    column: int
    transposed: int
    rows: int
    sent: int
    received: int


def cg_grid(ranks: int) -> tuple[int, int]:
    """Returns rows and columns: as many columns as rows, or twice as many."""
    doublings = ranks.bit_length() - 1
    return 2 ** (doublings // 2), 2 ** ((doublings + 1) // 2)


def _part(whole: int, parts: int, index: int) -> int:
    return whole // parts + (index < whole % parts)


def _place(order: int, ranks: int, rank: int) -> _Place:
    grid_rows, grid_columns = cg_grid(ranks)
    row, column = divmod(rank, grid_columns)
    rows = _part(order, grid_rows, row)
    if grid_rows == grid_columns:
        received = _part(order, grid_columns, column)
        return _Place(row, column, column * grid_columns + row, rows, rows, received)
    half = rank % 2
    block = _part(order, grid_rows, column // 2)
    transposed = 2 * ((rank // 2) % grid_rows * grid_rows + rank // 2 // grid_rows) + half
    return _Place(row, column, transposed, rows, (rows + 1 - half) // 2, (block + 1 - half) // 2)


def cg(problem_class: str, ranks: int) -> Calls:
    """A message is an Irecv, a Send and a Wait. A rank on the diagonal of the grid exchanges with itself."""
    rounds = CG_ITERATIONS + 1
    products, sums = rounds * (CG_STEPS + 1), rounds * (2 * CG_STEPS + 2)
    grid_rows, grid_columns = cg_grid(ranks)
    calls: Calls = Counter()
    for rank in range(ranks):
        place = _place(ORDERS[problem_class], ranks, rank)
        calls[rank, "MPI_Barrier", -1, 0] += 1
        if ranks == 1:
            continue
        messages = [(place.transposed, place.sent, place.received, products)]
        distance = 1
        while distance < grid_columns:
            partner = place.row * grid_columns + (place.column ^ distance)
            other = place.rows - place.sent if distance == 1 and grid_rows != grid_columns else place.sent
            messages.append((partner, other, place.sent, products))
            messages += [(partner, 1, 1, sums), (partner, 2, 2, rounds)]
            distance *= 2
        for peer, sent, received, number in messages:
            calls[rank, "MPI_Send", peer, sent * DOUBLE] += number
            calls[rank, "MPI_Irecv", peer, received * DOUBLE] += number
            calls[rank, "MPI_Wait", -1, 0] += number
    return calls


def keys_of(problem_class: str) -> NDArray[np.int64]:
    """Returns the keys: each is a quarter of the sum of four numbers of NASA's generator times the largest key."""
    number, largest = KEYS[problem_class]
    modulus, multiplier, seed = 2**46, 5**13, 314159265
    states = np.empty(4 * number, np.uint64)
    states[0] = seed * multiplier % modulus
    filled, leap = 1, multiplier
    while filled < states.size:  # the second half is the first one, advanced; products wrap at 2**64
        states[filled : 2 * filled] = states[:filled] * np.uint64(leap) & np.uint64(modulus - 1)
        filled, leap = 2 * filled, leap * leap % modulus
    total = states.reshape(number, 4).sum(axis=1)
    return np.asarray(total >> np.uint64(48 - (largest.bit_length() - 1)), np.int64)


def _owners(totals: NDArray[np.int64], ranks: int, keys_per_rank: int) -> NDArray[np.int64]:
    """Returns the owner of each bucket: rank r's last one is the one with which r + 1 shares are full."""
    owners = np.empty(totals.size, np.int64)
    owner = total = 0
    for bucket, count in enumerate(totals):
        owners[bucket] = owner
        total += int(count)
        if total >= (owner + 1) * keys_per_rank and owner < ranks - 1:
            owner += 1
    return owners


def is_(problem_class: str, ranks: int, number_of_buckets: int = 0) -> Calls:
    """Each ranking sums the bucket counts, exchanges the numbers of keys, and sends each key to its bucket's owner."""
    number_of_buckets = number_of_buckets or buckets(problem_class)
    number, largest = KEYS[problem_class]
    keys = keys_of(problem_class)
    sender = np.arange(number) // (number // ranks)
    calls: Calls = Counter()
    for iteration in (1, *range(1, IS_ITERATIONS + 1)):
        keys[iteration], keys[iteration + IS_ITERATIONS] = iteration, largest - iteration
        bucket = keys // (largest // number_of_buckets)
        owners = _owners(np.bincount(bucket, minlength=number_of_buckets), ranks, number // ranks)
        sent = np.bincount(sender * ranks + owners[bucket], minlength=ranks * ranks).reshape(ranks, ranks)
        for rank in range(ranks):
            calls[rank, "MPI_Allreduce", -1, (number_of_buckets + TEST_KEYS) * INTEGER] += 1
            for peer in range(ranks):
                calls[rank, "MPI_Alltoall", peer, INTEGER] += 1
                calls[rank, "MPI_Alltoallv", peer, int(sent[rank, peer]) * INTEGER] += 1
    return calls


KERNELS = {"is": is_, "cg": cg, "ft": ft}
