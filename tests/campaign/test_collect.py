# SPDX-License-Identifier: Apache-2.0
"""From a launch directory to its record: every state, and that nothing in the directory can break it."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.files.reading import last_lines
from fabricbench.launch.record import Record
from fabricbench.parsers.registry import TOOLS

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
ALL = sorted(path.name for path in LAUNCHES.iterdir())
PT2PT = "mpich-tcp-imb-pt2pt-small"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of a launch that is ok."""
    return Path(shutil.copytree(LAUNCHES / PT2PT, tmp_path / "launch"))


def change(file: Path, **values: Any) -> None:
    """Set or, where a value is ..., remove keys of a JSON file."""
    facts = json.loads(file.read_text()) | values
    file.write_text(json.dumps({key: value for key, value in facts.items() if value is not ...}))


def assert_unreadable(directory: Path, *words: str) -> Record:
    record = collect(directory)
    assert record.state == "unreadable", record.reason
    assert not record.rows
    for word in words:
        assert word in record.reason
    return record


def test_ok(directory: Path) -> None:
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
def test_launches_that_really_failed(name: str, reason: str) -> None:
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
def test_failed(directory: Path, end: dict[str, Any], reason: str) -> None:
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


@pytest.mark.parametrize("name", ["lying-mpich-tcp-micro-pingpong-small", "lying-impi-tcp-imb-allreduce-small"])
@pytest.mark.parametrize("lost", ["hung", "job ended"])
def test_a_wrong_transport_is_not_hidden_by_a_loss(tmp_path: Path, name: str, lost: str) -> None:
    """All ranks reported that another transport carried the bytes, so no repeat may take the launch's place."""
    copied = Path(shutil.copytree(LAUNCHES / name, tmp_path / "launch"))
    if lost == "hung":
        change(copied / "end", timed_out=True, status=None, signal=9)
    else:
        change(copied / "end", status=1)
        (copied / "stderr").write_text(
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22 DUE TO TIME LIMIT ***\n"
        )
    assert collect(copied).state == "refuted"
    next(copied.glob("witness.*.1.json")).unlink()
    assert collect(copied).state == "lost", "a rank that was killed has no report, which may be why bytes are missing"


