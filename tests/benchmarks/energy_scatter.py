# SPDX-License-Identifier: Apache-2.0
"""Measures the deviation of mixed-precision energies from double precision, by ranks and threads.

The tolerances of checked GROMACS runs follow from these deviations.

    PYTHONPATH=tests python -m benchmarks.energy_scatter [villin] [lzm] [dppc] [--ranks 1,2,3,4] [--threads 1,2]

Each run executes on shm and on tcp. In GROMACS's reproducible mode both must print the same digits.
"""

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.errors import BadInput
from fabricbench.inputs.cache import RunInput, find_input
from fabricbench.inputs.systems import CHECKED_STEPS, known_systems
from fabricbench.parsers.tools.gromacs import FILE, Reference, deviations, read_log, read_reference
from fabricbench.setup.probe import lane_environment
from fabricbench.site.settings import build_root, site_root
from fabricbench.site.stacks import STACK_FILE, Installed, read_installed, site_stacks

STACK = "openmpi"


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None, ranks: str = "1,2,3,4", threads: str = "1,2"
) -> None:
    """Prints a row for every number of ranks and threads."""
    ways = list(product(map(int, ranks.split(",")), map(int, threads.split(","))))
    installed = read_installed(build_root() / "stacks" / STACK / STACK_FILE)
    if installed is None or installed.gromacs is None:
        sys.exit(f"{STACK} has no GROMACS: run fabricbench setup")
    print("| system | ranks | threads | step 0 | step 20 | shm and tcp alike |\n| --- | --- | --- | --- | --- | --- |")
    for name in names or list(known_systems()):
        run_input, reference = _input(name)
        for count, each in ways:
            shm, tcp = (run(installed, run_input, transport, count, each) for transport in ("shm", "tcp"))
            print(f"| {name} | {count} | {each} | {_words(shm, reference)} | {_alike(shm, tcp)} |", flush=True)


def _input(name: str) -> tuple[RunInput, Reference]:
    """Returns the input and its energies in double precision, with a tolerance that accepts every deviation."""
    try:
        run_input = find_input(name)
    except BadInput as error:
        sys.exit(str(error))
    if not isinstance(run_input, RunInput):
        sys.exit(f"{name}: {run_input.reason}; {run_input.hint}")
    if not run_input.reference.exists():
        sys.exit(f"{name}: no reference beside {run_input.tpr}; run: fabricbench inputs {name}")
    return run_input, read_reference(run_input.reference).model_copy(update={"tolerance": 0.99})


def run(installed: Installed, run_input: RunInput, transport: str, ranks: int, threads: int) -> str:
    """Runs the first steps of the input and returns the log."""
    stack = site_stacks(site_root())[STACK]
    environment = lane_environment(installed, {**installed.variables(stack, transport), **stack.oversubscribed})
    assert installed.gromacs is not None
    argv = [f"{installed.prefix}/bin/mpirun", "-np", str(ranks), installed.gromacs.program, "mdrun"]
    argv += ["-s", str(run_input.tpr), "-g", FILE, "-noconfout", "-ntomp", str(threads), "-pin", "off"]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [*argv, "-reprod", "-nsteps", str(CHECKED_STEPS)],
            cwd=place, env=environment | {"OMP_WAIT_POLICY": "passive"}, capture_output=True, check=True,
        )  # fmt: skip
        return (Path(place) / FILE).read_text()


def _words(log: str, reference: Reference) -> str:
    return " | ".join(f"{off:.1e}" for _, off in deviations(read_log(log), reference))


def _alike(one: str, other: str) -> str:
    left, right = read_log(one), read_log(other)
    return "yes" if (left.first, left.last) == (right.first, right.last) else "no"


if __name__ == "__main__":
    typer.run(main)
