# SPDX-License-Identifier: Apache-2.0
"""Exports profiles as files per thread, and reads them with TAU's own pprof where ``FABRICBENCH_TAU`` names a TAU."""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabricbench.cli.app import app
from fabricbench.errors import BadInput
from fabricbench.parsers.tau.export import export
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.model import PARAM, ThreadProfile
from parsers.test_tau import DATA, MPICH, profiled_launch
from parsers.test_tau_packed import EVENTS, TIMERS
from support.profile_text import application, packed, region, text, timer

ONE = text([application(1400), region(500), *TIMERS], EVENTS)
TWO = text([application(1300), timer("MPI_Recv()  ", 7, 250)])


def node_files(path: Path) -> Path:
    """A launch directory with the profiles of three ranks on two nodes; rank 1 has two threads."""
    path.mkdir()
    (path / "profile.node1.txt").write_text(packed((0, 0, ONE), (1, 0, TWO), (1, 1, TWO)))
    (path / "profile.node2.txt").write_text(packed((2, 0, ONE)))
    return path


def pprof() -> str:
    """The path of TAU's pprof; the test is skipped if ``FABRICBENCH_TAU`` names no TAU."""
    root = os.environ.get("FABRICBENCH_TAU")
    if not root:
        pytest.skip("FABRICBENCH_TAU names no TAU")
    programs = sorted(path for form in ("*/bin/pprof", "*/*/bin/pprof") for path in Path(root).glob(form))
    assert programs, f"no pprof below {root}"
    return str(programs[0])


def test_each_thread_has_its_text_in_a_file(tmp_path: Path) -> None:
    launch = node_files(tmp_path / "launch")
    assert export(launch, 3, tmp_path / "new/export") == 4
    files = {file.name: file.read_text() for file in (tmp_path / "new/export").iterdir()}
    assert files == {"profile.0.0.0": ONE, "profile.1.0.0": TWO, "profile.1.0.1": TWO, "profile.2.0.0": ONE}
    before, after = read_profile(launch, 3), read_profile(tmp_path / "new/export", 3)
    assert [each.timers for each in _at_line_1(before.threads)] == [each.timers for each in _at_line_1(after.threads)]


def _at_line_1(threads: tuple[ThreadProfile, ...]) -> list[ThreadProfile]:
    """The threads with the lines of their timers as in a file of their own."""
    return [
        replace(each, timers=tuple(replace(one, line=one.line - each.line + 1) for one in each.timers))
        for each in threads
    ]


def test_files_of_tau_are_copied(tmp_path: Path) -> None:
    export(MPICH / "is.S", 2, tmp_path / "export")
    for file in (MPICH / "is.S").iterdir():
        assert (tmp_path / "export" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", ["profile.0.0.0", "notes"])
def test_nothing_is_replaced(tmp_path: Path, name: str) -> None:
    launch, directory = node_files(tmp_path / "launch"), tmp_path / "export"
    directory.mkdir()
    (directory / name).write_text("mine")
    with pytest.raises(BadInput, match="Directory not empty; expected a new or an empty directory"):
        export(launch, 3, directory)
    assert [(file.name, file.read_text()) for file in directory.iterdir()] == [(name, "mine")]


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "export").write_text("mine")
    with pytest.raises(BadInput, match="expected a new or an empty directory"):
        export(node_files(tmp_path / "launch"), 3, tmp_path / "export")


def test_an_unreadable_profile_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"launch: profile\.\*: expected 4 ranks, there are 3: thread 0 of rank 3"):
        export(node_files(tmp_path / "launch"), 4, tmp_path / "export")
    assert not (tmp_path / "export").exists()


def campaign_with(path: Path, mode: str) -> Path:
    """A campaign with one launch of this mode, which has a profile."""
    path.mkdir()
    facts = {"system": "local", "tier": "single", "looks": [], "seed": 1, "created": 0.0}
    (path / "campaign.json").write_text(json.dumps({"schema_version": 1} | facts))
    launch = profiled_launch(path / "launches/b000/local/loopback/mpich/NasCG")
    content = json.loads((launch / "launch.json").read_text())
    (launch / "launch.json").write_text(json.dumps(content | {"mode": mode}))
    return path


