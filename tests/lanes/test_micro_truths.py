# SPDX-License-Identifier: Apache-2.0
"""What the own benchmarks must say of real stacks: only what holds on any machine, however busy."""

import os
import subprocess
from pathlib import Path

import pytest

from fabricbench.core.launch import Launch
from fabricbench.parsers import imb
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
"""A stack whose sends do not return before the receiver has the message."""


def measured(directory: Path, name: str, transport: str, benchmark: str, *arguments: str, **extra: str) -> Values:
    done = launch(name, transport, benchmark, *arguments, extra=extra)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return values_of(done.stdout, directory, benchmark)


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
@pytest.mark.parametrize("benchmark", ["unexpected", "posted"])
def test_a_long_queue_takes_longer_to_pass(tmp_path: Path, name: str, benchmark: str) -> None:
    """Debian's MPICH and Open MPI search their queues entry by entry."""
    if stack(name).source != "debian":
        pytest.skip(f"what PyPI's {name} does is not known")
    values = measured(
        tmp_path, name, "shm", benchmark, "--sizes", "8", "--queued", "0,4096", "--tags", "different",
        "--iterations", "100", "--warmup", "20",
    )  # fmt: skip
    assert values["latency_ratio", f"{SHORT} tags=different", 8] == 1.0
    assert values["latency_ratio", f"{LONG} tags=different", 8] > 1.5


ALIKE = {
    ("pingpong", "latency_mean"): ("PingPong", "latency", ""),
    ("unidirectional", "bandwidth_mean"): ("Uniband", "bandwidth", "window=64"),
    ("bidirectional", "bandwidth_mean"): ("Biband", "bandwidth", "window=64"),
}


@pytest.mark.parametrize(("benchmark", "metric"), ALIKE)
def test_own_and_intels_benchmarks_agree(tmp_path: Path, benchmark: str, metric: str) -> None:
    """Within a factor of four on one lane: they measure the same thing in the same unit. Of three launches each the
    fastest, so that a busy machine does not matter: it only ever slows."""
    if stack("mpich").imb is None:
        pytest.skip("no IMB-MPI1 runs on this mpich")
    theirs, their_metric, case = ALIKE[benchmark, metric]
    options = ("--sizes", "64KiB", "--iterations", "200", *(("--window", "64") if case else ()))
    fastest = max if "bandwidth" in metric else min
    mine = fastest(measured(tmp_path, "mpich", "tcp", benchmark, *options)[metric, case, 65536] for _ in range(3))
    other = fastest(imbs(tmp_path, theirs, their_metric, case) for _ in range(3))
    assert 0.25 < mine / other < 4


def imbs(directory: Path, name: str, metric: str, case: str) -> float:
    """What a launch of IMB-MPI1 says of 64 KiB on mpich@tcp."""
    bounds = ("-msglog", "16:16", "-iter", "100", "-iter_policy", "off", "-window_size", "64", "-npmin", "2")
    done = launch("mpich", "tcp", name, *bounds, program=str(stack("mpich").imb))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (directory / "stdout").write_text(done.stdout)
    facts = {"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "tcp", "transport": "tcp", "stack": "mpich"}
    facts |= {"tool": "imb", "benchmark": name.lower(), "ranks": 2, "nodes": 1, "limit_seconds": 1, "argv": bounds}
    facts |= {"case": {"window": 64} if case else {}}
    rows = imb.parse(directory, Launch.model_validate(facts)).rows
    (value,) = [row.value for row in rows if (row.metric, row.msg_size_bytes) == (metric, 65536)]
    return value


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_stack_that_blocks_hides_nothing(tmp_path: Path, name: str) -> None:
    source, shim = tmp_path / "blocking.c", tmp_path / "blocking.so"
    source.write_text(BLOCKING)
    compiler = f"{stack(name).prefix}/bin/mpicc"
    if not Path(compiler).exists():
        pytest.skip(f"{name} has no mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source)], check=True, timeout=60)
    seen = []
    for _ in range(3):  # a machine that stalls within a launch shows anything
        values = measured(
            tmp_path, name, "tcp", "overlap", "--side", "sender", "--sizes", "1MiB", "--iterations", "640",
            LD_PRELOAD=f"{shim}:{stack(name).variables(STACKS[name], 'tcp').get('LD_PRELOAD', '')}",
        )  # fmt: skip
        seen.append(values["overlap", "side=sender", 2**20])
        if abs(seen[-1]) < 0.4:
            return
    raise AssertionError(f"overlap {seen}")


@pytest.mark.parametrize("name", MPI)
def test_a_full_queue_is_a_gap_of_that_length(tmp_path: Path, name: str) -> None:
    done = launch(
        name, "shm", "unexpected", "--sizes", "8", "--queued", "0,16,64", "--tags", "equal", "--iterations", "5",
        extra={"FABRICBENCH_MICRO_FAULT": "exhaust:20"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    values = values_of(done.stdout, tmp_path, "unexpected")
    assert {case for metric, case, _ in values if metric == "latency"} == {
        "queued=0 tags=equal",
        "queued=16 tags=equal",
    }
    assert "#@gap.queued:64,tags:equal.8=" in done.stdout


def test_sizes_beyond_memory_are_refused(tmp_path: Path) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    size = min(2**31 - 1, memory // 8)
    if 16 * size < memory:
        pytest.skip("16 buffers of the largest message fit into this machine's memory")
    done = launch("mpich", "shm", "plogp", "--sizes", str(size))
    assert (done.returncode, done.stdout) == (2, "")
    assert "exceed three quarters of its memory; give smaller sizes" in done.stderr
