# SPDX-License-Identifier: Apache-2.0
"""A launch directory with damaged, missing or hostile files gives a record that names the problem."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Record
from fabricbench.parsers.registry import TOOLS
from support.launches import HOSTILE, assert_unreadable, change


def test_launch_json_missing(directory: Path) -> None:
    (directory / "launch.json").unlink()
    assert assert_unreadable(directory, "launch.json", "missing").launch is None


BROKEN = (b"", b"{", b"[]", b"null", b"\x00\xff", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b"NaN")


@pytest.mark.parametrize("file", ["launch.json", "begin", "end", "host.vm", "witness.vm.0.json"])
@pytest.mark.parametrize("content", BROKEN, ids=lambda content: repr(content[:6]))
def test_a_fact_that_is_not_a_json_object(directory: Path, file: str, content: bytes) -> None:
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
def test_launch_json_with_an_invalid_value(directory: Path, changes: dict[str, Any], words: list[str]) -> None:
    change(directory / "launch.json", **changes)
    assert assert_unreadable(directory, "launch.json: expected", *words).launch is None


@pytest.mark.parametrize("file", ["begin", "end"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "soon", None])
def test_an_invalid_time(directory: Path, file: str, value: object) -> None:
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
def test_an_impossible_quantity(directory: Path, file: str, key: str, values: list[object]) -> None:
    for value in values:
        change(directory / file, **{key: value})
        record = assert_unreadable(directory, f"{file}: expected {key}: ")
        assert record.seconds is None


@pytest.mark.parametrize("key", ["speed_mbit", "mtu", "pcie_width"])
def test_a_port_of_negative_size(directory: Path, key: str) -> None:
    change(directory / "host.vm", nics=[{"name": "eth0", "kind": "net", key: -1}])
    assert_unreadable(directory, f"host.vm: expected nics.0.{key}: ")


def test_an_end_may_have_unknown_keys(directory: Path) -> None:
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
    row = {"benchmark": "pingpong", "case": "k=1", "metric": "latency", "msg_sizes_bytes": [8]}
    change(directory / "launch.json", expected=[row])
    assert_unreadable(directory, "stdout: expected pingpong's latency of k=1 at 8 bytes, which is missing")


def test_a_row_lost_from_the_output(directory: Path) -> None:
    lines = (directory / "stdout").read_text().splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if line.startswith("     ") and "400" in line]
    assert len(rows) == 36
    for row in rows:
        (directory / "stdout").write_text("".join(lines[:row] + lines[row + 1 :]))
        assert_unreadable(directory, "which is missing")


@pytest.mark.parametrize("word", ["nan", "-1", "inf"])
def test_an_invalid_size(directory: Path, word: str) -> None:
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
    for length in random.Random(3).sample(range(len(raw)), 40):
        (directory / file).write_bytes(raw[:length])
        assert_unreadable(directory, file, "not a witness report")


@pytest.mark.parametrize("count", [-1, 2**64, 10**4000, 0.5, "1", None, float("nan")])
def test_a_witness_report_with_impossible_counts(directory: Path, count: object) -> None:
    file = directory / "witness.vm.0.json"
    report = json.loads(file.read_text())
    report["sockets"][0]["tx_bytes"] = count
    file.write_text(json.dumps(report))
    if count == "1":
        assert collect(directory).state == "ok"
    else:
        assert_unreadable(directory, "witness.vm.0.json")


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


def test_hostile_last_lines_are_data(directory: Path) -> None:
    change(directory / "end", status=1)
    (directory / "stderr").write_bytes(HOSTILE.encode() + b"\xff\xfe\x80\n")
    reason = collect(directory).reason
    assert "<script>alert(1)</script>\x1b[2J;rm -rf ~;$(id)`id`\x00" in reason
    assert "\n" not in reason
