# SPDX-License-Identifier: Apache-2.0
"""Parses NPB's report: captures of the project's own kernels and NASA's programs, payload by hand, damaged reports."""

import re
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.npb import CLASSES, KERNELS, PROBLEMS, parse, payload
from support.launches import LAUNCHES, launch_of, text_of

OWN = "mpich-tcp-npb-cg"
NASA = "mpich-tcp-nasa-cg"


def parse_text(tmp_path: Path, text: str, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_text(text)
    return parse(tmp_path, launch or launch_of(OWN))


@pytest.mark.parametrize(
    ("name", "benchmark", "case", "values"),
    [
        (OWN, "cg.S", "code=own", {"mops": 4609.05, "run_time": 0.014462, "communication_time": 0.009053}),
        (NASA, "cg.S", "code=nasa", {"mops", "run_time", "communication_time"}),
        ("mpich-tcp-nasa-is", "is.S", "code=nasa", {"mops": 350.51, "communication_time": 0.0013}),
        ("impi-shm-npb-ft", "ft.S", "code=own", {"mops", "run_time", "communication_time"}),
        ("openmpi-tcp-npb-is", "is.S", "code=own", {"mops", "run_time", "communication_time"}),
        ("mpich-tcp-npb-is-alone", "is.S", "code=own", {"mops", "run_time", "communication_time"}),
    ],
)
def test_a_captured_report(name: str, benchmark: str, case: str, values: dict[str, float] | set[str]) -> None:
    rows = parse(LAUNCHES / name, launch_of(name)).rows
    assert {(row.benchmark, row.case, row.msg_size_bytes) for row in rows} == {(benchmark, case, None)}
    result = {row.metric: row.value for row in rows}
    assert (result if isinstance(values, dict) else set(result)) == values


def as_today(text: str) -> str:
    """Returns the report of an own kernel with the first line of today; the captures have NASA's."""
    return re.sub(r" NAS Parallel Benchmarks 3\.4 -- (\w+) Benchmark\n", r" Fabricbench \1 after NPB 3.4\n", text)


@pytest.mark.parametrize("name", [OWN, "impi-shm-npb-ft", "openmpi-tcp-npb-is"])
def test_own_kernels_say_that_they_are_not_nasas(tmp_path: Path, name: str) -> None:
    text = as_today(text_of(name))
    assert text.lstrip("\n").startswith(" Fabricbench ")
    assert parse_text(tmp_path, text, launch_of(name)) == parse(LAUNCHES / name, launch_of(name))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Fabricbench CG after", "Fabricbench FT after", "the end of FT's report, not of CG's"),
        (
            "\n CG Benchmark Completed",
            "\n Fabricbench CG after NPB 3.4\n CG Benchmark Completed",
            "one report, this is",
        ),
    ],
)
def test_a_wrong_head_of_an_own_kernel(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = as_today(text_of(OWN))
    assert old in text
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, text.replace(old, new))


def test_an_own_kernel_is_not_counted_as_nasas_program(tmp_path: Path) -> None:
    launch = launch_of(OWN).model_copy(update={"case": {"code": "nasa"}})
    with pytest.raises(Unreadable, match="stdout:3: expected NASA's program, this is the project's own kernel"):
        parse_text(tmp_path, as_today(text_of(OWN)), launch)


def test_nasas_is_has_no_total_of_communication() -> None:
    """NASA's IS prints only the timer rcomm."""
    values = {
        row.metric: row.value for row in parse(LAUNCHES / "mpich-tcp-nasa-is", launch_of("mpich-tcp-nasa-is")).rows
    }
    assert "totcomm" not in text_of("mpich-tcp-nasa-is")
    assert values["communication_time"] == 0.0013


def test_a_part_of_the_communication_time_is_not_the_total(tmp_path: Path) -> None:
    """CG's timer rcomm contains the row sums only."""
    for name in (OWN, NASA):
        text = "".join(line for line in text_of(name).splitlines(keepends=True) if "totcomm" not in line)
        assert "rcomm" in text
        assert {row.metric for row in parse_text(tmp_path, text, launch_of(name)).rows} == {"mops", "run_time"}


