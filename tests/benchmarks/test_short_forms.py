# SPDX-License-Identifier: Apache-2.0
"""Every benchmark of this folder runs to its end in a short form and prints its table. No time is asserted.

The benchmarks run within this process, which saves the start of Python. That of SimGrid's programs is in
tests/simulated/test_npb_messages.py, beside the tests with the same programs.
"""

import io
import os
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks import npb_speed
from fabricbench.site.settings import lanes
from support import source_trees
from support.fake_site import REPOSITORY, FakeSite
from support.hostile import make_campaign
from support.micro import stack
from support.processes import clean_environment

FOLDER = Path(__file__).parent
ELSEWHERE = FOLDER.with_name("simulated") / "test_npb_messages.py"
NUMBER = r"-?\d+\.\d+"


def run(name: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs ``python -m benchmarks.NAME`` with these arguments."""
    words, output, errors = [name, *arguments], io.StringIO(), io.StringIO()
    status: str | int | None = 0
    with (
        patch.dict(os.environ, {**clean_environment(), "PYTHONPATH": "tests", **variables}, clear=True),
        patch.object(sys, "argv", words),
        chdir(REPOSITORY),
        redirect_stdout(output),
        redirect_stderr(errors),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # this process may have imported the module
        try:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        except SystemExit as ended:
            status = ended.code
            if isinstance(status, str):
                print(status, file=errors)
                status = 1
    return subprocess.CompletedProcess(words, int(status or 0), output.getvalue(), errors.getvalue())


def rows_of(name: str, *arguments: str, **variables: str) -> list[list[str]]:
    """Returns the cells of the Markdown table that a benchmark prints, without the header."""
    result = run(name, *arguments, **variables)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines() if line[:1] == "|"
    ]
    assert all(set(cell) == {"-"} for cell in rows[1])
    assert {len(row) for row in rows} == {len(rows[0])}
    return rows[2:]


def nasa_programs(directory: Path, kernels: list[str]) -> Path:
    """Puts the project's own kernels under the names of NASA's programs."""
    apps = stack("mpich").apps
    for kernel in kernels:
        program = directory / f"{kernel}.S.x"
        program.write_text(f'#!/bin/sh\nexec "{apps}/bin/fabricbench-{kernel}" --class S\n')
        program.chmod(0o755)
    return directory


def test_launch_overhead() -> None:
    stack("mpich")
    rows = rows_of("launch_overhead", "--pairs", "1", "--launches", "1")
    assert [row[0] for row in rows] == ["bare ReFrame", "Fabricbench", "added"]
    assert all(re.fullmatch(rf"{NUMBER} s", row[1]) for row in rows)
    assert all(row[2:] == ["-", "1"] for row in rows)


def test_witness_cost_on_every_ready_mpi_lane() -> None:
    """Libraries below MPI have no mpirun, so their lanes are excluded."""
    stack("mpich")
    rows = rows_of("witness_cost", "--pairs", "1", "--iterations", "20")
    lanes = {row[0].partition(",")[0] for row in rows}
    assert {"mpich@shm", "mpich@tcp"} <= lanes
    assert {lane.partition("@")[0] for lane in lanes} <= {"impi", "mpich", "openmpi"}
    assert [row[0] for row in rows] == [
        f"{lane}, {size} B" for lane in sorted(lanes, key=list_of(rows)) for size in SIZES
    ]
    assert all(re.fullmatch(NUMBER, row[1]) for row in rows)


def test_profiler_cost_of_calls_and_of_a_kernel() -> None:
    stack("mpich")
    result = run("profiler_cost", "--pairs", "1", "--lane", "mpich@shm", "--class", "S")
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()]
    measured = {row[0]: row[1] for row in rows if row[0].startswith("mpich@shm, fabricbench")}
    assert set(measured) == {f"mpich@shm, fabricbench, {what}" for what in ("probe", "message", "cg.S")}
    assert re.fullmatch(rf"{NUMBER} ns more", measured["mpich@shm, fabricbench, probe"])
    assert re.fullmatch(rf"{NUMBER} times", measured["mpich@shm, fabricbench, cg.S"])


SIZES = (8, 4096, 65536)


def list_of(rows: list[list[str]]) -> Callable[[str], int]:
    order = list(dict.fromkeys(row[0].partition(",")[0] for row in rows))
    return order.index


def test_measuring_speed() -> None:
    if stack("mpich").imb is None:
        pytest.skip("no IMB-MPI1 runs on this mpich")
    short = ("--pairs", "2", "--lane", "mpich@shm", "--largest", "65536")
    rows = rows_of("measuring_speed", *short)
    assert [row[0] for row in rows] == [
        "mpich@shm, time of a launch",
        "mpich@shm, spread between launches at 8 B",
        "mpich@shm, spread between launches at 65536 B",
    ]
    assert re.fullmatch(NUMBER, rows[0][1])
    assert all(re.fullmatch(rf"{NUMBER}|-", row[1]) for row in rows)


def test_command_speed(tmp_path: Path) -> None:
    campaign = make_campaign(tmp_path / "campaign")
    checkouts = (str(REPOSITORY), str(REPOSITORY))
    rows = rows_of("command_speed", *checkouts, str(campaign), "--pairs", "1", "--command=--help", "--command=judge")
    names = [f"{command}, {what}" for command in ("--help", "judge") for what in ("user CPU time", "elapsed time")]
    assert [row[0] for row in rows] == names
    assert all(re.fullmatch(NUMBER, row[1]) for row in rows)


def test_dry_run_counts_the_launches_of_a_block() -> None:
    result = run("dry_run", "--nodes", "8", "--cores", "4", "--tier", "quick")
    assert re.match(
        r"8 nodes of 4 cores: [1-9]\d* launches a block, \d+ skips, listed in \d+\.\d s\n", result.stdout
    ), result
    assert re.search(r"^\d+ blocks: at most \S+ h, \S+ node-hours$", result.stdout, re.MULTILINE)
    assert "Traceback" not in result.stderr


def test_campaign_growth() -> None:
    rows = rows_of("campaign_growth", "--nodes", "10", "--cores", "8", "--launches", "1")
    commands = ("table, first", "table", "judge", "report")
    assert [row[0] for row in rows] == [f"{command}, {unit}" for command in commands for unit in ("s", "MB")]
    assert all(re.fullmatch(rf"{NUMBER}|\d+", cell) for row in rows for cell in row[1:])


@pytest.mark.parametrize(("name", "values"), [("npb_speed", r"\d+"), ("npb_memory", r"\d+")])
def test_kernels_against_others(tmp_path: Path, name: str, values: str) -> None:
    kernels = [k for k in ("is", "cg") if Path(stack("mpich").apps, f"bin/fabricbench-{k}").exists()]
    pairs = ("--pairs", "1") if name == "npb_speed" else ()
    options = ("--classes", "S", "--ranks", "1,2", "--kernels", ",".join(kernels), *pairs)
    rows = rows_of(name, str(nasa_programs(tmp_path, kernels)), *options)
    assert [row[0] for row in rows] == [f"{kernel.upper()}.S, {ranks}" for kernel in kernels for ranks in (1, 2)]
    assert all(re.fullmatch(values, row[1]) for row in rows)


def test_speed_names_processor_builds_and_flags(tmp_path: Path) -> None:
    """The programs in place of NASA's are the own kernels, which have the flags of the own kernels."""
    result = run("npb_speed", str(nasa_programs(tmp_path, ["is"])), "--classes", "S", "--ranks", "1", "--kernels", "is",
                 "--pairs", "2")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert re.match(r"Processor: .+\. Lane: mpich@shm\. The own kernels are built for: \S.*\.\n", result.stdout)
    (row,) = (line.strip("| ").split(" | ") for line in result.stdout.splitlines() if line.startswith("| IS.S, 1"))
    assert re.fullmatch(NUMBER, row[3])
    assert re.fullmatch(NUMBER, row[5])
    assert row[-1] == "2"


def test_speed_builds_nasas_programs_with_each_of_the_flags(
    site: FakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_trees.describe(site)
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    lane = next(lane for lane in lanes("fake") if lane.installed is not None)
    assert lane.installed is not None
    tree = source_trees.make_tree(tmp_path / "NPB3.4.3", "npb", "3.4.3")
    folders = npb_speed.build_each(lane.stack, lane.installed, tree, "S", tmp_path / "work")
    contents = [(folder / "is.S.x").read_text().split() for folder in folders]
    assert contents == [[*flags.split(), "-fno-common"] for flags in npb_speed.FLAGS]
    assert "npb" not in lane.installed.sources
    runs = [npb_speed.Run(2.0, 1.0, "-O3")], [npb_speed.Run(1.0, 2.0, "-O3"), npb_speed.Run(4.0, 0.5, "-O2")]
    assert npb_speed.table_row("IS.S, 1", [runs]).split(" | ")[3:7] == ["0.500", "-", "2.000", "-"]


def test_energy_scatter(water: Path) -> None:
    inputs = {"FABRICBENCH_GROMACS_INPUTS": str(water)}
    rows = rows_of("energy_scatter", "water", "--ranks", "1,2", "--threads", "1", **inputs)
    assert [(system, ranks, threads) for system, ranks, threads, *_ in rows] == [("water", n, "1") for n in ("1", "2")]
    for *_, first, last, alike in rows:
        assert all(re.fullmatch(r"\d\.\de[-+]\d\d", deviation) for deviation in (first, last))
        assert alike in ("yes", "no")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("witness_cost", ("--lane", "libfabric@shm"), r"libfabric@shm: libfabric is a library below MPI.*\n"),
        ("witness_cost", ("--lane", "mpihc@shm"), r"unknown lane 'mpihc@shm'.*\n"),
        ("measuring_speed", ("--lane", "openmpi@shm"), r"openmpi@shm has no IMB-MPI1: .*\n"),
        ("measuring_speed", ("--largest", "8"), r"--largest 8: expected at least 65536 bytes.*\n"),
        ("launch_overhead", ("--lane", "ucx@tcp"), r"ucx@tcp: ucx is a library below MPI.*\n"),
        ("npb_speed", (".", "--lane", "verbs@shm"), r"verbs@shm: verbs is a library below MPI.*\n"),
        ("energy_scatter", ("vilin",), r".*'vilin'.*villin.*\n"),
        ("command_speed", (".", "tests"), r".*/tests: no checkout of Fabricbench; expected .*\n"),
        ("command_speed", (".", ".", "--command=jugde"), r"unknown command 'jugde'; expected one of --help, doctor\n"),
    ],
)
def test_a_benchmark_that_cannot_run_prints_one_line_of_reason(
    name: str, arguments: tuple[str, ...], message: str
) -> None:
    stack("openmpi")
    result = run(name, *arguments)
    assert result.returncode == 1
    assert re.fullmatch(message, result.stderr), result.stderr


@pytest.mark.parametrize(("what", "columns"), [("alarms", 10), ("power", 6)])
def test_the_rates_of_named_nodes(what: str, columns: int) -> None:
    result = run("slow_nodes", what, "4", "1")
    assert result.returncode == 0, result.stderr
    (row,) = (line for line in result.stdout.splitlines() if line.startswith("| 4 | 1 |"))
    assert len(row.strip("|").split("|")) == columns


def test_every_benchmark_has_a_short_form() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text()} - {Path(__file__).stem}
    text = Path(__file__).read_text() + ELSEWHERE.read_text()
    calls = re.findall(r'(?:run|rows_of)\("(\w+)"|\("(npb_\w+)", r', text)
    assert {one or other for one, other in calls} == modules


def test_make_benchmarks_names_benchmarks_that_exist() -> None:
    names = re.findall(r"-m benchmarks\.(\w+)", (REPOSITORY / "Makefile").read_text())
    assert len(names) >= 3
    assert all((FOLDER / f"{name}.py").exists() for name in names)
