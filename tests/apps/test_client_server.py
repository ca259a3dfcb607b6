# SPDX-License-Identifier: Apache-2.0
"""Tests fabricbench-client-server: the client starts after the server listens, output is complete, processes end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import alive, wait_until
from support.witnessed import environment, reports

SERVER = """
import os, socket, sys, time
port, say, after = int(sys.argv[1]), sys.argv[2], sys.argv[3]
open(sys.argv[4] + "/server." + say, "w").write(f"{os.getpid()} {os.environ['FABRICBENCH_RANK']}")
print("the server's words must not be seen")
time.sleep(0.2)
listening = socket.create_server(("127.0.0.1", port))
connection, _ = listening.accept()
data = connection.recv(100)
connection.sendall(say.encode() + data)
connection.close()
if after == "stay":
    time.sleep(300)
sys.exit(int(after) if after.isdigit() else 0)
"""

CLIENT = """
import os, socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
connection.sendall(b"!")
print(connection.recv(100).decode(), os.environ["FABRICBENCH_RANK"], os.environ["FABRICBENCH_RANKS"])
sys.stdout.write("cut line")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def client_server(prefix: Path) -> Path:
    return prefix / "bin/fabricbench-client-server"


def arguments(folder: Path, *options: str, after: str = "0", status: str = "0") -> list[str]:
    server = [sys.executable, "-c", SERVER, "{port}", "{value}", after, str(folder)]
    return [*options, "--", *server, "::", sys.executable, "-c", CLIENT, "{port}", status]


def run(client_server: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environ}
    return subprocess.run([client_server, *words], env=env, capture_output=True, text=True, timeout=60, check=False)


def test_every_value_starts_a_server_and_a_client(client_server: Path, tmp_path: Path) -> None:
    process = run(client_server, *arguments(tmp_path, "--each", "8,16+32"))
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.splitlines() == [
        "#@round=0 value=8", "8! 1 2", "cut line",
        "#@round=1 value=16", "16! 1 2", "cut line",
        "#@round=1 value=32", "32! 1 2", "cut line",
        "#@end=ok",
    ]  # fmt: skip
    assert [(tmp_path / f"server.{value}").read_text().split()[1] for value in (8, 16, 32)] == ["0"] * 3


def test_a_failed_client_gives_the_exit_status(client_server: Path, tmp_path: Path) -> None:
    process = run(client_server, *arguments(tmp_path, "--each", "1,2", status="7"))
    assert process.returncode == 7
    assert process.stdout.splitlines() == ["#@round=0 value=1", "1! 1 2", "cut line"]
    assert not (tmp_path / "server.2").exists()


def test_a_server_that_fails_after_the_client_gives_the_exit_status(client_server: Path, tmp_path: Path) -> None:
    process = run(client_server, *arguments(tmp_path, "--each", "1", after="5"))
    assert process.returncode == 5
    assert "exit status 5" in process.stderr
    assert "#@end=ok" not in process.stdout


def test_a_server_that_keeps_running_is_ended(client_server: Path, tmp_path: Path) -> None:
    process = run(client_server, *arguments(tmp_path, "--each", "1", after="stay"))
    assert process.returncode == 0
    assert not alive(int((tmp_path / "server.1").read_text().split()[0]))


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (["false"], "ended before it listened, exit status 1"),
        (["/no/such/server"], "ended before it listened, exit status 127"),
        (["sleep", "300"], "did not listen on port"),
    ],
)
def test_a_server_that_does_not_listen(client_server: Path, server: list[str], message: str) -> None:
    process = run(client_server, "--listen", "0.3", "--", *server, "::", "true")
    assert process.returncode == 1
    assert message in process.stderr
    assert "#@" not in process.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing: "),
        (["--", "a"], "missing: "),
        (["--", "::", "b"], "missing: "),
        (["--", "a", "::"], "missing: "),
        (["--listen", "x", "--", "a", "::", "b"], "is not a positive number"),
        (["--listen", "-1", "--", "a", "::", "b"], "is not a positive number"),
        (["--what", "1", "--", "a", "::", "b"], "unknown option"),
        (["--each"], "the value is missing"),
    ],
)
def test_wrong_use(client_server: Path, words: list[str], message: str) -> None:
    process = run(client_server, *words)
    assert process.returncode == 2
    assert process.stderr.startswith("fabricbench-client-server: ")
    assert message in process.stderr
    assert process.stderr.endswith("; see fabricbench-client-server --help\n")
    assert len(process.stderr.splitlines()) == 1


def test_killing_it_ends_the_server(client_server: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [client_server, *arguments(tmp_path, "--each", "1", after="stay")], stdout=subprocess.DEVNULL
    )
    id_file = tmp_path / "server.1"
    wait_until(lambda: id_file.exists() and id_file.read_text(), "the server")
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not alive(int(id_file.read_text().split()[0])), "the server's end")


def test_the_witness_distinguishes_server_and_client(client_server: Path, witness: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    env = environment(witness, tmp_path / "out")
    preload = ["env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", f"FABRICBENCH_WITNESS_DIR={tmp_path / 'out'}"]
    env.pop("FABRICBENCH_WITNESS_DIR")
    words = [
        part
        for word in arguments(tmp_path, "--each", "1,2")
        for part in ([word, *preload] if word in ("--", "::") else [word])
    ]
    process = subprocess.run([client_server, *words], env=env, capture_output=True, timeout=60, check=False)
    assert process.returncode == 0
    result = [(report["rank"], report["world_size"], report["forked"]) for report in reports(tmp_path / "out")]
    assert sorted(result) == [(0, 2, False), (0, 2, False), (1, 2, False), (1, 2, False)]
