# SPDX-License-Identifier: Apache-2.0
"""Tests that the witness's report is complete and that the witness does not affect the program."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.witnessed import Run, environment, reports


def test_report_is_complete(run: Run, victim: Path) -> None:
    (report,) = run("once")
    assert list(report) == [
        "schema", "host", "rank", "world_size", "pid", "forked", "exe", "ended", "cpus", "cpus_at_end", "cpu_seconds",
        "sockets", "dropped", "intervals", "dropped_marks", "lines", "udp_sockets", "unix_sockets", "devices",
        "libraries", "shared_maps",
    ]  # fmt: skip
    assert (report["schema"], report["host"]) == (1, socket.gethostname())
    assert (report["rank"], report["world_size"]) == (None, None)
    assert (report["exe"], report["ended"], report["forked"]) == (str(victim), "exit", False)
    assert (report["intervals"], report["dropped_marks"], report["lines"]) == ([], 0, [])
    assert report["dropped"] == {"sockets": 0, "tx_bytes": 0, "rx_bytes": 0, "tx_segs": 0, "rx_segs": 0}
    assert (report["devices"], report["libraries"]) == ([], [])


@pytest.mark.parametrize("name", ["libfabric.so.1", "libtcp-fi.so", "mca_btl_tcp.so", "libfabricbench_x.so"])
def test_transport_libraries(run: Run, tmp_path: Path, witness: Path, name: str) -> None:
    library = tmp_path / name
    source = tmp_path / "empty.c"
    source.write_text("int fabricbench_test_nothing;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    (report,) = run("once", extra={"LD_PRELOAD": f"{witness} {library}"})
    assert report["libraries"] == ([] if "fabricbench" in name else [name])


@pytest.mark.parametrize(
    ("variables", "rank", "size"),
    [
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "SLURM_PROCID": "9", "SLURM_NTASKS": "9"}, 3, 4),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"}, 1, 2),
        ({"PMIX_RANK": "5"}, 5, None),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "16"}, 0, 16),
        ({"PMI_RANK": "../x", "PMI_SIZE": "-1"}, None, None),
    ],
)
def test_the_rank_comes_from_the_launchers_variables(
    run: Run, tmp_path: Path, variables: dict[str, str], rank: int, size: int | None
) -> None:
    (report,) = run("once", extra=variables)
    assert (report["rank"], report["world_size"]) == (rank, size)
    name = f"witness.{socket.gethostname()}.{'x' if rank is None else rank}.json"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


def test_an_existing_report_is_kept(run: Run, tmp_path: Path) -> None:
    (first,) = run("once")
    second = next(report for report in run("close", 42) if report != first)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    host = socket.gethostname()
    assert names == {f"witness.{host}.x.json", f"witness.{host}.x.{second['pid']}.json"}


def test_directory_may_be_relative_and_survives_a_cleared_environment(
    witness: Path, victim: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    subprocess.run([victim, "unsetenv"], env=environment(witness, Path("out")), cwd=tmp_path, check=True)
    assert len(reports(tmp_path / "out")) == 1


def processors_of(cpus: str) -> set[int]:
    """Converts a CPU list such as ``0-3,8`` to a set."""
    ranges = [[int(number) for number in part.split("-")] for part in cpus.split(",")]
    return {cpu for first, *last in ranges for cpu in range(first, (last or [first])[0] + 1)}


def test_processors_at_start_and_end(witness: Path, tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    program = (
        "import os, time\nwhile time.process_time() < 0.2: pass\n"
        "os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})"
    )
    subprocess.run([sys.executable, "-c", program], env=environment(witness, tmp_path), check=True, timeout=60)
    (report,) = reports(tmp_path)
    assert processors_of(report["cpus"]) == allowed
    assert report["cpus_at_end"] == (None if len(allowed) == 1 else str(max(allowed)))
    assert 0.2 <= report["cpu_seconds"] < 30


@pytest.mark.parametrize("out", [None, "missing", "file", "long"])
def test_the_program_is_unaffected(witness: Path, victim: Path, tmp_path: Path, out: str | None) -> None:
    (tmp_path / "file").write_text("")
    directory = tmp_path / ("x" * 300 if out == "long" else out) if out else None
    plain = subprocess.run([victim, "close"], capture_output=True, timeout=60)
    env = environment(witness, directory)
    watched = subprocess.run([victim, "close"], env=env, cwd=tmp_path, capture_output=True, timeout=60)
    assert plain.returncode == watched.returncode == 42
    assert plain.stdout == watched.stdout != b""
    assert plain.stderr == watched.stderr == b""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_read_only_directory_prints_nothing(witness: Path, victim: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        directory = Path("/proc")  # even root cannot create a file there
    else:
        directory = tmp_path
        directory.chmod(0o555)
    process = subprocess.run([victim, "once"], env=environment(witness, directory), capture_output=True, timeout=60)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


def test_hostile_program_name(witness: Path, victim: Path, tmp_path: Path) -> None:
    name = b'a "quoted"\\\n\x01\x7f\xff\xed\xa0\x80 \xc3\xa9'
    copy = os.fsencode(tmp_path) + b"/" + name
    shutil.copy(os.fsencode(victim), copy)
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run([copy, b"once"], env=environment(witness, out), check=True, timeout=60)
    (report,) = reports(out)
    assert report["exe"] == str(tmp_path) + '/a "quoted"\\\n\x01\x7f' + "\N{REPLACEMENT CHARACTER}" * 4 + " é"


def test_reports_of_helper_programs_are_recognisable(witness: Path, tmp_path: Path) -> None:
    program = "import subprocess; subprocess.run(['/bin/sh', '-c', 'exit 0'])"
    env = environment(witness, tmp_path, PMI_RANK="0")
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=60)
    shell, python = sorted(reports(tmp_path), key=lambda report: "python" in report["exe"])
    assert shell["exe"] == os.path.realpath("/bin/sh")
    assert python["exe"] == os.path.realpath(sys.executable)
    assert shell["pid"] != python["pid"]


def test_only_the_interposed_symbols_are_exported(witness: Path) -> None:
    command = ["nm", "-D", "--defined-only", str(witness)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    names = {line.split()[-1] for line in lines}
    sockets = {"close", "close_range", "closefrom", "dup2", "dup3", "shutdown"}
    printing = {"__fprintf_chk", "__printf_chk", "fflush", "fprintf", "printf"}
    assert names == {*sockets, *printing, "_Exit", "_exit", "fabricbench_mark"}
