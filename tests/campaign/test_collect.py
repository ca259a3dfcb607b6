# SPDX-License-Identifier: Apache-2.0
"""Each state that the record of a launch can have, derived from a launch directory."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricbench.campaign import collect as collecting
from fabricbench.campaign.collect import collect
from fabricbench.files.reading import first_and_last_lines, last_lines
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Record
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools import imb
from support.launches import LAUNCHES, change

ALL = sorted(path.name for path in LAUNCHES.iterdir())


def test_a_launch_of_state_ok(directory: Path) -> None:
    record = collect(directory, "b000.s00/x")
    assert (record.state, record.reason, record.directory) == ("ok", "", "b000.s00/x")
    assert record.hosts == ("vm",)
    assert record.begin == json.loads((directory / "begin").read_text())["time"]
    assert record.seconds == json.loads((directory / "end").read_text())["seconds"]
    assert record.foreign_cpu_share == json.loads((directory / "host.vm").read_text())["foreign_cpu_share"]
    assert len(record.rows) == 2 * 12 - 1 + 2 * (4 * 12 - 1)
    assert record.attestation is not None
    assert record.attestation.state == "attested"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wrong-answer", "exit status 1: fabricbench-micro: pingpong: wrong answer on rank 1: message of 1 B"),
        ("time-limit", "ended at its time limit of 3 s: "),
        ("rank-killed", "exit status 137: "),
    ],
)
def test_captures_of_failed_launches(name: str, reason: str) -> None:
    record = collect(LAUNCHES / f"failed-openmpi-tcp-{name}")
    assert record.state == "failed"
    assert record.reason.startswith(reason)
    assert not record.rows
    assert record.attestation is None
    assert "----" not in record.reason


def test_the_killed_rank_is_named() -> None:
    reason = collect(LAUNCHES / "failed-openmpi-tcp-rank-killed").reason
    assert reason.endswith("rank 1 with PID 0 on node vm exited on signal 9 (Killed).")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"status": 3}, "exit status 3: first | second"),
        ({"status": None, "signal": 9}, "killed by signal 9: first | second"),
        ({"status": None}, "exit status None: first | second"),
    ],
)
def test_launches_of_state_failed(directory: Path, end: dict[str, Any], reason: str) -> None:
    change(directory / "end", **end)
    (directory / "stderr").write_text("\n  first\n--------\n\t second  \n\n")
    record = collect(directory)
    assert (record.state, record.reason, record.rows) == ("failed", reason, ())


@pytest.mark.parametrize("end", [{"status": 0}, {"status": 124, "signal": 15}, {"status": None, "signal": 9}])
def test_a_launch_that_hung_at_its_end_was_lost(directory: Path, end: dict[str, Any]) -> None:
    change(directory / "end", timed_out=True, **end)
    record = collect(directory)
    reason = "hung at its end after a complete output, ended at its time limit of 60 s"
    assert (record.state, record.reason, record.rows) == ("lost", reason, ())


def test_a_lost_launch_is_parsed_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def parse(path: Path, launch: Launch) -> Parsed:
        calls.append(path)
        return imb.parse(path, launch)

    monkeypatch.setattr(collecting, "parser_of", lambda tool: SimpleNamespace(parse=parse))
    change(directory / "end", timed_out=True)
    assert collect(directory).state == "lost"
    assert calls == [directory]


@pytest.mark.parametrize("name", ["lying-mpich-tcp-micro-pingpong-small", "lying-impi-tcp-imb-allreduce-small"])
@pytest.mark.parametrize("end", ["hung", "job ended"])
def test_a_wrong_transport_is_not_hidden_by_a_loss(tmp_path: Path, name: str, end: str) -> None:
    """All ranks reported that another transport carried the bytes, so no repeat may take the launch's place."""
    copy = Path(shutil.copytree(LAUNCHES / name, tmp_path / "launch"))
    if end == "hung":
        change(copy / "end", timed_out=True, status=None, signal=9)
    else:
        change(copy / "end", status=1)
        (copy / "stderr").write_text(
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22 DUE TO TIME LIMIT ***\n"
        )
    assert collect(copy).state == "refuted"
    next(copy.glob("witness.*.1.json")).unlink()
    assert collect(copy).state == "lost", "a rank that was killed has no report, which may be why bytes are missing"


