# SPDX-License-Identifier: Apache-2.0
"""Parses GROMACS's log: captures of four releases, payload by hand, damaged and changed logs."""

import contextlib
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.metrics import METRICS
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.gromacs import Log, parse, payload, read_log

CAPTURES = Path(__file__).resolve().parents[1] / "data/gromacs"
ALL = sorted(path.parent.name for path in CAPTURES.glob("*/md.log"))
FINISHED = [name for name in ALL if not (CAPTURES / name / "stderr").exists()]


def text_of(name: str) -> str:
    return (CAPTURES / name / "md.log").read_text()


def log_of(name: str) -> Log:
    return read_log(text_of(name))


def launch_of(**values: Any) -> Launch:
    facts: dict[str, Any] = {
        "id": "b000 openmpi@tcp gromacs villin np=2",
        "block": 0,
        "position": 0,
        "system": "local",
        "fabric": "tcp",
        "transport": "tcp",
        "stack": "openmpi",
        "tool": "gromacs",
        "benchmark": "villin",
        "ranks": 2,
        "nodes": 1,
        "argv": ("gmx_mpi", "mdrun", "-nsteps", "40"),
        "limit_seconds": 120,
    }
    return Launch.model_validate(facts | values)


def parse_text(tmp_path: Path, text: str, **values: Any) -> Parsed:
    (tmp_path / "md.log").write_text(text)
    return parse(tmp_path, launch_of(**values))


def values_of(parsed: Parsed) -> dict[str, float]:
    """Values by metric, or by activity if there is one."""
    names = ((row, [word for word in row.case.split() if word.startswith("activity=")]) for row in parsed.rows)
    return {words[0].removeprefix("activity=") if words else row.metric: row.value for row, words in names}


@pytest.mark.parametrize(
    ("name", "version", "mpi", "possible"),
    [
        ("2020-two", "2020.6", "MPI", "AVX2_256"),
        ("2020-mpich", "2020.6", "MPI", "AVX2_256"),
        ("2022-two", "2022.5", "MPI", "AVX2_256"),
        ("2025-two", "2025.2", "Open MPI v5.0.7, package: Debian OpenMPI", "AVX_512"),
        ("2026-two", "2026.4", "Open MPI v6.0.0rc2, package: Debian OpenMPI", "AVX_512"),
    ],
)
def test_two_ranks_of_every_release(name: str, version: str, mpi: str, possible: str) -> None:
    log = log_of(name)
    assert (log.version, log.precision, log.simd) == (version, "mixed", "SSE4.1")
    assert log.mpi.startswith(mpi)
    assert log.simd_possible == possible
    assert (log.atoms, log.ranks, log.pme_ranks, log.threads) == (2339, 2, 0, 1)
    assert (log.domains, log.pme_domains, log.fourier_grids) == ((2, 1, 1), (2, 1, 1), ((25, 25, 25),))
    assert (log.planned_steps, log.last_step, log.total_steps, log.steps) == (40, 40, 41, 41)
    assert log.halo_atoms == pytest.approx(1613, abs=2)
    assert log.load_balancing == "DLB was off during the run due to low measured imbalance."
    assert log.first is not None
    assert (log.first.step, log.first.values["Potential"], log.first.values["LJ (SR)"]) == (0, -31673.9, 5432.69)
    assert log.last is not None
    assert (log.last.step, log.last.values["Potential"]) == (40, -31740.0 if version == "2020.6" else -31750.8)
    assert log.finished


def test_values_of_two_ranks() -> None:
    values = values_of(parse(CAPTURES / "2022-two", launch_of()))
    times = {
        "domain-decomp": 0.001,
        "dd-comm-load": 0.0,
        "neighbor-search": 0.010,
        "comm-coord": 0.013,
        "force": 0.057,
        "wait-comm-f": 0.004,
        "pme-mesh": 0.191,
        "nb-x-f-buffer-ops": 0.001,
        "write-traj": 0.016,
        "update": 0.0,
        "constraints": 0.068,
        "comm-energies": 0.0,
        "rest": 0.002,
        "total": 0.362,
        "pme-redist-x-f": 0.132,
        "pme-spread": 0.018,
        "pme-gather": 0.009,
        "pme-3d-fft": 0.004,
        "pme-3d-fft-comm": 0.026,
        "pme-solve-elec": 0.001,
    }
    figures = {"ns_per_day": 19.56, "run_time": 0.362, "load_imbalance": 0.179, "imbalance_wait": 0.036}
    communication = values.pop("communication_time")
    assert values == pytest.approx(times | figures, abs=0.0016)
    rows = ("comm-coord", "wait-comm-f", "comm-energies", "pme-redist-x-f", "pme-3d-fft-comm")
    assert communication == pytest.approx(sum(times[row] for row in rows), abs=0.003)


