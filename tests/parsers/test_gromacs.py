# SPDX-License-Identifier: Apache-2.0
"""Parses GROMACS's log: captures of four releases, payload by hand, damaged and changed logs."""

import shutil
from pathlib import Path

import pytest

from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.gromacs import parse, payload
from parsers.gromacs_captures import CAPTURES, log_of, synthetic_launch, values_of

ALL = sorted(path.parent.name for path in CAPTURES.glob("*/md.log"))

FINISHED = [name for name in ALL if not (CAPTURES / name / "stderr").exists()]


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
    values = values_of(parse(CAPTURES / "2022-two", synthetic_launch()))
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
        parsed = parse(CAPTURES / name, synthetic_launch(ranks=1))
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
    values = values_of(parse(CAPTURES / "2020-pme", synthetic_launch(ranks=3, argv=("mdrun", "-nsteps", "80"))))
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
        parse(CAPTURES / name, synthetic_launch(argv=("mdrun", "-resetstep", "40", "-nsteps", "80")))


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
    parsed = parse(CAPTURES / name, synthetic_launch(ranks=log.ranks, argv=argv, case={"threads": log.threads}))
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


def test_only_the_launch_directory_is_read(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(CAPTURES / "2025-two", tmp_path / "launch"))
    assert parse(copy, synthetic_launch()) == parse(CAPTURES / "2025-two", synthetic_launch())
