# SPDX-License-Identifier: Apache-2.0
"""Energies of a real log compared with right, wrong and invalid references."""

import json
from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs import FILE, TERMS, Log, deviations, read_log, read_reference

CAPTURE = Path(__file__).resolve().parents[1] / "data/gromacs/2022-reprod-two"


@pytest.fixture
def log() -> Log:
    return read_log((CAPTURE / FILE).read_text())


def reference(log: Log, changes: dict[str, object] | None = None, factor: float = 1.0) -> dict[str, object]:
    """The log's own energies, the potential energy at the last step times ``factor``."""
    assert log.first is not None
    assert log.last is not None
    steps = {block.step: {term: block.values[term] for term in TERMS} for block in (log.first, log.last)}
    steps[log.last.step]["Potential"] *= factor
    return {"name": "x", "sha256": "0", "gromacs": "2022.5", "tolerance": 1e-4, "steps": steps} | (changes or {})


def write_reference(directory: Path, content: dict[str, object]) -> Path:
    file = directory / "x.reference.json"
    file.write_text(json.dumps(content))
    return file


def test_a_log_does_not_deviate_from_its_own_energies(log: Log, tmp_path: Path) -> None:
    deviation = dict(deviations(log, read_reference(write_reference(tmp_path, reference(log)))))
    assert log.last is not None
    assert deviation == {0: 0.0, log.last.step: 0.0}


def test_deviations_are_divided_by_the_potential_energy(log: Log, tmp_path: Path) -> None:
    deviation = dict(deviations(log, read_reference(write_reference(tmp_path, reference(log, factor=1 + 5e-5)))))
    assert log.last is not None
    assert deviation[log.last.step] == pytest.approx(5e-5, rel=1e-3)


def test_energies_beyond_the_tolerance_are_wrong(log: Log, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"Potential of .* the energies are wrong"):
        list(deviations(log, read_reference(write_reference(tmp_path, reference(log, factor=1 + 2e-4)))))


def test_a_step_missing_in_the_log_is_unreadable(log: Log, tmp_path: Path) -> None:
    steps = {"7": dict.fromkeys(TERMS, 1.0)}
    with pytest.raises(Unreadable, match="energies at step 7"):
        list(deviations(log, read_reference(write_reference(tmp_path, reference(log, {"steps": steps})))))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tolerance": 0}, "tolerance: Input should be greater than 0"),
        ({"tolerance": 2}, "tolerance: Input should be less than 1"),
        ({"steps": {}}, "steps: "),
        ({"steps": {"0": {"Potential": -1.0}}}, "Potential, Kinetic En., Total Energy at step 0"),
        ({"steps": {"0": dict.fromkeys(TERMS, 0.0)}}, "none of them 0"),
        ({"more": 1}, "more: "),
    ],
)
def test_an_invalid_reference_is_unreadable(
    log: Log, tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    with pytest.raises(Unreadable, match=expected):
        read_reference(write_reference(tmp_path, reference(log, changes)))


def test_a_missing_reference_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="it is missing"):
        read_reference(tmp_path / "x.reference.json")