def test_one_rank_has_no_communication_and_no_imbalance() -> None:
    for name in ("2020-one", "2022-one", "2025-one", "2026-one"):
        parsed = parse(CAPTURES / name, launch_of(ranks=1))
        values = values_of(parsed)
        assert values["communication_time"] == 0
        assert not values.keys() & {"load_imbalance", "imbalance_wait", "pme_force_load"}
        assert parsed.payload is not None
        assert parsed.payload.model_dump() == {"bytes": 0, "messages": 0}


def test_separate_pme_ranks() -> None:
    """Communication and activities are means over the three ranks, and the activities sum to the run time."""
    log = log_of("2020-pme")
    assert (log.ranks, log.pme_ranks, log.pme_domains) == (3, 1, (1, 1, 1))
    assert (log.pme_force_load, log.pme_wait, log.imbalance_wait) == (0.132, 0.218, 0.195)
    values = values_of(parse(CAPTURES / "2020-pme", launch_of(ranks=3, argv=("mdrun", "-nsteps", "80"))))
    assert log.cycles is not None
    whole = [row.slug for row in log.cycles.activities if not row.part]
    assert sum(values[slug] for slug in whole) == pytest.approx(0.352, abs=0.002)
    assert values["total"] == pytest.approx(0.352)
    assert values["pme-mesh"] == pytest.approx(0.032 / 3, abs=0.001)  # one rank of three does it
    assert values["pme_force_load"] == 0.132
    cycles = 0.000 + 0.316 + 0.303 + 0.511 + 0.829 + 0.004 + 0.003
    assert values["communication_time"] == pytest.approx(0.352 * cycles / 2.741)


def test_a_reset_of_the_counters_shortens_the_counted_part() -> None:
    for name in ("2020-reset", "2022-reset", "2026-reset"):
        log = log_of(name)
        assert (log.reset_step, log.total_steps, log.steps) == (40, 81, 41)
        assert log.cycles is not None
        force = log.cycles.activity("Force")
        assert force is not None
        assert force.calls == 41
        parse(CAPTURES / name, launch_of(argv=("mdrun", "-resetstep", "40", "-nsteps", "80")))


def test_threads_grids_tuning_balancing_and_precision_are_read() -> None:
    assert (log_of("2022-threads").threads, log_of("2026-threads").threads) == (2, 2)
    assert (log_of("2022-grid").domains, log_of("2022-grid").pme_domains) == ((2, 2, 1), (2, 2, 1))
    assert log_of("2022-tuned").fourier_grids == ((60,) * 3, (60,) * 3, (52,) * 3, (56,) * 3)
    assert log_of("2022-balanced").load_balancing == "DLB was permanently on during the run per user request."
    assert (log_of("2022-double").precision, log_of("2022-double").bytes_per_atom) == ("double", 24)


def test_energies_of_reproducible_runs_are_read() -> None:
    one, two = log_of("2022-reprod-one"), log_of("2022-reprod-two")
    assert one.first is not None
    assert one.last is not None
    assert two.last is not None
    assert list(one.first.values) == [
        *("G96Angle", "Proper Dih.", "LJ (SR)", "Coulomb (SR)", "Coul. recip.", "Potential", "Kinetic En."),
        *("Total Energy", "Conserved En.", "Temperature", "Pressure (bar)", "Constr. rmsd"),
    ]
    assert one.first.values["Coulomb (SR)"] == -37495.0
    assert one.last.step == two.last.step == 50
    for name in ("Potential", "Conserved En."):
        assert two.last.values[name] == pytest.approx(one.last.values[name], rel=1e-3)


@pytest.mark.parametrize("name", FINISHED)
def test_every_finished_capture_is_readable(name: str) -> None:
    log = log_of(name)
    argv = ("mdrun", "-nsteps", str(log.planned_steps))
    parsed = parse(CAPTURES / name, launch_of(ranks=log.ranks, argv=argv, case={"threads": log.threads}))
    assert {row.metric for row in parsed.rows} <= METRICS.keys()
    assert len({(row.metric, row.case) for row in parsed.rows}) == len(parsed.rows)
    assert all(f"threads={log.threads}" in row.case for row in parsed.rows)
    values = values_of(parsed)
    assert 0 <= values.get("communication_time", 0) <= values["run_time"]


