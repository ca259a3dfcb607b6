# SPDX-License-Identifier: Apache-2.0
"""GROMACS's error messages, and which of them are about the number of ranks."""

import json
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.campaign.digest import digest
from fabricbench.launch.table import table
from fabricbench.parsers.tools.gromacs import domain_reason, why_failed, why_refused

DATA = Path(__file__).resolve().parents[1] / "data"
CAPTURES = DATA / "gromacs"

DOMAINS = {
    "2020-domains": "There is no domain decomposition for 24 ranks that is compatible with the given box"
    " and a minimum cell size of 0.95625 nm",
    "2022-domains": "There is no domain decomposition for 24 ranks that is compatible with the given box"
    " and a minimum cell size of 0.95625 nm",
    "2026-domains": "There is no domain decomposition for 24 ranks that is compatible with the given box"
    " and a minimum cell size of 0.95625 nm",
    "2022-prime": "The number of ranks selected for particle-particle work (17) contains a large prime factor 17",
    "2022-cell": "The initial cell size (0.580000) is smaller than the cell size limit (0.956250)",
    "2022-pme-many": "Cannot have 2 separate PME ranks with only 1 PP ranks",
}

OTHERS = {
    "2022-lincs": "Fatal error: Too many LINCS warnings (21) ",
    "2026-lincs": "Fatal error: Too many LINCS warnings (22) ",
    "2022-moved": "Fatal error: 1 particles communicated to PME rank 0 are more than 2/3 times the cut-off out of ",
    "2022-settled": "step 773: One or more water molecules can not be settled.",
    "2022-memory": "Memory allocation failed: std::bad_alloc",
    "2022-newer": "Fatal error: reading tpx file (../../small-2026.tpr) version 138 with version 127 program",
    "2022-no-input": "Error in user input: Invalid command-line options In command-line option -s File "
    "'../../none.tpr' does not exist or is not accessible.",
    "2022-reset-while-tuning": "Fatal error: PME tuning was still active when attempting to reset mdrun counters",
    "2022-killed": "",
    "2022-ended": "",
}


@pytest.mark.parametrize("name", DOMAINS)
def test_messages_about_too_many_ranks_are_recognised(name: str) -> None:
    assert domain_reason((CAPTURES / name / "stderr").read_text()) == DOMAINS[name]
    assert why_failed(CAPTURES / name).startswith(f"Fatal error: {DOMAINS[name]}")
    assert domain_reason(why_failed(CAPTURES / name)) == DOMAINS[name]


@pytest.mark.parametrize("name", OTHERS)
def test_other_messages_are_not_about_ranks(name: str) -> None:
    assert domain_reason((CAPTURES / name / "stderr").read_text()) is None
    assert why_failed(CAPTURES / name).startswith(OTHERS[name])
    assert bool(why_failed(CAPTURES / name)) == bool(OTHERS[name])


def test_every_failure_is_listed() -> None:
    failed = {path.parent.name for path in CAPTURES.glob("*/stderr")}
    assert failed - {"2026-killed", "2026-ended"} == DOMAINS.keys() | OTHERS.keys()


def test_the_reason_comes_from_the_log_if_stderr_has_none(tmp_path: Path) -> None:
    shutil.copy(CAPTURES / "2022-domains/md.log", tmp_path)
    assert domain_reason(why_failed(tmp_path)) == DOMAINS["2022-domains"]


@pytest.mark.parametrize("raw", [b"", b"\0\xff" * 999, b"Program: \n\n", b"Program: \n\n" * 99_999, b"x" * 2_000_000])
def test_arbitrary_bytes_raise_no_exception(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "stderr").write_bytes(raw)
    (tmp_path / "md.log").mkdir()
    assert len(why_failed(tmp_path)) <= 600
    assert domain_reason(raw.decode(errors="replace")) is None


def test_a_record_has_the_reason(tmp_path: Path) -> None:
    """The last lines of stderr come from mpirun."""
    directory = Path(shutil.copytree(DATA / "launches/failed-openmpi-tcp-wrong-answer", tmp_path / "launch"))
    facts = json.loads((directory / "launch.json").read_text())
    facts |= {"tool": "gromacs", "benchmark": "villin", "expected": []}
    (directory / "launch.json").write_text(json.dumps(facts))
    shutil.copy(CAPTURES / "2022-lincs/stderr", directory)
    record = collect(directory)
    assert record.state == "failed"
    assert record.reason.startswith("exit status 1: Fatal error: ")
    shutil.copy(CAPTURES / "2022-killed/stderr", directory)
    assert collect(directory).reason.endswith("exited on signal 9 (Killed).")


def test_a_refused_number_of_ranks_is_a_skip_and_no_failure(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(DATA / "launches/failed-openmpi-tcp-wrong-answer", tmp_path / "launch"))
    facts = json.loads((directory / "launch.json").read_text())
    expected = [{"benchmark": "lzm", "metric": metric} for metric in ("ns_per_day", "run_time")]
    facts |= {"tool": "gromacs", "benchmark": "lzm", "case": {"threads": 2}, "expected": expected}
    (directory / "launch.json").write_text(json.dumps(facts))
    shutil.copy(CAPTURES / "2022-domains/stderr", directory)
    record = collect(directory)
    assert (record.state, record.reason, record.rows) == ("ok", DOMAINS["2022-domains"], ())
    (skip,) = record.skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("lzm", "threads=2", None)
    assert skip.reason == DOMAINS["2022-domains"]
    assert table((record,)).is_empty()


def test_domains_that_break_after_the_start_are_a_failure(tmp_path: Path) -> None:
    shutil.copy(CAPTURES / "2022-domains/stderr", tmp_path)
    assert why_refused(tmp_path) == DOMAINS["2022-domains"]
    shutil.copy(CAPTURES / "2022-killed/md.log", tmp_path)
    assert "Started mdrun on rank 0" in (tmp_path / "md.log").read_text()
    assert why_refused(tmp_path) is None


def test_a_changed_log_is_a_changed_launch(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CAPTURES / "2022-two", tmp_path / "launch"))
    (directory / "launch.json").write_text('{"tool": "gromacs"}')
    before = digest(directory)
    (directory / "md.log").write_text("")
    assert digest(directory) != before