def test_a_launch_that_hung_before_its_output_was_complete_failed(directory: Path) -> None:
    change(directory / "end", timed_out=True)
    lines = (directory / "stdout").read_text().splitlines(keepends=True)
    (directory / "stdout").write_text("".join(lines[: len(lines) // 2]))
    (directory / "stderr").write_text("first\n")
    record = collect(directory)
    assert (record.state, record.reason) == ("failed", "ended at its time limit of 60 s: first")


def test_a_wire_up_that_hung_at_its_end_was_lost(tmp_path: Path) -> None:
    copied = Path(shutil.copytree(LAUNCHES / "mpich-tcp-wireup", tmp_path / "wireup"))
    change(copied / "end", timed_out=True)
    assert collect(copied).state == "lost"
    (copied / "stdout").write_text((copied / "stdout").read_text().replace("#@end=ok", ""))
    assert collect(copied).state == "failed"


@pytest.mark.parametrize("status", [126, 127])
def test_a_command_that_could_not_be_started_never_ran(directory: Path, status: int) -> None:
    change(directory / "end", status=status)
    record = collect(directory)
    assert record.state == "unfinished"
    assert record.reason.startswith(f"it could not be started: exit status {status}")


def test_a_failed_launch_that_said_nothing_on_stderr_shows_its_output(directory: Path) -> None:
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


def test_unfinished(directory: Path) -> None:
    (directory / "end").unlink()
    record = collect(directory)
    assert (record.state, record.reason, record.seconds) == ("unfinished", "it never came back", None)
    assert record.begin is not None
    (directory / "begin").unlink()
    record = collect(directory)
    assert (record.state, record.reason, record.begin) == ("unfinished", "it was never started", None)
    assert not record.rows


def test_an_end_without_a_begin_is_unfinished(directory: Path) -> None:
    (directory / "begin").unlink()
    assert collect(directory).state == "unfinished"


def test_launch_json_missing(directory: Path) -> None:
    (directory / "launch.json").unlink()
    assert assert_unreadable(directory, "launch.json", "missing").launch is None


BROKEN = (b"", b"{", b"[]", b"null", b"\x00\xff", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b"NaN")


@pytest.mark.parametrize("file", ["launch.json", "begin", "end", "host.vm", "witness.vm.0.json"])
@pytest.mark.parametrize("content", BROKEN, ids=lambda content: repr(content[:6]))
def test_a_fact_that_is_no_json_object(directory: Path, file: str, content: bytes) -> None:
    (directory / file).write_bytes(content)
    assert_unreadable(directory, file)


@pytest.mark.parametrize("file", ["launch.json", "begin", "end", "host.vm", "witness.vm.0.json", "stdout"])
def test_a_fact_that_is_a_directory(directory: Path, file: str) -> None:
    (directory / file).unlink()
    (directory / file).mkdir()
    assert_unreadable(directory, file)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a_new_key": 1}, ["a_new_key", "Extra inputs"]),
        ({"schema_version": 2}, ["schema_version"]),
        ({"ranks": ...}, ["ranks", "required"]),
        ({"ranks": 0}, ["ranks"]),
        ({"ranks": 10**30}, ["ranks"]),
        ({"block": -1}, ["block"]),
        ({"limit_seconds": float("nan")}, ["limit_seconds", "finite"]),
        ({"limit_seconds": float("inf")}, ["limit_seconds", "finite"]),
        ({"transport": "pigeon"}, ["transport"]),
        ({"expected": [{"benchmark": "pingpong", "metric": "lateness"}]}, ["no metric is called 'lateness'"]),
        ({"expected": [{"benchmark": "b", "metric": "time", "msg_sizes_bytes": [10**30]}]}, ["msg_sizes_bytes"]),
        ({"stack": "\ud800"}, ["JSON"]),
        ({"wireup": {"launch": "x", "bytes": -1, "segments": 0}}, ["wireup.bytes"]),
    ],
)
def test_launch_json_that_says_what_no_launch_says(directory: Path, changes: dict[str, Any], words: list[str]) -> None:
    change(directory / "launch.json", **changes)
    assert assert_unreadable(directory, "launch.json: expected", *words).launch is None


@pytest.mark.parametrize("file", ["begin", "end"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "soon", None])
def test_a_time_that_is_none(directory: Path, file: str, value: object) -> None:
    change(directory / file, time=value)
    assert assert_unreadable(directory, f"{file}: expected time").launch is not None


@pytest.mark.parametrize(
    ("file", "key", "values"),
    [
        ("end", "seconds", [-0.001, -1, float("nan"), float("inf"), float("-inf"), None, "1_0"]),
        ("end", "cpu_seconds", [-0.001, float("inf")]),
        ("end", "time", [-1.0]),
        ("end", "leftovers", [-1, 10**30]),
        ("begin", "time", [-1.0]),
        ("begin", "pid", [0, -1, 10**30]),
        ("begin", "pgid", [0, -1, 10**30]),
        ("begin", "starttime", [-1, 10**30]),
        ("host.vm", "cores", [-1, 10**30]),
        ("host.vm", "sockets", [-1]),
        ("host.vm", "memory_bytes", [-1, 10**30]),
        ("host.vm", "hugepages", [-1.0]),
        ("host.vm", "seconds", [-0.1, float("inf")]),
        ("host.vm", "busy_cpu_seconds", [float("inf"), float("nan")]),
        ("host.vm", "foreign_cpu_share", [-0.1, float("inf"), float("nan")]),
    ],
)
def test_a_quantity_that_cannot_be(directory: Path, file: str, key: str, values: list[object]) -> None:
    for value in values:
        change(directory / file, **{key: value})
        record = assert_unreadable(directory, f"{file}: expected {key}: ")
        assert record.seconds is None


@pytest.mark.parametrize("key", ["speed_mbit", "mtu", "pcie_width"])
def test_a_port_of_negative_size(directory: Path, key: str) -> None:
    change(directory / "host.vm", nics=[{"name": "eth0", "kind": "net", key: -1}])
    assert_unreadable(directory, f"host.vm: expected nics.0.{key}: ")


def test_an_end_may_say_more_than_is_known(directory: Path) -> None:
    change(directory / "end", something_new=[1])
    change(directory / "begin", something_new=[1])
    assert collect(directory).state == "ok"


def test_an_expected_row_is_missing(directory: Path) -> None:
    facts = json.loads((directory / "launch.json").read_text())
    expected = [*facts["expected"], {"benchmark": "pingpong", "metric": "latency", "msg_sizes_bytes": [3]}]
    change(directory / "launch.json", expected=expected)
    assert_unreadable(directory, "stdout: expected pingpong's latency at 3 bytes, which is missing")
    change(directory / "launch.json", expected=[{"benchmark": "barrier", "metric": "time"}])
    assert_unreadable(directory, "stdout: expected barrier's time, which is missing")
    named = {"benchmark": "pingpong", "case": "k=1", "metric": "latency", "msg_sizes_bytes": [8]}
    change(directory / "launch.json", expected=[named])
    assert_unreadable(directory, "stdout: expected pingpong's latency of k=1 at 8 bytes, which is missing")


def test_a_row_lost_from_the_output(directory: Path) -> None:
    lines = (directory / "stdout").read_text().splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if line.startswith("     ") and "400" in line]
    assert len(rows) == 36
    for lost in rows:
        (directory / "stdout").write_text("".join(lines[:lost] + lines[lost + 1 :]))
        assert_unreadable(directory, "which is missing")


@pytest.mark.parametrize("word", ["nan", "-1", "inf"])
def test_a_size_that_is_none(directory: Path, word: str) -> None:
    text = (directory / "stdout").read_text().replace("           64          400", f"{word:>13}          400", 1)
    (directory / "stdout").write_text(text)
    assert_unreadable(directory, "stdout")