def test_the_command(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "campaign", "profiled")
    words = ["profile", str(campaign), "b000/local/loopback/mpich/NasCG", str(tmp_path / "export")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 profiles written to ")
    assert sorted(file.name for file in (tmp_path / "export").iterdir()) == ["profile.0.0.0", "profile.1.0.0"]
    again = CliRunner().invoke(app, words)
    assert isinstance(again.exception, BadInput)


def test_the_command_on_other_launches(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "campaign", "timed")
    for launch, message in (
        ("b000/local/loopback/mpich/NasCG", "a launch of mode timed; expected a launch of mode profiled"),
        ("b000/local/loopback/mpich/NasGC", "no launch 'b000/local/loopback/mpich/NasGC'; expected b000/local"),
    ):
        result = CliRunner().invoke(app, ["profile", str(campaign), launch, str(tmp_path / "export")])
        assert isinstance(result.exception, BadInput)
        assert message in str(result.exception)
    assert not (tmp_path / "export").exists()


def test_the_command_on_a_damaged_campaign(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "campaign", "profiled")
    launch = campaign / "launches/b000/local/loopback/mpich/NasCG"
    words = ["profile", str(campaign), "b000/local/loopback/mpich/NasCG", str(tmp_path / "export")]
    (launch / "profile.1.0.0").unlink()
    missing = CliRunner().invoke(app, words).exception
    assert str(missing).endswith("profile.*: expected 2 ranks, there are 1: thread 0 of rank 1 is missing")
    (launch / "launch.json").write_text("{")
    assert "launch.json: expected JSON" in str(CliRunner().invoke(app, words).exception)
    (campaign / "campaign.json").unlink()
    assert "no campaign here" in str(CliRunner().invoke(app, words).exception)
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize("options", [[], ["--calls"]])
@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_the_command_without_a_launch_prints_the_summary(tmp_path: Path, form: str, options: list[str]) -> None:
    campaign = campaign_with(tmp_path / "campaign", "profiled")
    result = CliRunner().invoke(app, ["profile", str(campaign), "-f", form, *options])
    assert result.exit_code == 0, result.output
    assert all(word in result.stdout for word in ("mpich@tcp", "profiler", "unpaired"))


def test_the_summary_of_a_campaign_without_profiles(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "campaign", "timed")
    error = CliRunner().invoke(app, ["profile", str(campaign)]).exception
    assert isinstance(error, BadInput)
    assert "no launch was profiled; expected launches of mode profiled" in str(error)


def test_a_launch_without_a_directory(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "campaign", "profiled")
    error = CliRunner().invoke(app, ["profile", str(campaign), "b000/local/loopback/mpich/NasCG"]).exception
    assert isinstance(error, BadInput)
    assert "no directory for the profile" in str(error)


_ROW = re.compile(r" *[\d.]+ +\S+ +\S+ +(\S+) +\S+ +\S+ (\S.*?) *")


@pytest.mark.parametrize("source", ["nodes", "own", "is.S", "point-to-point-param"])
def test_taus_pprof_shows_the_same_calls(tmp_path: Path, source: str) -> None:
    program = pprof()
    launch, ranks = MPICH / source, 2
    if source == "nodes":
        launch, ranks = node_files(tmp_path / "launch"), 3
    elif source == "own":
        launch = DATA / "profiles/fabricbench-0.1.0-mpich/point-to-point"
    export(launch, ranks, tmp_path / "export")
    result = subprocess.run([program], cwd=tmp_path / "export", capture_output=True, text=True, check=True)
    for thread in read_profile(launch, ranks).threads:
        head = f"NODE {thread.rank};CONTEXT 0;THREAD {thread.thread}:\n"
        table = result.stdout.partition(head)[2].partition("NODE ")[0]
        rows = map(_ROW.fullmatch, table.splitlines())
        shown = [(" ".join(match[2].split()), float(match[1])) for match in rows if match]
        expected = [(_shown_name(one.name, one.params, PARAM in one.groups), one.calls) for one in thread.timers]
        assert sorted(shown) == sorted(expected)


def _shown_name(name: str, params: tuple[tuple[str, str], ...], has_params: bool) -> str:
    pairs = "".join(f" <{key}> = <{value}>" for key, value in params)
    return " ".join((f"{name} [{pairs} ]" if has_params else name).split())


def test_the_captures_name_their_origin() -> None:
    for directory in (DATA / "profiles").iterdir():
        origin = (directory / "ORIGIN").read_text()
        assert all(f"\n{word} " in origin for word in ("date", "stack", "variables", "command", "directory"))
        assert all(launch.name in origin for launch in directory.iterdir() if launch.is_dir())