def test_a_launch_that_hung_before_its_output_was_complete_failed(directory: Path) -> None:
    change(directory / "end", timed_out=True)
    lines = (directory / "stdout").read_text().splitlines(keepends=True)
    (directory / "stdout").write_text("".join(lines[: len(lines) // 2]))
    (directory / "stderr").write_text("first\n")
    record = collect(directory)
    assert (record.state, record.reason) == ("failed", "ended at its time limit of 60 s: first")


def test_a_wire_up_that_hung_at_its_end_was_lost(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(LAUNCHES / "mpich-tcp-wireup", tmp_path / "wireup"))
    change(copy / "end", timed_out=True)
    assert collect(copy).state == "lost"
    (copy / "stdout").write_text((copy / "stdout").read_text().replace("#@end=ok", ""))
    assert collect(copy).state == "failed"


@pytest.mark.parametrize("status", [126, 127])
def test_a_command_that_cannot_be_started_is_unfinished(directory: Path, status: int) -> None:
    change(directory / "end", status=status)
    record = collect(directory)
    assert record.state == "unfinished"
    assert record.reason.startswith(f"it could not be started: exit status {status}")


def test_a_failed_launch_without_stderr_shows_its_output(directory: Path) -> None:
    change(directory / "end", status=1)
    assert collect(directory).reason == "exit status 1: " + last_lines(directory / "stdout")
    (directory / "stdout").unlink()
    assert collect(directory).reason == "exit status 1"


def test_last_lines_are_few_short_and_text(tmp_path: Path) -> None:
    file = tmp_path / "stderr"
    file.write_bytes("".join(f"line {n} é\n" for n in range(5000)).encode())
    assert last_lines(file) == " | ".join(f"line {n} é" for n in range(4992, 5000))
    file.write_bytes(b"x" * 100_000)
    assert last_lines(file) == "x" * 600
    file.write_bytes(b"\xff\xfe\n")
    assert last_lines(file) == ""
    file.write_bytes(b"a\xff\n")
    assert last_lines(file) == "a�"
    assert last_lines(tmp_path) == ""


def test_the_first_and_the_last_lines_reach_the_reason(directory: Path) -> None:
    """Open MPI prints the cause first and then its help; UCX prints the cause first and then a stack trace."""
    change(directory / "end", status=1)
    trace = "".join(f"==== backtrace {n} {'x' * 60}\n" for n in range(200))
    (directory / "stderr").write_text(f"PML cm cannot be selected\n-----\n{trace}srun: error: n1: task 0: Aborted\n")
    reason = collect(directory).reason
    assert reason.startswith("exit status 1: PML cm cannot be selected | ==== backtrace 0 ")
    assert reason.endswith("srun: error: n1: task 0: Aborted")
    assert " … " in reason
    assert len(reason) < 1000


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ""),
        ("one\n---\ntwo\n", "one | two"),
        ("".join(f"{n}\n" for n in range(12)), " | ".join(map(str, range(12)))),
        ("".join(f"{n}\n" for n in range(13)), "0 | 1 | 2 | 3 … 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12"),
        ("x" * 100_000, "x" * 300 + " … " + "x" * 600),
    ],
)
def test_first_and_last_lines(tmp_path: Path, text: str, lines: str) -> None:
    file = tmp_path / "stderr"
    file.write_text(text)
    assert first_and_last_lines(file) == lines
    assert first_and_last_lines(tmp_path) == ""


def test_launches_of_state_unfinished(directory: Path) -> None:
    (directory / "end").unlink()
    record = collect(directory)
    assert (record.state, record.reason, record.seconds) == ("unfinished", "it did not complete", None)
    assert record.begin is not None
    (directory / "begin").unlink()
    record = collect(directory)
    assert (record.state, record.reason, record.begin) == ("unfinished", "it did not start", None)
    assert not record.rows


def test_an_end_without_a_begin_is_unfinished(directory: Path) -> None:
    (directory / "begin").unlink()
    assert collect(directory).state == "unfinished"


def test_no_witness_is_unknown(directory: Path) -> None:
    for file in directory.glob("witness.*"):
        file.unlink()
    record = collect(directory)
    assert (record.state, record.reason) == ("unknown", "no rank wrote a witness report")
    assert record.rows


def test_no_wireup_is_unknown(directory: Path) -> None:
    change(directory / "launch.json", wireup=None)
    record = collect(directory)
    assert (record.state, record.reason) == ("unknown", "no wire-up was measured on this lane")


def test_a_site_may_leave_attestation_open(directory: Path) -> None:
    change(directory / "launch.json", wireup=None, attestation="optional")
    record = collect(directory)
    assert record.state == "ok"
    assert record.reason == "not attested, which the site allows: no wire-up was measured on this lane"
    assert record.attestation is not None
    assert record.attestation.state == "unknown"


def test_no_site_may_allow_a_refuted_launch(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(LAUNCHES / "lying-mpich-tcp-micro-pingpong-small", tmp_path / "launch"))
    change(directory / "launch.json", attestation="optional")
    assert collect(directory).state == "refuted"


@pytest.mark.parametrize("name", ALL)
def test_a_record_depends_on_the_directory_only(tmp_path: Path, name: str) -> None:
    elsewhere = Path(shutil.copytree(LAUNCHES / name, tmp_path / "else/where" / name))
    assert collect(elsewhere) == collect(LAUNCHES / name)


@pytest.mark.parametrize("name", ALL)
def test_a_record_is_equal_after_a_round_trip_through_json(name: str) -> None:
    record = collect(LAUNCHES / name)
    assert Record.model_validate_json(record.model_dump_json()) == record


def test_several_hosts(directory: Path) -> None:
    facts = json.loads((directory / "host.vm").read_text())
    for host, share in (("b", 0.25), ("a", None)):
        (directory / f"host.{host}").write_text(json.dumps(facts | {"host": host, "foreign_cpu_share": share}))
    change(directory / "host.vm", foreign_cpu_share=0.125)
    record = collect(directory)
    assert (record.hosts, record.foreign_cpu_share) == (("a", "b", "vm"), 0.25)
