# SPDX-License-Identifier: Apache-2.0
"""Tests that fabricbench-node does not affect the program that it starts: witness, signals, exit status, wrong use."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.node import HOST, environment
from support.processes import wait_until
from support.wrapped import read


@pytest.mark.parametrize("local_rank", ["0", "1"])
def test_the_program_has_the_witness_and_unblocked_signals(
    node: Path, out: Path, witness: Path, local_rank: str
) -> None:
    program = 'echo "$LD_PRELOAD $FABRICBENCH_WITNESS_DIR $FABRICBENCH_EXPECT_RANKS"; grep ^SigBlk /proc/self/status'
    process = subprocess.run(
        [node, "--dir", out, "--witness", witness, "--expect", "2", "--", "sh", "-c", program],
        env=environment(SLURM_LOCALID=local_rank, SLURM_PROCID=local_rank),
        check=True,
        capture_output=True,
        text=True,
    )
    first, second = process.stdout.splitlines()
    assert first.split() == [str(witness), str(out), "2"]
    assert int(second.split()[1], 16) == 0
    assert list(out.glob(f"witness.{socket.gethostname()}.{local_rank}*.json"))


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 0", 0), ("exit 37", 37), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -KILL $$", -signal.SIGKILL)],
)
def test_the_exit_status_is_that_of_the_program(node: Path, out: Path, command: str, status: int) -> None:
    process = subprocess.run(
        [node, "--dir", out, "--", "sh", "-c", f"ulimit -c 0; {command}"], env=environment(), timeout=60
    )
    assert process.returncode == status
    assert read(out / HOST)["load_after"] is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_signals_reach_the_program(node: Path, out: Path, tmp_path: Path, number: signal.Signals) -> None:
    ready = tmp_path / "ready"
    program = f"import pathlib, signal, sys\npathlib.Path({str(ready)!r}).touch()\nsys.exit(signal.sigwait([{number}]))"
    program = f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [{number}])\n{program}"
    with subprocess.Popen([node, "--dir", out, "--", sys.executable, "-c", program], env=environment()) as process:
        wait_until(ready.exists, "the program")
        process.send_signal(number)
        assert process.wait(timeout=60) == number


def test_killing_fabricbench_node_keeps_the_facts_and_ends_the_program(node: Path, out: Path, tmp_path: Path) -> None:
    output = tmp_path / "pid"
    with subprocess.Popen(
        [node, "--dir", out, "--", "sh", "-c", f"echo $$ > {output}; exec sleep 300"], env=environment()
    ) as process:
        wait_until(lambda: output.exists() and output.read_text().endswith("\n"), "the program")
        process.kill()
    pid = int(output.read_text())
    wait_until(lambda: not _alive(pid), "the program's end")
    assert read(out / HOST)["counters"]["lo"]["tx_bytes"][1] is None


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["--", "true"], 2, "--dir"),
        (["--dir", "{out}"], 2, "PROGRAM"),
        (["--dir", "missing", "--", "true"], 2, "missing"),
        (["--dir", "{out}", "--expect", "two", "--", "true"], 2, "two"),
        (["--dir", "{out}", "--what", "1", "--", "true"], 2, "--what"),
        (["--dir", "{out}", "--", "no-such-program"], 127, "no-such-program"),
        (["--dir", "{out}", "--", "/"], 126, "/"),
    ],
)
def test_wrong_use(node: Path, out: Path, arguments: list[str], status: int, complaint: str) -> None:
    words = [word.replace("{out}", str(out)) for word in arguments]
    process = subprocess.run([node, *words], env=environment(), capture_output=True, text=True, timeout=60)
    assert process.returncode == status
    assert process.stderr.startswith("fabricbench-node: ")
    assert complaint in process.stderr
    assert len(process.stderr.splitlines()) == 1
