# SPDX-License-Identifier: Apache-2.0
"""A damaged log of GROMACS, or that of another launch, is unreadable."""

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.gromacs import parse
from parsers.gromacs_captures import CAPTURES, log_of, log_text, synthetic_launch, values_of


def parse_text(tmp_path: Path, text: str, **values: Any) -> Parsed:
    (tmp_path / "md.log").write_text(text)
    return parse(tmp_path, synthetic_launch(**values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"ranks": 4}, "md.log:364: expected 4 ranks, not 2"),
        ({"argv": ("mdrun", "-ntomp", "2")}, "expected 2 threads, not 1"),
        ({"argv": ("mdrun", "-nsteps", "41")}, "expected 41 steps, not 40"),
        ({"versions": {"atoms": "2340"}}, "expected 2340 atoms, not 2339"),
        ({"case": {"atoms": 2340}}, "expected 2340 atoms, not 2339"),
        ({"argv": ("mdrun", "-nsteps", "many")}, "launch.json: expected a whole number, not 'many'"),
    ],
)
def test_a_log_of_another_launch_is_unreadable(tmp_path: Path, values: dict[str, Any], expected: str) -> None:
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, log_text("2022-two"), **values)


def test_a_log_of_the_launch_is_readable(tmp_path: Path) -> None:
    for argv in (("mdrun",), ("mdrun", "-nsteps", "-2"), ("mdrun", "-nsteps", "9", "-nsteps", "40")):
        parse_text(tmp_path, log_text("2022-two"), argv=argv, versions={"atoms": "2339"}, case={"threads": 1})
    parse_text(tmp_path, log_text("2022-two"), argv=("mdrun", "-ntomp", "1"))


@pytest.mark.parametrize("name", ["2022-ended", "2026-ended"])
def test_a_terminated_run_is_unreadable(name: str) -> None:
    """GROMACS catches SIGTERM and completes its log."""
    log = log_of(name)
    assert log.finished
    with pytest.raises(Unreadable, match=f"expected its 1000000 steps, it ended at step {log.last_step}"):
        parse(CAPTURES / name, synthetic_launch(argv=("mdrun", "-nsteps", "1000000")))


@pytest.mark.parametrize("name", ["2022-killed", "2026-killed"])
def test_a_killed_run_is_unreadable(name: str) -> None:
    log = log_of(name)
    assert (log.finished, log.cycles, log.ns_per_day, log.ranks, log.atoms) == (False, None, None, 2, 2339)
    assert log.last_step is not None
    assert log.last_step > 400
    with pytest.raises(Unreadable, match="'Finished mdrun': the log is cut off"):
        parse(CAPTURES / name, synthetic_launch(argv=("mdrun",)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("MPI library:        MPI", "MPI library:        thread_mpi", "not with its thread-MPI"),
        ("MPI library:        MPI", "MPI library:        thread_mpi (GPU-aware: no)", "not with its thread-MPI"),
        ("MPI library:        MPI", "MPI library:        none", r"md.log:48: expected a GROMACS .* MPI, not without"),
        ("MPI library:        MPI\n", "", "md.log: expected the line 'MPI library:', the log names no MPI library"),
        ("MPI library:        MPI\n", "MPI library:\n", "the log names no MPI library"),
        ("GROMACS version:", "GROMACS  version:", "expected the line 'GROMACS version:'"),
        ("There are: 2339 Atoms", "There are: 2339 Atoms\nGROMACS version: 2022", "the log of one run"),
        ("Performance:       19.560", "Performance:          nan", "a finite number of at least 0, not 'nan'"),
        ("Performance:       19.560", "Performance:       -1.000", "a finite number of at least 0, not '-1.000'"),
        ("Performance:       19.560", "Performance:        0.000", "more than 0 s and 0 ns/day"),
        (
            "Performance:       19.560",
            "Performance:       29.560",
            "19.571 ns/day, its steps over its time, not 29.560",
        ),
        ("Performance:       19.560", "Performance:             ", "a value for each of ns/day, hour/ns"),
        ("2 x 1 x 1, separate", "2 x 0 x 1, separate", "a grid of at least 1 x 1 x 1"),
        (" Rest     ", " West     ", ""),
        (" Force                  2    1         41", " Force                  2    1         40", "41 steps"),
        (
            " Total                                          0.362",
            " Total                    ",
            "the cycle table's row",
        ),
        ("  -3.16739e+04", "          -nan", "a finite number of at least 0, not 'nan'"),
        ("      Potential", "               ", "a name of its own above every energy"),
        ("for force:  2 x 1612.0", "for force:  2 x lots", "a number, not 'lots'"),
        ("Average load imbalance: 17.9%", "Average load imbalance: x%", "a number, not 'x'"),
        ("Using 2 MPI processes", "", "expected 2 ranks, not 0"),
    ],
)
def test_an_impossible_value_is_unreadable(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = log_text("2022-two")
    assert old in text
    if not expected:  # an unknown activity is a row too
        assert "west" in values_of(parse_text(tmp_path, text.replace(old, new)))
        return
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, text.replace(old, new))


def test_rows_that_do_not_sum_to_the_total_are_unreadable(tmp_path: Path) -> None:
    text = log_text("2022-two")
    row = next(line for line in text.splitlines() if line.startswith(" PME mesh"))
    cycles = row.split()[-2]
    for other in (row.replace(cycles, f"{float(cycles) / 2:.3f}"), row.replace(cycles, f"{float(cycles) * 2:.3f}")):
        with pytest.raises(Unreadable, match=r"rows that sum to .* giga-cycles"):
            parse_text(tmp_path, text.replace(row, other))


def test_a_log_cut_anywhere_is_unreadable(tmp_path: Path) -> None:
    for name in ("2022-two", "2026-pme"):
        text = log_text(name)
        ranks = log_of(name).ranks
        for length in range(0, text.index("Finished mdrun"), 97):
            with pytest.raises(Unreadable):
                parse_text(tmp_path, text[:length], ranks=ranks, argv=("mdrun",))


def test_a_log_with_text_after_its_end_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="the log is cut off"):
        parse_text(tmp_path, log_text("2022-two") + "Restarting from checkpoint\n")


@pytest.mark.parametrize("raw", [b"", b"\n", b"\0\1", b"\xff\xfe" * 999, b"x" * 1_000_000, b"Step Time\n" * 9999])
def test_another_file_is_unreadable(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "md.log").write_bytes(raw)
    with pytest.raises(Unreadable):
        parse(tmp_path, synthetic_launch())


def test_a_missing_log_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"md\.log: expected the tool's output, the file is missing"):
        parse(tmp_path, synthetic_launch())


def test_changed_logs_give_rows_or_unreadable(tmp_path: Path) -> None:
    """Dropped, doubled and shuffled lines, changed numbers and flipped bytes raise no other exception."""
    rng = random.Random(6)
    for name in ("2022-two", "2026-pme", "2020-reset"):
        lines = log_text(name).splitlines(keepends=True)
        for _ in range(60):
            changed = list(lines)
            for _ in range(rng.choice((1, 5, 50))):
                at = rng.randrange(len(changed))
                line = changed[at]
                changed[at] = rng.choice(
                    (
                        "",
                        line * 2,
                        line.replace("2", "-2"),
                        line.replace("0", "9" * 30),
                        line[: rng.randrange(len(line) + 1)],
                        "".join(rng.sample(line, len(line))),
                        line.replace(".", "e999."),
                    )
                )
            with contextlib.suppress(Unreadable):
                parse_text(tmp_path, "".join(changed), ranks=log_of(name).ranks, argv=("mdrun",))
