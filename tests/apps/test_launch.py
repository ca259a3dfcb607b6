# SPDX-License-Identifier: Apache-2.0
"""Tests the files that the launch wrapper writes for small commands, and its error messages."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import wait_until
from support.wrapped import Start, finish, read


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


def test_begin_exists_before_the_command(start: Start, tmp_path: Path) -> None:
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


def test_begin_identifies_a_running_process(start: Start, tmp_path: Path) -> None:
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
        "schema", "host", "boot_id", "kernel", "kernel_command_line", "cpu_model", "cores", "instructions", "topology",
        "sockets", "numa", "governor", "frequency_driver", "boost", "smt", "memory_bytes", "transparent_hugepages",
        "hugepages", "topology_address", "nics", "load_before", "load_after", "running_before", "seconds",
        "busy_cpu_seconds", "own_cpu_seconds", "foreign_cpu_share", "counters",
    ]  # fmt: skip
    assert host["kernel"] == os.uname().release
    assert host["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert host["memory_bytes"] >= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.99
    assert host["own_cpu_seconds"] >= 0.3
    assert read(tmp_path / "launch/end")["cpu_seconds"] >= 0.3
    assert host["foreign_cpu_share"] >= 0
    if Path("/sys/devices/system/cpu/cpu0/topology/physical_package_id").exists():
        assert host["sockets"] >= 1


def test_cpu_time_includes_grandchildren(start: Start, tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert finish(start("sh", "-c", f"{sys.executable} -c '{busy}'; true"))[0] == 0
    assert read(tmp_path / "launch/end")["cpu_seconds"] >= 0.3


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


def test_the_command_has_default_signal_settings(start: Start, tmp_path: Path) -> None:
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
        ({"--host": "maybe"}, ["true"], "maybe"),
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
    process = subprocess.run(
        [str(wrapper), *options, "--", *command], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 2
    assert process.stderr.startswith("fabricbench-launch: ")
    assert complaint in process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert list((tmp_path / "launch").iterdir()) == []


def test_a_used_directory_is_rejected(start: Start, tmp_path: Path) -> None:
    assert finish(start("true")) == (0, "")
    before = (tmp_path / "launch/end").read_text()
    code, complaint = finish(start("true"))
    assert (code, "already holds a launch" in complaint) == (2, True)
    assert (tmp_path / "launch/end").read_text() == before


def test_a_file_that_cannot_be_executed(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text("#!/no/such/interpreter\n")
    file.chmod(0o755)
    code, complaint = finish(start(file))
    assert (code, str(file) in complaint) == (126, True)
    assert read(tmp_path / "launch/end")["status"] == 126


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system of 64 KiB and returns its path."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tiny file system needs root")
    disk = tmp_path / "launch"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    process = subprocess.run(mount, capture_output=True, text=True)
    if process.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {process.stderr.strip()}")
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