def test_a_duplicated_section(directory: Path) -> None:
    head, sendrecv, *rest = (directory / "stdout").read_text().split("# Benchmarking Sendrecv")
    section = "# Benchmarking Sendrecv" + sendrecv.partition("# Benchmarking Exchange")[0]
    (directory / "stdout").write_text("".join([head, section, section, sendrecv, *rest]))
    assert_unreadable(directory, "one sendrecv time_min at 0 bytes only")


def test_two_outputs_in_one(directory: Path) -> None:
    text = (directory / "stdout").read_text()
    (directory / "stdout").write_text(text + text)
    assert_unreadable(directory, "one pingpong latency at 0 bytes only")


def test_an_output_that_is_missing_or_foreign(directory: Path) -> None:
    (directory / "stdout").write_text("# OSU MPI Latency Test v7.3\n1    0.27\n")
    assert_unreadable(directory, "stdout:2: expected IMB's closing line")
    (directory / "stdout").unlink()
    assert_unreadable(directory, "stdout", "missing")


def test_a_tool_without_a_parser(directory: Path) -> None:
    for tool in ("omb", "output", "collect", "campaign", "../imb", "os"):
        change(directory / "launch.json", tool=tool)
        assert_unreadable(directory, f"a tool with a parser ({', '.join(TOOLS)})", tool)


@pytest.mark.parametrize("file", ["witness.vm.0.json", "witness.vm.1.json"])
def test_a_witness_file_cut_off(directory: Path, file: str) -> None:
    raw = (directory / file).read_bytes().rstrip()
    for cut in random.Random(3).sample(range(len(raw)), 40):
        (directory / file).write_bytes(raw[:cut])
        assert_unreadable(directory, file, "not a witness report")


@pytest.mark.parametrize("count", [-1, 2**64, 10**4000, 0.5, "1", None, float("nan")])
def test_a_witness_that_counts_what_cannot_be(directory: Path, count: object) -> None:
    file = directory / "witness.vm.0.json"
    report = json.loads(file.read_text())
    report["sockets"][0]["tx_bytes"] = count
    file.write_text(json.dumps(report))
    if count == "1":
        assert collect(directory).state == "ok"
    else:
        assert_unreadable(directory, "witness.vm.0.json")


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


def test_no_site_may_allow_a_lie(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(LAUNCHES / "lying-mpich-tcp-micro-pingpong-small", tmp_path / "launch"))
    change(directory / "launch.json", attestation="optional")
    assert collect(directory).state == "refuted"


@pytest.mark.parametrize("name", ALL)
def test_a_record_is_a_function_of_the_directory_alone(tmp_path: Path, name: str) -> None:
    elsewhere = Path(shutil.copytree(LAUNCHES / name, tmp_path / "else/where" / name))
    assert collect(elsewhere) == collect(LAUNCHES / name)


@pytest.mark.parametrize("name", ALL)
def test_a_record_survives_json(name: str) -> None:
    record = collect(LAUNCHES / name)
    assert Record.model_validate_json(record.model_dump_json()) == record


def test_several_hosts(directory: Path) -> None:
    facts = json.loads((directory / "host.vm").read_text())
    for host, share in (("b", 0.25), ("a", None)):
        (directory / f"host.{host}").write_text(json.dumps(facts | {"host": host, "foreign_cpu_share": share}))
    change(directory / "host.vm", foreign_cpu_share=0.125)
    record = collect(directory)
    assert (record.hosts, record.foreign_cpu_share) == (("a", "b", "vm"), 0.25)


HOSTILE = "<script>alert(1)</script>\x1b[2J;rm -rf ~;$(id)`id`\x00\u202e'\"\\\n| é"


def test_hostile_text_is_data(directory: Path) -> None:
    case = {HOSTILE: HOSTILE}
    change(directory / "launch.json", stack=HOSTILE, id=HOSTILE, system=HOSTILE, case=case, environment=case)
    change(directory / "host.vm", host=HOSTILE)
    change(directory / "witness.vm.0.json", devices=[HOSTILE], host=HOSTILE)
    record = collect(directory, HOSTILE)
    assert record.launch is not None
    assert (record.state, record.directory, record.hosts) == ("unknown", HOSTILE, (HOSTILE,))
    assert f"ranks opened network devices that wire-up does not open: {HOSTILE}" in record.reason
    assert (record.launch.stack, record.launch.case) == (HOSTILE, case)
    assert record.attestation is not None
    assert record.attestation.traffic is not None
    assert record.attestation.traffic.devices == (HOSTILE,)
    assert Record.model_validate_json(record.model_dump_json()) == record
    assert {row.case for row in record.rows} == {f"{HOSTILE}={HOSTILE}"}


def test_hostile_last_words_are_data(directory: Path) -> None:
    change(directory / "end", status=1)
    (directory / "stderr").write_bytes(HOSTILE.encode() + b"\xff\xfe\x80\n")
    reason = collect(directory).reason
    assert "<script>alert(1)</script>\x1b[2J;rm -rf ~;$(id)`id`\x00" in reason
    assert "\n" not in reason