def test_without_timers_there_is_no_communication_time(tmp_path: Path) -> None:
    text = "".join(line for line in text_of(OWN).splitlines(keepends=True) if not line.startswith(" timer"))
    assert {row.metric for row in parse_text(tmp_path, text).rows} == {"mops", "run_time"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("SUCCESSFUL\n Version", "UNSUCCESSFUL\n Version", "a successful verification, not 'UNSUCCESSFUL'"),
        (
            "Active processes=                        2",
            "Active processes=                        1",
            "take part, not 1",
        ),
        ("Total processes =                        2", "Total processes =                        4", "2 ranks, not 4"),
        ("Total processes =                        2\n", "", "the line 'Total processes ='"),
        (
            "Iterations      =                       15",
            "Iterations      =                       75",
            "15 iterations, not",
        ),
        (
            "Size            =                     1400",
            "Size            =                     7000",
            "of class S, 1400",
        ),
        ("Size            =                     1400", "Size            =             20x  7x  10", "of class S, 1400"),
        ("Size            =                     1400", "Size            =                     1_400", "of class S"),
        (
            "Mop/s total     =                  4609.05",
            "Mop/s total     =                     0.00",
            "more than 0 Mop/s",
        ),
        (
            "Version         =",
            "Mop/s total     =                  9999.00\n Version =",
            "one line 'Mop/s total', the f",
        ),
        ("Class           =                        S", "Class           =                        W", "cg.S, not cg.W"),
        ("CG Benchmark Completed", "FT Benchmark Completed", "the end of CG's report, not of FT's"),
        ("CG Benchmark Completed", "IS Benchmark Completed\n CG Benchmark Completed", "the end of CG's report, not"),
        ("-- CG Benchmark\n", "-- FT Benchmark\n", "the end of FT's report, not of CG's"),
        ("CG Benchmark Completed", "XX Benchmark Completed", "the output is cut off"),
        ("Mop/s total     =                  4609.05", "Mop/s total     =                      nan", "a finite number"),
        ("Mop/s total     =                  4609.05", "", "the line 'Mop/s total ='"),
        (
            "Time in seconds =                 0.014462",
            "Time in seconds =                   0.0x",
            "a number, not '0.0x'",
        ),
    ],
)
def test_a_wrong_report_is_unreadable(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = text_of(OWN)
    assert old in text
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, text.replace(old, new))


KEPT = [OWN, NASA, "mpich-tcp-nasa-is", "impi-shm-npb-ft", "openmpi-tcp-npb-is", "mpich-tcp-npb-is-alone"]


@pytest.mark.parametrize("name", KEPT)
def test_two_reports_in_one_output(tmp_path: Path, name: str) -> None:
    """Two consecutive runs, or ranks that each ran alone because they found no MPI world."""
    text = text_of(name)
    closing = text.index(" Benchmark Completed") - 2
    for both, expected in [
        (text + text, "one report, this is the head of another"),
        (text[:closing] + text, "one report, this is the head of another"),
        (text + text[closing:], "one report, this is the end of another"),
        (text.replace(" Time in seconds", " Time in seconds = 1.00\n Time in seconds"), "one line 'Time in seconds'"),
    ]:
        with pytest.raises(Unreadable, match=f"stdout:\\d+: expected {expected}"):
            parse_text(tmp_path, both, launch_of(name))


def test_a_time_printed_as_zero_is_a_skip_and_not_zero_seconds(tmp_path: Path) -> None:
    name = "mpich-tcp-nasa-is"
    assert "Time in seconds =                     0.00\n" in text_of(name)
    (skip,) = parse(LAUNCHES / name, launch_of(name)).skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("is.S", "code=nasa", None)
    assert skip.reason == "run_time printed as 0: class S is too small for the resolution NPB prints"
    parsed = parse_text(tmp_path, text_of(name).replace("0.0013", "0.0000"), launch_of(name))
    assert {row.metric for row in parsed.rows} == {"mops"}
    assert parsed.skips[0].reason.startswith("run_time and communication_time printed as 0: class S")


def test_a_launch_that_skips_its_time_is_complete() -> None:
    record = collect(LAUNCHES / "mpich-tcp-nasa-is")
    assert (record.state, record.reason) == ("ok", "")
    assert {row.metric for row in record.rows} == {"mops", "communication_time"}


def test_one_rank_communicates_for_zero_seconds(tmp_path: Path) -> None:
    name = "mpich-tcp-npb-is-alone"
    parsed = parse_text(tmp_path, text_of(name).replace("0.000006", "0.000000"), launch_of(name))
    assert {row.metric: row.value for row in parsed.rows}["communication_time"] == 0
    assert not parsed.skips


def report_of(kernel: str, problem_class: str, size: str, iterations: int, *, code: str) -> str:
    """Returns a report of two ranks in the layout of the project's own kernels or of NASA's programs."""
    text = text_of(OWN if code == "own" else NASA)
    lines = [line for line in text[text.index(" CG Benchmark Completed") :].splitlines() if "timer" not in line]
    values = {"Class": problem_class, "Size": size, "Iterations": str(iterations)}
    for name, value in values.items():
        lines = [f" {name:<16}={value:>25}" if line.startswith(f" {name} ") else line for line in lines]
    return "\n".join(lines).replace("CG Benchmark", f"{kernel} Benchmark") + "\n"


def test_nasas_timers_of_ft(tmp_path: Path) -> None:
    """The lines are those of NPB 3.4.1 with NPB_TIMER_FLAG=1."""
    timers = """
 timer  1(          total ) :      0.1379      0.1380      0.1379
 timer 10( transpose1_glo ) :      0.0401      0.0651      0.0526
 timer 15(           sync ) :      0.0001      0.0336      0.0168
 timer 17(        totcomp ) :      0.0681      0.0690      0.0686
 timer 18(        totcomm ) :      0.0690      0.0699      0.0694
"""
    launch = launch_of(NASA).model_copy(update={"benchmark": "ft.W"})
    rows = parse_text(tmp_path, report_of("FT", "W", "128x 128x  32", 6, code="nasa") + timers, launch).rows
    assert {row.metric: row.value for row in rows}["communication_time"] == 0.0694


