# SPDX-License-Identifier: Apache-2.0
"""Compares the MPI calls of the NAS kernels, by peer and message size, with the formulas of NASA's programs.

The kernels run on a simulated network (SimGrid's SMPI) and verify their results on every number of ranks.
``benchmarks.npb_messages`` compares NASA's own programs with the same formulas.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.test_short_forms import rows_of
from support import nasa_messages
from support.long_form import LONG, is_long
from support.nasa_messages import KERNELS, Calls, buckets, ft_grid, is_, read_calls
from support.simulated import Simulator

EXCHANGES = {"MPI_Send", "MPI_Irecv", "MPI_Wait", "MPI_Sendrecv", "MPI_Alltoall", "MPI_Alltoallv"}
SET_UP = {("MPI_Allreduce", 8): 1}
"""Calls of each rank by function and bytes: is there enough memory."""
REPORT = {("MPI_Reduce", 8): 1, ("MPI_Bcast", 4): 1}
"""The largest time, and whether the result is right."""
OUTSIDE: dict[str, Calls | dict[tuple[str, int], int]] = {
    "is": {
        **SET_UP,
        **REPORT,
        ("MPI_Barrier", 0): 1,
        ("MPI_Allreduce", 4): 2,
        ("MPI_Allreduce", 16): 2,
        ("MPI_Exscan", 4): 1,
    },
    "cg": {**SET_UP, **REPORT},
    "ft": {**SET_UP, **REPORT, ("MPI_Comm_split", 0): 2},
}
"""Calls outside the iterations, which are not NASA's: docs/methods/npb.md."""


def calls_of(simulator: Simulator, directory: Path, kernel: str, ranks: int, *options: str) -> tuple[Calls, str]:
    """Runs a kernel, which verifies its result; returns its calls and its report."""
    program = f"npb/{kernel}/fabricbench-{kernel}"
    if not (simulator.build / program).exists():
        pytest.skip(f"{kernel} needs gfortran")
    counts = directory / "counts"
    process = simulator.run(ranks, program, *options, counts=counts)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    report = dict(line.split("=") for line in process.stdout.splitlines() if line.count("=") == 1)
    values = {name.strip(): value.strip() for name, value in report.items()}
    assert (values["Total processes"], values["Verification"]) == (str(ranks), "SUCCESSFUL")
    return read_calls(counts), process.stdout


def without_own_keys(calls: Calls) -> Calls:
    """IS keeps a rank's own keys in place, so the part of Alltoallv for the rank itself is empty."""
    kept: Calls = Counter()
    for (rank, function, peer, size), number in calls.items():
        own = function == "MPI_Alltoallv" and peer == rank
        kept[rank, function, peer, 0 if own else size] += number
    return kept


def compare(kernel: str, calls: Calls, expected: Calls, ranks: int) -> None:
    assert {key: number for key, number in calls.items() if key in expected} == expected
    outside: dict[int, Counter[tuple[str, int]]] = {rank: Counter() for rank in range(ranks)}
    for (rank, function, peer, size), number in calls.items():
        if (rank, function, peer, size) not in expected:
            assert function not in EXCHANGES
            outside[rank][function, size] += number
    assert outside == dict.fromkeys(range(ranks), OUTSIDE[kernel])


RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LEFT_OUT = {("is", 256), ("cg", 64)}
"""IS runs class S on at most 128 ranks. CG, which takes longest, has grids of other shapes on 128 and 256 ranks."""
SLOW = {("cg", "S", 256), ("is", "W", 256), ("ft", "S", 256), ("cg", "S", 128), ("is", "S", 128)}
"""Cases of more than ten seconds, which run in the long form only."""
CASES = [(kernel, "S", ranks) for kernel in KERNELS for ranks in RANKS if (kernel, ranks) not in LEFT_OUT]
CASES += [("is", "W", 2), ("is", "W", 256), ("ft", "W", 32), ("ft", "W", 128), ("cg", "W", 8)]


@pytest.mark.parametrize(("kernel", "problem_class", "ranks"), CASES)
def test_calls_are_those_of_nasas_programs(
    counting_kernels: Simulator, tmp_path: Path, kernel: str, problem_class: str, ranks: int
) -> None:
    if (kernel, problem_class, ranks) in SLOW and not is_long():
        pytest.skip(f"takes more than ten seconds: set {LONG}=1")
    calls, report = calls_of(counting_kernels, tmp_path, kernel, ranks, "--class", problem_class)
    expected = KERNELS[kernel](problem_class, ranks)
    compare(kernel, calls, without_own_keys(expected) if kernel == "is" else expected, ranks)
    if kernel == "ft":
        p1, p2 = ft_grid(problem_class, ranks)
        assert f" Processor array: {p1}x{p2}\n" in report


@pytest.mark.parametrize(("problem_class", "other"), [("S", 1024), ("W", 512)])
def test_the_other_number_of_buckets(
    counting_kernels: Simulator, tmp_path: Path, problem_class: str, other: int
) -> None:
    assert other != buckets(problem_class)
    options = ("--class", problem_class, "--buckets", str(other))
    calls, report = calls_of(counting_kernels, tmp_path, "is", 4, *options)
    compare("is", calls, without_own_keys(is_(problem_class, 4, other)), 4)
    assert f" Buckets: {other}\n" in report


@pytest.mark.parametrize(("ranks", "grid"), [(16, "4x4"), (128, "8x16")])
def test_the_square_grid_sends_to_fewer_ranks(
    counting_kernels: Simulator, tmp_path: Path, ranks: int, grid: str
) -> None:
    calls, report = calls_of(counting_kernels, tmp_path, "ft", ranks, "--class", "S", "--layout", "2d")
    assert f" Processor array: {grid}\n" in report
    p1, p2 = map(int, grid.split("x"))
    peers = {peer for rank, function, peer, _ in calls if (rank, function) == (0, "MPI_Alltoall")}
    assert peers == {*range(p2), *range(0, p1 * p2, p2)}
    sent = sum(size * n for (rank, function, _, size), n in calls.items() if (rank, function) == (0, "MPI_Alltoall"))
    assert sent == 2 * 8 * 16 * 64**3 // ranks


def test_the_benchmark_compares_programs_with_the_formulas(counting_kernels: Simulator, tmp_path: Path) -> None:
    """The short form of benchmarks/npb_messages.py; the project's own CG makes NASA's calls."""
    program = counting_kernels.build / "npb/cg/fabricbench-cg"
    if not program.exists():
        pytest.skip("cg needs gfortran")
    shutil.copy(program, tmp_path / "cg.S.x")
    rows = rows_of("npb_messages", str(tmp_path), "--ranks", "1,2", "--kernels", "cg")
    assert [(row[0], row[-1]) for row in rows] == [("CG.S, 1", "yes"), ("CG.S, 2", "yes")]


def test_formulas_by_hand() -> None:
    """FT on 2 ranks: a quarter of the grid to each in 8 transforms. CG on 4 ranks: a grid of 2 by 2."""
    quarter = 64**3 // 4 * 16
    assert nasa_messages.ft("S", 2)[0, "MPI_Alltoall", 1, quarter] == 8
    calls = nasa_messages.cg("S", 4)
    assert {(rank, peer) for rank, _, peer, size in calls if size == 5600} == {
        *((0, 1), (1, 0), (2, 3), (3, 2)),  # sums over a row
        *((0, 0), (1, 2), (2, 1), (3, 3)),  # the transposition
    }
    # 16 rounds of 26 products; rank 0 sends to itself and to rank 1.
    assert calls[0, "MPI_Send", 0, 5600] == calls[0, "MPI_Send", 1, 5600] == 16 * 26
