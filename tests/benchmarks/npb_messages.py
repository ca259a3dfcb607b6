# SPDX-License-Identifier: Apache-2.0
"""Compares the MPI calls of NASA's IS, CG and FT with the formulas of the tests, on simulated ranks.

    PYTHONPATH=tests python -m benchmarks.npb_messages DIRECTORY [--classes S] [--ranks 1,2,4,8] [--kernels is,cg,ft]

DIRECTORY holds NASA's executables, as is.S.x, built with SimGrid's smpicc and smpif90 and linked with
tests/support/message_counts.o.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from support.nasa_messages import KERNELS, Calls, read_calls
from support.simulated import Simulator


def row(simulator: Simulator, kernel: str, problem: str, ranks: int) -> tuple[str, bool]:
    """Returns a row of the table, and whether a verified run made exactly the calls of the formula."""
    expected = KERNELS[kernel](problem, ranks)
    with TemporaryDirectory() as directory:
        counts = Path(directory) / "counts"
        # NASA's programs ignore arguments; the project's own kernels under NASA's names need the class.
        process = simulator.run(ranks, f"{kernel}.{problem}.x", "--class", problem, counts=counts)
        if not counts.exists():
            sys.exit(f"{kernel}.{problem}.x: {process.stderr[-300:] or process.stdout[-300:]}")
        calls = read_calls(counts)
    equal = all(calls[key] == number for key, number in expected.items())
    good = equal and " SUCCESSFUL" in process.stdout
    outside = sum(number for key, number in calls.items() if key not in expected)
    numbers = f"{expected.total()} | {volume(expected)} | {outside}"
    return f"| {kernel.upper()}.{problem}, {ranks} | {numbers} | {'yes' if good else 'no'} |", good


def volume(calls: Calls) -> int:
    """Returns the bytes of all calls that send."""
    return sum(size * number for (_, function, _, size), number in calls.items() if function != "MPI_Irecv")


def main(
    directory: Annotated[Path, typer.Argument()],
    classes: str = "S",
    ranks: str = "1,2,4,8",
    kernels: str = ",".join(KERNELS),
) -> None:
    simulator = Simulator(directory.resolve())
    print("| kernel, class, ranks | calls by peer | bytes | set-up and report | NASA's as the formula |")
    print("| --- | --- | --- | --- | --- |")
    results = []
    for kernel in kernels.split(","):
        for problem in classes.split(","):
            for count in map(int, ranks.split(",")):
                text, good = row(simulator, kernel, problem, count)
                print(text, flush=True)
                results.append(good)
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    typer.run(main)
