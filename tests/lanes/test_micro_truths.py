# SPDX-License-Identifier: Apache-2.0
"""Tests properties of the project's own benchmarks on real stacks that hold on any machine, even under load.

No test compares a value with that of another launch or with a limit of this machine. Simulated networks
(tests/simulated/test_micro.py) and synthetic samples (tests/parsers/test_micro.py) test the size of the values.
"""

import math
import os
import subprocess
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.tools import imb
from support.micro import STACKS, Values, launch, stack, values_of

MPI = [name for name, entry in STACKS.items() if entry.level == "mpi"]
SHORT, LONG = "queued=0", "queued=4096"

BLOCKING = """
#include <mpi.h>
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return PMPI_Ssend(buffer, count, type, to, tag, comm);
}
"""
"""A library to preload, with which a send returns only after the receiver has the message."""


def measured(directory: Path, name: str, transport: str, benchmark: str, *arguments: str, **extra: str) -> Values:
    process = launch(name, transport, benchmark, *arguments, extra=extra)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    return values_of(process.stdout, directory, benchmark)


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
@pytest.mark.parametrize("benchmark", ["unexpected", "posted"])
def test_the_latency_ratio_refers_to_the_shortest_queue(tmp_path: Path, name: str, benchmark: str) -> None:
    values = measured(
        tmp_path, name, "shm", benchmark, "--sizes", "8", "--queued", "0,4096", "--tags", "different",
        "--iterations", "20", "--warmup", "5",
    )  # fmt: skip
    short, long = (values["latency", f"{queue} tags=different", 8] for queue in (SHORT, LONG))
    assert min(short, long) > 0
    assert values["latency_ratio", f"{SHORT} tags=different", 8] == 1.0
    assert values["latency_ratio", f"{LONG} tags=different", 8] == pytest.approx(long / short, rel=0.01)


EQUIVALENTS = {
    ("pingpong", "latency_mean"): ("PingPong", "latency", ""),
    ("unidirectional", "bandwidth_mean"): ("Uniband", "bandwidth", "window=64"),
    ("bidirectional", "bandwidth_mean"): ("Biband", "bandwidth", "window=64"),
}


@pytest.mark.parametrize(("benchmark", "metric"), EQUIVALENTS)
def test_own_and_intels_benchmarks_have_the_same_cells_and_units(tmp_path: Path, benchmark: str, metric: str) -> None:
    """Both report the metric at the same size and case. The columns of one IMB launch agree that 1 MB is 10^6 bytes,
    independently of the machine's speed."""
    if stack("mpich").imb is None:
        pytest.skip("no IMB-MPI1 runs on this mpich")
    theirs, their_metric, case = EQUIVALENTS[benchmark, metric]
    options = ("--sizes", "64KiB", "--iterations", "20", *(("--window", "64") if case else ()))
    mine = measured(tmp_path, "mpich", "tcp", benchmark, *options)
    other = imbs(tmp_path, theirs, case)
    assert mine[metric, case, 65536] > 0
    assert other[their_metric] > 0
    if case:
        assert other["bandwidth"] == pytest.approx(other["message_rate"] * 65536 / 1e6, rel=0.01)
    else:
        assert other["bandwidth"] == pytest.approx(65536 / other["latency"], rel=0.01)


def imbs(directory: Path, name: str, case: str) -> dict[str, float]:
    """Returns the values of IMB-MPI1 for 64 KiB on mpich@tcp, by metric."""
    bounds = ("-msglog", "16:16", "-iter", "100", "-iter_policy", "off", "-window_size", "64", "-npmin", "2")
    process = launch("mpich", "tcp", name, *bounds, program=str(stack("mpich").imb))
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    (directory / "stdout").write_text(process.stdout)
    facts = {"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "tcp", "transport": "tcp", "stack": "mpich"}
    facts |= {"tool": "imb", "benchmark": name.lower(), "ranks": 2, "nodes": 1, "limit_seconds": 1, "argv": bounds}
    facts |= {"case": {"window": 64} if case else {}}
    rows = imb.parse(directory, Launch.model_validate(facts)).rows
    assert {row.case for row in rows} == {case}
    return {row.metric: row.value for row in rows if row.msg_size_bytes == 65536}


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_overlap_on_a_stack_whose_sends_block(tmp_path: Path, name: str) -> None:
    """The run is verified and the value is finite. Tests on synthetic samples check that such a stack has no overlap,
    because a busy machine disturbs the estimate."""
    source, shim = tmp_path / "blocking.c", tmp_path / "blocking.so"
    source.write_text(BLOCKING)
    compiler = f"{stack(name).prefix}/bin/mpicc"
    if not Path(compiler).exists():
        pytest.skip(f"{name} has no mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source)], check=True, timeout=60)
    values = measured(
        tmp_path, name, "tcp", "overlap", "--side", "sender", "--sizes", "1MiB", "--iterations", "64",
        LD_PRELOAD=f"{shim}:{stack(name).variables(STACKS[name], 'tcp').get('LD_PRELOAD', '')}",
    )  # fmt: skip
    assert {key for key in values if key[0] == "overlap"} == {("overlap", "side=sender", 2**20)}
    assert math.isfinite(values["overlap", "side=sender", 2**20])


@pytest.mark.parametrize("name", MPI)
def test_a_full_queue_skips_that_length(tmp_path: Path, name: str) -> None:
    process = launch(
        name, "shm", "unexpected", "--sizes", "8", "--queued", "0,16,64", "--tags", "equal", "--iterations", "5",
        extra={"FABRICBENCH_MICRO_FAULT": "exhaust:20"},
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    values = values_of(process.stdout, tmp_path, "unexpected")
    assert {case for metric, case, _ in values if metric == "latency"} == {
        "queued=0 tags=equal",
        "queued=16 tags=equal",
    }
    assert "#@skipped.queued:64,tags:equal.8=" in process.stdout


def test_sizes_beyond_memory_are_rejected(tmp_path: Path) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    size = min(2**31 - 1, memory // 8)
    if 16 * size < memory:
        pytest.skip("16 buffers of the largest message fit into this machine's memory")
    process = launch("mpich", "shm", "plogp", "--sizes", str(size))
    assert (process.returncode, process.stdout) == (2, "")
    assert "exceed three quarters of its memory; give smaller sizes" in process.stderr
