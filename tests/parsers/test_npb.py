# SPDX-License-Identifier: Apache-2.0
"""NPB's report: captures of the own kernels and of NASA's programs, payload by hand, everything cut or wrong."""

from pathlib import Path

import pytest

from fabricbench.core.launch import Launch
from fabricbench.parsers.npb import CLASSES, KERNELS, PROBLEMS, parse, payload
from fabricbench.parsers.output import Parsed, Unreadable

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
OWN = "mpich-tcp-npb-cg"
NASA = "mpich-tcp-nasa-cg"


def launch_of(name: str = OWN) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes())


def text_of(name: str = OWN) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, text: str, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_text(text)
    return parse(tmp_path, launch or launch_of())


@pytest.mark.parametrize(
    ("name", "benchmark", "case", "values"),
    [
        (OWN, "cg.S", "", {"mops": 4609.05, "run_time": 0.014462, "communication_time": 0.009053}),
        (NASA, "cg.S", "code=nasa", {"mops", "run_time", "communication_time"}),
        ("mpich-tcp-nasa-is", "is.S", "code=nasa", {"mops", "run_time", "communication_time"}),
        ("impi-shm-npb-ft", "ft.S", "", {"mops", "run_time", "communication_time"}),
        ("openmpi-tcp-npb-is", "is.S", "", {"mops", "run_time", "communication_time"}),
        ("mpich-tcp-npb-is-alone", "is.S", "", {"mops", "run_time", "communication_time"}),
    ],
)
def test_a_captured_report(name: str, benchmark: str, case: str, values: dict[str, float] | set[str]) -> None:
    rows = parse(LAUNCHES / name, launch_of(name)).rows
    assert {(row.benchmark, row.case, row.msg_size_bytes) for row in rows} == {(benchmark, case, None)}
    found = {row.metric: row.value for row in rows}
    assert (found if isinstance(values, dict) else set(found)) == values


def test_nasas_is_has_no_total_of_communication() -> None:
    """Its timer rcomm is all there is."""
    found = {
        row.metric: row.value for row in parse(LAUNCHES / "mpich-tcp-nasa-is", launch_of("mpich-tcp-nasa-is")).rows
    }
    assert "totcomm" not in text_of("mpich-tcp-nasa-is")
    assert found["communication_time"] == 0.0013


def test_without_timers_there_is_no_communication_time(tmp_path: Path) -> None:
    text = "".join(line for line in text_of().splitlines(keepends=True) if not line.startswith(" timer"))
    assert {row.metric for row in parse_text(tmp_path, text).rows} == {"mops", "run_time"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("SUCCESSFUL\n Version", "UNSUCCESSFUL\n Version", "a successful verification, not 'UNSUCCESSFUL'"),
        ("Active processes=                        2", "Active processes=                        1", "2 ranks, not 1"),
        ("Class           =                        S", "Class           =                        W", "cg.S, not cg.W"),
        ("CG Benchmark Completed", "FT Benchmark Completed", "cg.S, not ft.S"),
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
def test_what_is_wrong_is_unreadable(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = text_of()
    assert old in text
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, text.replace(old, new))


def test_an_output_cut_anywhere_never_yields_a_row_too_few(tmp_path: Path) -> None:
    """Unreadable within the closing form and within a line; after it only whole lines of timers can be missing."""
    text = text_of()
    for length in range(0, text.index(" Version")):
        with pytest.raises(Unreadable):
            parse_text(tmp_path, text[:length])
    for length in range(text.index(" Version"), len(text)):
        if text[length - 1] != "\n":
            with pytest.raises(Unreadable):
                parse_text(tmp_path, text[:length])


def test_payload_by_hand() -> None:
    # IS.S: 65536 keys of 4 bytes, half of them another's, ten times. FT.S: 7 transforms of 64^3 points of 16 bytes,
    # half of them another's. CG.S: 15 times 26 products, partial sums of 1400 rows exchanged; two dot products a step.
    assert payload("IS", "S", 2).model_dump() == {"bytes": 10 * 4 * 65536 // 2, "messages": 20}
    assert payload("FT", "S", 2).model_dump() == {"bytes": 7 * 16 * 64**3 // 2, "messages": 14}
    assert payload("CG", "S", 2).model_dump() == {"bytes": 15 * 26 * 8 * 1400, "messages": (15 * 26 + 2 * 15 * 25) * 2}
    # four ranks: three quarters are others'; CG's processor grid is 2 x 2, so it still has two columns
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
        needed = [PROBLEMS[kernel, problem_class].bytes(kernel) for problem_class in CLASSES]
        assert needed == sorted(needed)
    assert PROBLEMS["FT", "C"].bytes("FT") == 512**3 * 56
    assert PROBLEMS["IS", "D"].bytes("IS") == 2**31 * 18
    assert PROBLEMS["CG", "A"].bytes("CG") == 14000 * (157 * 28 + 68)
