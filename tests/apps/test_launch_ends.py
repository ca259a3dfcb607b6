# SPDX-License-Identifier: Apache-2.0
"""Tests that the launch wrapper ends all processes that it started, and that launches never overlap."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.processes import alive, wait_until
from support.wrapped import STUBBORN, Start, finish, read


@pytest.mark.parametrize("command", ["sleep 300", "trap '' TERM; sleep 300; sleep 300"])
def test_time_limit(start: Start, tmp_path: Path, command: str) -> None:
    process = start("sh", "-c", command, options=("--limit", "0.3", "--grace", "0.2"))
    assert finish(process) == (124, "")
    end = read(tmp_path / "launch/end")
    assert end["timed_out"] is True
    assert end["status"] is None
    assert end["signal"] in (signal.SIGTERM, signal.SIGKILL)
    assert end["seconds"] >= 0.3


def test_time_limit_ends_processes_that_left_the_session(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    process = start(
        "sh", "-c", f"{sys.executable} -c '{STUBBORN}' {pid_file} & wait",
        options=("--limit", "2", "--grace", "0.1"),
    )  # fmt: skip
    assert finish(process) == (124, "")
    assert not alive(int(pid_file.read_text()))


def test_leftovers_are_ended_and_counted(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"{sys.executable} -c '{STUBBORN}' {pid_file} & sleep 300 & while ! test -s {pid_file}; do :; done"
    process = start("sh", "-c", script + "; exit 5", options=("--grace", "0.1"))
    assert finish(process) == (5, "")
    end = read(tmp_path / "launch/end")
    assert (end["status"], end["leftovers"], end["timed_out"]) == (5, 2, False)
    assert not alive(int(pid_file.read_text()))


def test_leftovers_in_deep_process_trees_are_ended(start: Start, tmp_path: Path) -> None:
    deep = "import os, time\nfor _ in range(20):\n    if os.fork(): os._exit(0)\n    os.setsid()\n"
    deep += "time.sleep(300)"
    assert finish(start(sys.executable, "-c", deep, options=("--grace", "0"))) == (0, "")
    assert read(tmp_path / "launch/end")["leftovers"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_all_processes_and_no_end_file_is_written(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    pid_file = tmp_path / "pid"
    process = start(sys.executable, "-c", STUBBORN, pid_file, options=("--grace", "0.1"))
    wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the command")
    process.send_signal(number)
    assert finish(process) == (128 + number, "")
    assert not alive(int(pid_file.read_text()))
    assert (tmp_path / "launch/begin").exists()
    assert not (tmp_path / "launch/end").exists()


def test_watched_process_dies(start: Start, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with subprocess.Popen(["sleep", "300"]) as watched:
        options = ("--grace", "0.1", "--watch", str(watched.pid))
        process = start(sys.executable, "-c", STUBBORN, pid_file, options=options)
        wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the command")
        watched.kill()
    assert finish(process) == (125, "")
    assert not alive(int(pid_file.read_text()))
    assert not (tmp_path / "launch/end").exists()


def test_watched_process_is_already_dead(start: Start, tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as watched:
        pass
    assert finish(start("true", options=("--watch", str(watched.pid)))) == (125, "")
    assert not (tmp_path / "launch/begin").exists()


def test_launches_with_one_lock_never_overlap(start: Start, tmp_path: Path) -> None:
    options = ("--lock", str(tmp_path / "lock"), "--limit", "0.4")
    folders = [tmp_path / str(i) for i in range(4)]
    processes = [start("sleep", "0.2", options=options, directory=folder) for folder in folders]
    # Waiting does not count towards the limit.
    assert [finish(process) for process in processes] == [(0, "")] * 4
    spans = sorted((read(f / "begin")["time"], read(f / "end")["time"]) for f in folders)
    for (_, end), (begin, _) in itertools.pairwise(spans):
        assert begin >= end - 0.001  # both are truncated to milliseconds
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("how", ["signal", "watch"])
def test_waiting_for_the_lock_can_be_cancelled(start: Start, tmp_path: Path, how: str) -> None:
    lock = ("--lock", str(tmp_path / "lock"))
    start("sleep", "60", options=lock, directory=tmp_path / "first")
    wait_until((tmp_path / "first/begin").exists, "the first launch")
    with subprocess.Popen(["sleep", "300"]) as watched:
        process = start("true", options=(*lock, "--watch", str(watched.pid)))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text().strip(), "the wait for the lock")
        waiter = int(children.read_text())
        (process if how == "signal" else watched).terminate()
        assert finish(process) == (143 if how == "signal" else 125, "")
        watched.kill()
    assert not alive(waiter)
    assert list((tmp_path / "launch").iterdir()) == []


def test_leftovers_of_a_killed_wrapper_hold_the_lock(start: Start, tmp_path: Path) -> None:
    lock, pid_file = ("--lock", str(tmp_path / "lock")), tmp_path / "pid"
    script = f"{sys.executable} -c '{STUBBORN}' {pid_file} & wait"
    first = start("sh", "-c", script, options=lock, directory=tmp_path / "first")
    wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the command")
    group = read(tmp_path / "first/begin")["pgid"]
    first.kill()
    wait_until(lambda: not alive(group), "the command's death with its wrapper")
    leftover = int(pid_file.read_text())
    try:
        second = start("true", options=lock)
        time.sleep(0.3)
        assert alive(leftover)
        assert not (tmp_path / "launch/begin").exists()
    finally:
        os.kill(leftover, signal.SIGKILL)
    assert finish(second) == (0, "")
    assert (tmp_path / "first/begin").exists()
    assert not (tmp_path / "first/end").exists()
