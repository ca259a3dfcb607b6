# SPDX-License-Identifier: Apache-2.0
"""The launch wrapper, around small shell and Python commands."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]
Process = subprocess.Popen[str]
Start = Callable[..., Process]

# Leaves its session and group (a group's leader cannot), ignores TERM, says that it is there, and stays.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.getpgid(0) != os.getpid():
    os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(300)
"""


def read(path: Path) -> Json:
    """A JSON file."""
    found: Json = json.loads(path.read_text("utf-8"))
    return found


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Half a minute, for a machine under load."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def start(wrapper: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a wrapper; whatever a failed test leaves over is killed."""
    started: list[Process] = []

    def start_it(*command: str | Path, options: tuple[str, ...] = (), directory: Path | None = None) -> Process:
        where = directory or tmp_path / "launch"
        where.mkdir(exist_ok=True)
        limit = () if "--limit" in options else ("--limit", "60")
        started.append(
            subprocess.Popen(
                [wrapper, "--dir", where, *limit, *options, "--", *command], stderr=subprocess.PIPE, text=True
            )
        )
        return started[-1]

    yield start_it
    for process in started:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)


def finish(process: Process) -> tuple[int, str]:
    """Its exit code and its standard error."""
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint


@pytest.mark.parametrize(
    ("command", "code", "status", "number"),
    [("exit 0", 0, 0, None), ("exit 37", 37, 37, None), ("kill -SEGV $$", 139, None, 11)],
)
def test_exit_code(
    start: Start, tmp_path: Path, command: str, code: int, status: int | None, number: int | None
) -> None:
    assert finish(start("sh", "-c", f"ulimit -c 0; echo out; echo err >&2; {command}")) == (code, "")
    end = read(tmp_path / "launch/end")
    assert list(end) == [
        "schema", "time", "seconds", "status", "signal", "timed_out", "leftovers", "cpu_seconds",
    ]  # fmt: skip
    assert (end["schema"], end["status"], end["signal"]) == (1, status, number)
    assert (end["timed_out"], end["leftovers"]) == (False, 0)
    assert (tmp_path / "launch/stdout").read_text() == "out\n"
    assert (tmp_path / "launch/stderr").read_text().startswith("err\n")