@pytest.mark.parametrize("code", ["own", "nasa"])
@pytest.mark.parametrize(
    ("kernel", "problem_class", "size", "iterations"),
    [
        ("IS", "S", "65536", 10),
        ("IS", "A", "8388608", 10),
        ("IS", "D", "2147483648", 10),
        ("CG", "W", "7000", 15),
        ("CG", "B", "75000", 75),
        ("CG", "D", "1500000", 100),
        ("FT", "S", "64x  64x  64", 6),
        ("FT", "W", "128x 128x  32", 6),
        ("FT", "B", "512x 256x 256", 20),
        ("FT", "D", "2048x1024x1024", 25),
    ],
)
def test_size_and_iterations_follow_from_the_class(
    tmp_path: Path, kernel: str, problem_class: str, size: str, iterations: int, code: str
) -> None:
    """Expected values: NASA's table of problem sizes (NPB 3.4) and the output of the programs."""
    launch = launch_of(OWN).model_copy(update={"benchmark": f"{kernel.lower()}.{problem_class}"})
    text = report_of(kernel, problem_class, size, iterations, code=code)
    assert {row.metric for row in parse_text(tmp_path, text, launch).rows} == {"mops", "run_time"}
    for report in (
        report_of(kernel, problem_class, "1400x   2x   1", iterations, code=code),
        report_of(kernel, problem_class, size, iterations + 1, code=code),
    ):
        with pytest.raises(Unreadable, match=r"stdout:\d+: expected (the size of class|\d+ iterations)"):
            parse_text(tmp_path, report, launch)


@pytest.mark.parametrize("name", KEPT)
def test_damage_is_unreadable_or_harmless(tmp_path: Path, name: str) -> None:
    """Replaces each byte by another digit. Only the measured numbers may change; the parser cannot check them."""
    text, launch = text_of(name), launch_of(name)
    whole = parse_text(tmp_path, text, launch)
    for at, char in enumerate(text):
        if not char.isdigit():
            continue
        line = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)]
        try:
            parsed = parse_text(tmp_path, text[:at] + str((int(char) + 1) % 10) + text[at + 1 :], launch)
        except Unreadable:
            continue
        measured = line.startswith((" Time in seconds", " Mop/s total", " timer"))
        assert measured or parsed == whole, line


def test_a_cut_output_is_unreadable_or_complete(tmp_path: Path) -> None:
    """A cut in the closing form or within a line is Unreadable. Only whole lines of timers may be missing."""
    text = text_of(OWN)
    for length in range(0, text.index(" Version")):
        with pytest.raises(Unreadable):
            parse_text(tmp_path, text[:length])
    for length in range(text.index(" Version"), len(text)):
        if text[length - 1] != "\n":
            with pytest.raises(Unreadable):
                parse_text(tmp_path, text[:length])


def test_payload_by_hand() -> None:
    # IS.S: 65536 keys of 4 bytes, half of which move, ten times. FT.S: 7 transforms of 64^3 points of 16 bytes,
    # half of which move. CG.S: 15 times 26 products, partial sums of 1400 rows exchanged; two dot products a step.
    assert payload("IS", "S", 2).model_dump() == {"bytes": 10 * 4 * 65536 // 2, "messages": 20}
    assert payload("FT", "S", 2).model_dump() == {"bytes": 7 * 16 * 64**3 // 2, "messages": 14}
    assert payload("CG", "S", 2).model_dump() == {"bytes": 15 * 26 * 8 * 1400, "messages": (15 * 26 + 2 * 15 * 25) * 2}
    # On four ranks three quarters of the data move. CG's processor grid is 2 x 2, with two columns as on two ranks.
    assert payload("IS", "S", 4).model_dump() == {"bytes": 10 * 4 * 65536 * 3 // 4, "messages": 80}
    assert payload("FT", "S", 4).bytes == 7 * 16 * 64**3 * 3 // 4
    assert payload("CG", "S", 4).bytes == payload("CG", "S", 2).bytes
    assert payload("CG", "S", 8).bytes == 3 * payload("CG", "S", 2).bytes


def test_a_single_rank_moves_nothing() -> None:
    for kernel in KERNELS:
        for problem_class in CLASSES:
            assert payload(kernel, problem_class, 1).bytes == payload(kernel, problem_class, 1).messages == 0


def test_memory_grows_with_the_class() -> None:
    for kernel in KERNELS:
        sizes = [PROBLEMS[kernel, problem_class].bytes(kernel) for problem_class in CLASSES]
        assert sizes == sorted(sizes)
    assert PROBLEMS["FT", "C"].bytes("FT") == 512**3 * 56
    assert PROBLEMS["IS", "D"].bytes("IS") == 2**31 * 18
    assert PROBLEMS["CG", "A"].bytes("CG") == 14000 * (157 * 28 + 68)
