# SPDX-License-Identifier: Apache-2.0
"""Tests attestation per message size on real stacks, also on one that sends small collectives through memory."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fabricbench.attestation.rules import attest
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Attestation
from fabricbench.launch.witness import interval_traffic, printed_lines, read_reports, traffic
from fabricbench.parsers.tools import imb, micro
from support.micro import launch, stack

SIZES = (8, 1024, 16384, 262144)
WIREUP = {"launch": "w", "bytes": 5000, "segments": 60}
MPI = ("impi", "mpich", "openmpi")


def attested(
    directory: Path, name: str, tool: str, benchmark: str, program: str, *arguments: str, **extra: str
) -> Attestation:
    """Returns the attestation of a program on two ranks of the lane tcp, with the witness preloaded."""
    installed = stack(name)
    preloaded = f"{installed.apps}/lib/libfabricbench_witness.so:{installed.apps}/lib/libfabricbench_ucx_close.so"
    reports = directory / "reports"
    reports.mkdir()
    variables: Mapping[str, str] = {"FABRICBENCH_WITNESS_DIR": str(reports), **extra}
    argv = (program, *arguments)
    process = launch(name, "tcp", f"LD_PRELOAD={preloaded}", *argv, program="env", extra=variables)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    (directory / "stdout").write_text(process.stdout)
    facts = Launch.model_validate(
        {
            **{"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "tcp", "transport": "tcp", "stack": name},
            **{"tool": tool, "benchmark": benchmark, "nodes": 1, "ranks": 2, "argv": argv, "limit_seconds": 1},
            "wireup": WIREUP,
        }
    )
    parsed = (micro if tool == "micro" else imb).parse(directory, facts)
    result = read_reports(reports)
    if len(result) < 2:
        pytest.skip("a rank was killed before it wrote its report (docs/coverage.md, Limits)")
    return attest(
        facts,
        traffic(result, 2),
        parsed.payload,
        parts=parsed.parts,
        intervals=interval_traffic(result),
        lines=printed_lines(result),
    )


def own(directory: Path, name: str, benchmark: str, **extra: str) -> Attestation:
    program = f"{stack(name).apps}/bin/fabricbench-micro"
    sizes = ",".join(map(str, SIZES))
    return attested(
        directory, name, "micro", benchmark, program, benchmark, "--sizes", sizes, "--iterations", "100", **extra
    )


def intels(directory: Path, name: str, benchmark: str, **extra: str) -> Attestation:
    if (program := stack(name).imb) is None:
        pytest.skip(f"no IMB-MPI1 runs on this {name}")
    sizes = directory / "sizes"
    sizes.write_text("".join(f"{size}\n" for size in SIZES))
    arguments = ("-npmin", "2", "-msglen", str(sizes), "-iter_policy", "off", "-iter", "400")
    return attested(directory, name, "imb", benchmark.lower(), program, benchmark, *arguments, **extra)


@pytest.mark.parametrize("name", MPI)
@pytest.mark.parametrize("benchmark", ["pingpong", "allreduce", "put"])
def test_own_programs_mark_every_size(tmp_path: Path, name: str, benchmark: str) -> None:
    result = own(tmp_path, name, benchmark)
    assert (result.state, result.basis) == ("attested", "marks"), result.reason
    assert {one.part.msg_size_bytes for one in result.parts} == set(SIZES)
    assert result.could_bypass == ()


def test_barriers_on_sockets_do_not_attest_a_broadcast_through_memory(tmp_path: Path) -> None:
    result = own(tmp_path, "impi", "bcast", I_MPI_COLL_INTRANODE="shm", I_MPI_ADJUST_BARRIER="1")
    states = {one.part.msg_size_bytes: one.state for one in result.parts}
    assert (result.state, states[8], states[1024]) == ("refuted", "refuted", "refuted"), result


@pytest.mark.parametrize("name", ["impi", "mpich"])
@pytest.mark.parametrize("benchmark", ["PingPong", "Allreduce"])
def test_output_lines_separate_the_sizes_of_intels_benchmarks(tmp_path: Path, name: str, benchmark: str) -> None:
    result = intels(tmp_path, name, benchmark)
    assert (result.state, result.basis) == ("attested", "lines"), result.reason
    assert {one.part.msg_size_bytes for one in result.parts} == set(SIZES)


@pytest.mark.parametrize(("run", "benchmark"), [(own, "allreduce"), (intels, "Allreduce")])
def test_small_collectives_through_memory_are_refuted_and_large_ones_on_sockets_attested(
    tmp_path: Path, run: object, benchmark: str
) -> None:
    """Without I_MPI_COLL_INTRANODE=pt2pt Intel MPI uses memory for small collectives and sockets for large ones."""
    assert callable(run)
    result = run(tmp_path, "impi", benchmark, I_MPI_COLL_INTRANODE="shm")
    assert isinstance(result, Attestation)
    states = {one.part.msg_size_bytes: one.state for one in result.parts}
    assert (result.state, states[8], states[SIZES[-1]]) == ("refuted", "refuted", "attested"), result