def test_begin_is_there_before_the_command(start: Start, tmp_path: Path) -> None:
    before = time.time()
    begin_file = tmp_path / "launch/begin"
    command = 'cat "$0"; cut -d" " -f5 /proc/self/stat'
    assert finish(start("sh", "-c", command, begin_file)) == (0, "")
    begin = read(begin_file)
    lines = (tmp_path / "launch/stdout").read_text().splitlines()
    assert json.loads(lines[0]) == begin
    assert int(lines[1]) == begin["pgid"]
    assert list(begin) == ["schema", "time", "host", "pid", "pgid", "boot_id", "starttime"]
    assert (begin["schema"], begin["host"]) == (1, socket.gethostname())
    assert begin["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert before - 1 < begin["time"] <= read(tmp_path / "launch/end")["time"] <= time.time() + 1


def test_begin_names_a_process_that_can_be_found(start: Start, tmp_path: Path) -> None:
    start("sleep", "60")
    begin_file = tmp_path / "launch/begin"
    wait_until(begin_file.exists, "begin")
    begin = read(begin_file)
    fields = Path(f"/proc/{begin['pid']}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[22 - 3]) == begin["starttime"]
    assert os.getpgid(begin["pgid"]) == begin["pgid"]
    assert not (tmp_path / "launch/end").exists()
    assert sorted(path.name for path in (tmp_path / "launch").iterdir()) == [
        "begin", f"host.{socket.gethostname()}", "stderr", "stdout",
    ]  # fmt: skip


def test_host_facts(start: Start, tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert finish(start(sys.executable, "-c", busy))[0] == 0
    host = read(tmp_path / f"launch/host.{socket.gethostname()}")
    assert host.pop("mitigations", {}) is not None
    assert list(host) == [
        "schema", "host", "kernel", "cpu_model", "cores", "sockets", "memory_bytes", "governor", "smt",
        "load_before", "load_after", "running_before", "busy_cpu_seconds", "own_cpu_seconds",
        "foreign_cpu_share",
    ]  # fmt: skip
    assert host["kernel"] == os.uname().release
    assert host["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert host["memory_bytes"] >= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.99
    assert host["own_cpu_seconds"] >= 0.3
    assert read(tmp_path / "launch/end")["cpu_seconds"] >= 0.3
    assert host["foreign_cpu_share"] >= 0
    if Path("/sys/devices/system/cpu/cpu0/topology/physical_package_id").exists():
        assert host["sockets"] >= 1


def test_cpu_time_of_grandchildren_counts(start: Start, tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert finish(start("sh", "-c", f"{sys.executable} -c '{busy}'; true"))[0] == 0
    assert read(tmp_path / "launch/end")["cpu_seconds"] >= 0.3


@pytest.mark.parametrize("command", ["sleep 300", "trap '' TERM; sleep 300; sleep 300"])
def test_time_limit(start: Start, tmp_path: Path, command: str) -> None:
    process = start("sh", "-c", command, options=("--limit", "0.3", "--grace", "0.2"))
    assert finish(process) == (124, "")
    end = read(tmp_path / "launch/end")
    assert end["timed_out"] is True
    assert end["status"] is None
    assert end["signal"] in (signal.SIGTERM, signal.SIGKILL)
    assert end["seconds"] >= 0.3


def test_time_limit_reaches_who_left_the_session(start: Start, tmp_path: Path) -> None:
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


def test_leftovers_do_not_hide_in_deep_trees(start: Start, tmp_path: Path) -> None:
    deep = "import os, time\nfor _ in range(20):\n    if os.fork(): os._exit(0)\n    os.setsid()\n"
    deep += "time.sleep(300)"
    assert finish(start(sys.executable, "-c", deep, options=("--grace", "0"))) == (0, "")
    assert read(tmp_path / "launch/end")["leftovers"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_everything_without_end(start: Start, tmp_path: Path, number: signal.Signals) -> None:
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
        assert begin >= end - 0.001  # both were cut to milliseconds
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("how", ["signal", "watch"])
def test_waiting_for_the_lock_can_be_given_up(start: Start, tmp_path: Path, how: str) -> None:
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


def test_no_descriptor_but_the_lock_is_inherited(start: Start, tmp_path: Path) -> None:
    program = (
        "import os\nfor n in sorted(map(int, os.listdir('/proc/self/fd'))):\n"
        "    try: print(os.readlink(f'/proc/self/fd/{n}'))\n    except OSError: pass"
    )
    process = start(sys.executable, "-c", program, options=("--lock", str(tmp_path / "lock")))
    assert finish(process) == (0, "")
    launch = tmp_path / "launch"
    names = ["/dev/null", str(launch / "stdout"), str(launch / "stderr"), str(tmp_path / "lock")]
    assert (launch / "stdout").read_text().splitlines() == names


def test_signals_are_as_usual_in_the_command(start: Start, tmp_path: Path) -> None:
    assert finish(start("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")) == (0, "")
    masks = [int(line.split()[1], 16) for line in (tmp_path / "launch/stdout").read_text().splitlines()]
    assert masks[0] == 0
    assert not masks[1] >> (signal.SIGPIPE - 1) & 1


GOOD = {"--dir": "launch", "--limit": "5"}


@pytest.mark.parametrize(
    ("changes", "command", "complaint"),
    [
        ({"--dir": None}, ["true"], "--dir"),
        ({"--limit": None}, ["true"], "--limit"),
        ({"--limit": "soon"}, ["true"], "soon"),
        ({"--limit": "0"}, ["true"], "'0'"),
        ({"--limit": "inf"}, ["true"], "inf"),
        ({"--grace": "-1"}, ["true"], "-1"),
        ({"--watch": "0"}, ["true"], "--watch"),
        ({"--what": "1"}, ["true"], "--what"),
        ({"--dir": "missing"}, ["true"], "missing"),
        ({"--dir": "file"}, ["true"], "file"),
        ({"--lock": "missing/lock"}, ["true"], "missing/lock"),
        ({"--lock": "link"}, ["true"], "link"),
        ({"--lock": "launch"}, ["true"], "launch"),
        ({}, [], "COMMAND"),
        ({}, ["no-such-command-anywhere"], "no-such-command-anywhere"),
        ({}, ["./file"], "./file"),
    ],
)
def test_wrong_use(
    wrapper: Path, tmp_path: Path, changes: dict[str, str | None], command: list[str], complaint: str
) -> None:
    (tmp_path / "launch").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    options = [part for name, value in {**GOOD, **changes}.items() if value for part in (name, value)]
    done = subprocess.run(
        [str(wrapper), *options, "--", *command], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("fabricbench-launch: ")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "launch").iterdir()) == []


def test_a_used_directory_is_refused(start: Start, tmp_path: Path) -> None:
    assert finish(start("true")) == (0, "")
    before = (tmp_path / "launch/end").read_text()
    code, complaint = finish(start("true"))
    assert (code, "already holds a launch" in complaint) == (2, True)
    assert (tmp_path / "launch/end").read_text() == before


def test_a_file_that_is_no_program(start: Start, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    code, complaint = finish(start(broken))
    assert (code, str(broken) in complaint) == (126, True)
    assert read(tmp_path / "launch/end")["status"] == 126


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tiny file system needs root")
    disk = tmp_path / "launch"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_disk_full_before_the_command(start: Start, tiny_disk: Path, tmp_path: Path) -> None:
    (tiny_disk / "fill").write_bytes(bytes(64 * 1024))
    code, complaint = finish(start("touch", tmp_path / "executed"))
    assert code == 75
    assert str(tiny_disk) in complaint
    assert "No space left" in complaint
    assert not (tmp_path / "executed").exists()


def test_disk_full_after_the_command(start: Start, tiny_disk: Path) -> None:
    code, complaint = finish(start("sh", "-c", f"head -c 100000 /dev/zero > {tiny_disk}/fill; true"))
    assert code == 75
    assert "/host." in complaint
    assert (tiny_disk / "begin").exists()
    assert not (tiny_disk / "end").exists()
    assert not [path for path in tiny_disk.iterdir() if path.name.endswith(".tmp")]