def test_payload_by_hand() -> None:
    # 1612 atoms of 12 bytes in both directions; half of 25 x 25 x 13 complex numbers of 8 bytes, twice; three
    # planes of 25 x 25 numbers of 4 bytes to each of two ranks, twice. Two messages a rank for each of halo and FFT.
    a_step = 2 * 1612 * 12 + 2 * 25 * 25 * 13 * 8 // 2 + 2 * 2 * 3 * 25 * 25 * 4
    assert payload(log_of("2022-two")).model_dump() == {"bytes": 41 * a_step, "messages": 41 * (4 + 4)}
    # double precision has twice the bytes; 1556 atoms
    a_step = 2 * (2 * 1556 * 12 + 2 * 25 * 25 * 13 * 8 // 2 + 2 * 2 * 3 * 25 * 25 * 4)
    assert payload(log_of("2022-double")).model_dump() == {"bytes": 41 * a_step, "messages": 41 * 8}
    # a grid of ranks: three quarters of the FFT's grid move; planes in two directions; two messages per dimension
    a_step = int(2 * 4060.7 * 12 + 2 * 25 * 25 * 13 * 8 * 3 / 4 + 2 * 3 * (2 + 2) * 25 * 25 * 4)
    assert payload(log_of("2022-grid")).bytes == pytest.approx(81 * a_step, abs=81)
    assert payload(log_of("2022-grid")).messages == 81 * (2 * 2 * 4 + 2 * 4 * 2)
    # one PME rank: no FFT between ranks, but all atoms in both directions
    assert payload(log_of("2020-pme")).bytes == pytest.approx(81 * (2 * 1610.3 * 12 + 2 * 2339 * 12), abs=1)
    assert payload(log_of("2020-pme")).messages == 81 * (4 + 4)
    # the sockets also carried the traffic before the reset of the counters
    assert payload(log_of("2022-reset")).messages == 81 * 8


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
        parse_text(tmp_path, text_of("2022-two"), **values)


def test_a_log_of_the_launch_is_readable(tmp_path: Path) -> None:
    for argv in (("mdrun",), ("mdrun", "-nsteps", "-2"), ("mdrun", "-nsteps", "9", "-nsteps", "40")):
        parse_text(tmp_path, text_of("2022-two"), argv=argv, versions={"atoms": "2339"}, case={"threads": 1})
    parse_text(tmp_path, text_of("2022-two"), argv=("mdrun", "-ntomp", "1"))


@pytest.mark.parametrize("name", ["2022-ended", "2026-ended"])
def test_a_terminated_run_is_unreadable(name: str) -> None:
    """GROMACS catches SIGTERM and completes its log."""
    log = log_of(name)
    assert log.finished
    with pytest.raises(Unreadable, match=f"expected its 1000000 steps, it ended at step {log.last_step}"):
        parse(CAPTURES / name, launch_of(argv=("mdrun", "-nsteps", "1000000")))


@pytest.mark.parametrize("name", ["2022-killed", "2026-killed"])
def test_a_killed_run_is_unreadable(name: str) -> None:
    log = log_of(name)
    assert (log.finished, log.cycles, log.ns_per_day, log.ranks, log.atoms) == (False, None, None, 2, 2339)
    assert log.last_step is not None
    assert log.last_step > 400
    with pytest.raises(Unreadable, match="'Finished mdrun': the log is cut off"):
        parse(CAPTURES / name, launch_of(argv=("mdrun",)))


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
    text = text_of("2022-two")
    assert old in text
    if not expected:  # an unknown activity is a row too
        assert "west" in values_of(parse_text(tmp_path, text.replace(old, new)))
        return
    with pytest.raises(Unreadable, match=expected):
        parse_text(tmp_path, text.replace(old, new))


def test_rows_that_do_not_sum_to_the_total_are_unreadable(tmp_path: Path) -> None:
    text = text_of("2022-two")
    row = next(line for line in text.splitlines() if line.startswith(" PME mesh"))
    cycles = row.split()[-2]
    for other in (row.replace(cycles, f"{float(cycles) / 2:.3f}"), row.replace(cycles, f"{float(cycles) * 2:.3f}")):
        with pytest.raises(Unreadable, match=r"rows that sum to .* giga-cycles"):
            parse_text(tmp_path, text.replace(row, other))


def test_a_log_cut_anywhere_is_unreadable(tmp_path: Path) -> None:
    for name in ("2022-two", "2026-pme"):
        text = text_of(name)
        ranks = log_of(name).ranks
        for length in range(0, text.index("Finished mdrun"), 97):
            with pytest.raises(Unreadable):
                parse_text(tmp_path, text[:length], ranks=ranks, argv=("mdrun",))


def test_a_log_with_text_after_its_end_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="the log is cut off"):
        parse_text(tmp_path, text_of("2022-two") + "Restarting from checkpoint\n")


@pytest.mark.parametrize("raw", [b"", b"\n", b"\0\1", b"\xff\xfe" * 999, b"x" * 1_000_000, b"Step Time\n" * 9999])
def test_another_file_is_unreadable(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "md.log").write_bytes(raw)
    with pytest.raises(Unreadable):
        parse(tmp_path, launch_of())


def test_a_missing_log_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"md\.log: expected the tool's output, the file is missing"):
        parse(tmp_path, launch_of())


def test_changed_logs_give_rows_or_unreadable(tmp_path: Path) -> None:
    """Dropped, doubled and shuffled lines, changed numbers and flipped bytes raise no other exception."""
    rng = random.Random(6)
    for name in ("2022-two", "2026-pme", "2020-reset"):
        lines = text_of(name).splitlines(keepends=True)
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


def test_only_the_launch_directory_is_read(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(CAPTURES / "2025-two", tmp_path / "launch"))
    assert parse(copy, launch_of()) == parse(CAPTURES / "2025-two", launch_of())
