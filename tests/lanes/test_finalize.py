# SPDX-License-Identifier: Apache-2.0
"""Tests that MPI_Finalize of MPICH over UCX ends if ranks enter it at different times or share cores."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import Installed
from support.long_form import is_long
from support.micro import STACKS, stack

EARLY = """
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm others;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &others);
  MPI_Barrier(MPI_COMM_WORLD);
  double end = MPI_Wtime() + atof(argv[1]);
  for (int more = rank > 0; more; MPI_Bcast(&more, 1, MPI_INT, 0, others)) more = MPI_Wtime() < end;
  MPI_Comm_free(&others);
  MPI_Finalize();
  return 0;
}
"""
"""Rank 0 enters MPI_Finalize while the others still exchange messages for the given number of seconds."""

PAUSES = ("0", "0.2", "1") if is_long() else ("0", "0.2")
REPEATS = 3 if is_long() else 1

LIMIT_SECONDS = 120


@pytest.fixture(scope="module")
def mpich() -> Installed:
    installed = stack("mpich")
    if not Path(installed.prefix, "bin/mpicc").exists():
        pytest.skip("mpich has no mpicc")
    return installed


@pytest.fixture(scope="module")
def early(mpich: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the program and returns its path."""
    program = tmp_path_factory.mktemp("finalize") / "early"
    program.with_suffix(".c").write_text(EARLY)
    subprocess.run(
        [f"{mpich.prefix}/bin/mpicc", "-o", str(program), str(program.with_suffix(".c"))], check=True, timeout=120
    )
    return program


def ends(
    mpich: Installed, transport: str, ranks: int, *program: str, preload: bool = True, limit: int = LIMIT_SECONDS
) -> bool:
    """Returns whether a launch ends within the limit. Asserts exit status 0 and empty stderr for a launch that ends."""
    variables = dict(mpich.variables(STACKS["mpich"], transport))
    library = variables.pop("LD_PRELOAD", "")
    command = (f"{mpich.prefix}/bin/mpirun", "-np", str(ranks), "env", f"LD_PRELOAD={library * preload}", *program)
    with tempfile.TemporaryDirectory() as directory:
        wrapper = (f"{mpich.apps}/bin/fabricbench-launch", "--dir", directory, "--limit", str(limit))
        environment = lane_environment(mpich, variables)
        subprocess.run([*wrapper, "--", *command], env=environment, timeout=limit + 60, check=False)
        end = json.loads(Path(directory, "end").read_text())
        text = Path(directory, "stderr").read_text()
    assert end["timed_out"] or (end["status"], text) == (0, "")
    return not end["timed_out"]


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("ranks", [3, 8])
def test_a_rank_may_finalize_before_the_others(mpich: Installed, early: Path, transport: str, ranks: int) -> None:
    for seconds in PAUSES:
        assert ends(mpich, transport, ranks, str(early), seconds), f"a launch of {seconds} s hung"


def test_without_the_preload_the_same_launch_hangs(mpich: Installed, early: Path) -> None:
    """Without the preloaded library the launch hangs, which shows that the launches with it need it."""
    if not re.search(r"\b4\.[01]\b", mpich.version):
        pytest.skip(f"only MPICH 4.0 and 4.1 wait for a barrier after the close: {mpich.version}")
    assert not all(ends(mpich, "tcp", 3, str(early), "0.5", preload=False, limit=4) for _ in range(3))


def test_launches_with_more_ranks_than_cores_end(mpich: Installed) -> None:
    ranks = 4 * len(os.sched_getaffinity(0))
    program = f"{mpich.apps}/bin/fabricbench-is"
    for transport in ("shm", "tcp"):
        for _ in range(REPEATS):
            assert ends(mpich, transport, min(ranks, 16), program, "--class", "S")
