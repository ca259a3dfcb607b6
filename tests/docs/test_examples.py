# SPDX-License-Identifier: Apache-2.0
"""Executes the examples of the documents as they are printed, in a copy of the repository."""

import csv
import io
import subprocess
from pathlib import Path

import pytest

from fabricbench.runner.reframe import cases
from fabricbench.site.requirements_file import load_requirements
from support.documents import Copy, Document, copy_repository, document
from support.fake_site import REPOSITORY

LANE = "local:tcp"
SHORT = ("-S", "repetitions=40", "-S", "limit_seconds=300")
"""No value is tested; short launches with a long limit end on a loaded machine too."""


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return copy_repository(tmp_path)


def checks_of(copy: Copy, *arguments: str) -> set[tuple[str, str]]:
    """The checks that ReFrame finds, each with a stack."""
    result = copy.reframe(*arguments, "-lC")
    assert result.returncode == 0, result.stdout + result.stderr
    return {(case.check_class, case.stack) for case in cases(result.stdout.splitlines())}


def rows_of(copy: Copy, page: Document, text: str) -> list[dict[str, str]]:
    """The rows that the page's command prints: ``fabricbench table … | grep text``."""
    fabricbench, table, campaign, *options, bar, grep, pattern = page.line_with("fabricbench table", text)
    assert (fabricbench, table, campaign, bar, grep) == ("fabricbench", "table", "campaigns/NAME", "|", "grep")
    result = copy.fabricbench("table", str(copy.campaign), *options)
    assert result.returncode == 0, result.stderr
    return [row for row in csv.DictReader(io.StringIO(result.stdout)) if pattern in ",".join(row.values())]


def try_on_intel(copy: Copy, page: Document, command: str, text: str) -> None:
    """Executes the page's commands on one lane of Intel MPI: the launches pass, and the table has their rows."""
    if not (REPOSITORY / "build/stacks/impi/stack.json").exists():
        pytest.skip("the stack impi is not set up: run `make setup`")
    _, *arguments = page.line_with(command)
    result = copy.reframe(*arguments, "-p", "^impi$", *SHORT, system=LANE)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = rows_of(copy, page, text)
    assert {row["state"] for row in rows} == {"ok"}
    assert {row["fabric"] for row in rows} == {"tcp"}


def test_another_benchmark_of_an_existing_tool(copy: Copy) -> None:
    page = document("add-a-benchmark.md")
    copy.append(page.file("one more leaf check in"), page.code("class ImbOffCache("))
    try_on_intel(copy, page, "reframe -c reframe_checks -n '^ImbOffCache'", "off_cache=true")


def test_a_new_tool(copy: Copy) -> None:
    page = document("add-a-benchmark.md")
    copy.write(page.file("**The leaf check**"), page.code("class PythonPingpong("))
    copy.insert(page.file("**The metric**"), "_ALL = (\n", page.code('Metric("latency_deviation"'))
    copy.write(page.file("**The parser**"), page.code("def parse(directory: Path, launch: Launch) -> Parsed:"))
    try_on_intel(copy, page, "reframe -c reframe_checks -n '^PythonPingpong'", "mpi4py_bench")


def test_an_own_benchmark(tmp_path: Path) -> None:
    """The page's steps in their order, on a build of the copy: source, build list, leaf check, set-up, description."""
    page = document("add-a-benchmark.md")
    copy = copy_repository(tmp_path, own_build=True)
    copy.write(page.file("**The source**"), page.code("class PingPing final"))
    sources = page.file("**The build list**")
    copy.replace(sources, r"^  main\.cpp\n", f"  main.cpp\n  {page.code('benchmarks/pingping.cpp').strip()}\n")
    copy.append("reframe_checks/micro.py", page.code("class MicroPingping(Micro)"))

    _, *arguments = page.line_with("fabricbench setup mpich")
    result = copy.fabricbench(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    program, option, redirection, file = page.line_with("fabricbench-micro --describe")
    assert (option, redirection) == ("--describe", ">")
    description = subprocess.run([copy.root / program, option], capture_output=True, text=True, check=True, timeout=60)
    (copy.root / file).write_text(description.stdout)

    _, *arguments = page.line_with("reframe -c reframe_checks -n '^MicroPingping'")
    result = copy.reframe(*arguments, "-S", "iterations=20", "-S", "limit_seconds=300", system=LANE)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = rows_of(copy, page, "pingping")
    assert {row["state"] for row in rows} == {"ok"}
    assert {row["metric"] for row in rows} == {"latency", "bandwidth"}
    assert {row["msg_size_bytes"] for row in rows} >= {"0", "8", "1048576"}
    _, *arguments, campaign = page.line_with("fabricbench report")
    assert campaign == "campaigns/NAME"
    result = copy.fabricbench(*arguments, str(copy.campaign))
    assert result.returncode == 0, result.stdout + result.stderr
    report = (copy.campaign / "report.html").read_text()
    assert 'id="family-exchange"' in report
    assert "Latency in µs: pingping" in report


def test_a_second_mpich(copy: Copy) -> None:
    page = document("add-a-stack.md")
    before = {check for check, stack in checks_of(copy, "-c", "reframe_checks") if stack == "mpich"}
    copy.insert("site/stacks.py", "for stack in (\n", page.code('name="mpich5"'))
    copy.replace("site/local/settings.py", r"^STACKS = .*\n", page.code("STACKS = ["))
    _, *arguments, run = page.line_with("reframe -c reframe_checks -p '^mpich5$'")
    assert run == "-r"
    assert checks_of(copy, *arguments) == {(check, "mpich5") for check in before}
    doctor = copy.fabricbench("doctor", "--lane", "mpich5@shm", "--lane", "mpich5@tcp")
    assert doctor.returncode in (0, 1), doctor.stderr
    assert [line.split()[0] for line in doctor.stdout.splitlines()] == ["mpich5@shm", "mpich5@tcp"]


def test_a_stack_that_is_already_installed(copy: Copy) -> None:
    page = document("add-a-stack.md")
    copy.insert("site/stacks.py", "for stack in (\n", page.code('name="ourmpi"'))
    copy.replace("site/local/settings.py", r"^STACKS = .*\n", 'STACKS = ["ourmpi"]\n')
    doctor = copy.fabricbench("doctor", "--site")
    assert doctor.returncode == 0, doctor.stderr
    assert {"ourmpi@shm", "ourmpi@tcp"} <= set(doctor.stdout.split())


def test_the_requirements_of_the_page_load(copy: Copy, tmp_path: Path) -> None:
    text = document("verdicts.md").code("- id: shm-beats-tcp")
    file = tmp_path / "requirements.yaml"
    file.write_text(text)
    assert len(load_requirements(file).items) == text.count("- id:")
    (copy.root / "site/local/requirements.yaml").write_text(text)
    doctor = copy.fabricbench("doctor", "--site")
    assert doctor.returncode == 0, doctor.stderr
    assert f"{text.count('- id:')} requirements" in doctor.stdout
