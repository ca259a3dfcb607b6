# SPDX-License-Identifier: Apache-2.0
"""Tests fabricbench-client-server: the client starts after the server listens, output is complete, processes end."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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


# ---- between nodes: two processes with the variables of srun take the place of two nodes

NODE_SERVER = """
import socket, sys, time
address, port, value = sys.argv[1], int(sys.argv[2]), sys.argv[3]
time.sleep(0.1)
listening = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
connection, _ = listening.accept()
connection.sendall(f"{value} at {address}".encode())
connection.close()
sys.exit(int(sys.argv[4]))
"""

NODE_CLIENT = """
import os, socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
print(connection.recv(100).decode(), "rank", os.environ["FABRICBENCH_RANK"])
sys.exit(int(sys.argv[3]))
"""


def between(
    client_server: Path, *options: str, server: str = "0", client: str = "0", nodes: str = "localhost"
) -> tuple[tuple[int, str, str], ...]:
    """Runs both sides. Returns exit status, output and messages of the server's side and of the client's."""
    words = [
        *options,
        *("--", sys.executable, "-c", NODE_SERVER, "{address}", "{port}", "{value}", server),
        *("::", sys.executable, "-c", NODE_CLIENT, "{address}", "{port}", client),
    ]
    step = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": str(time.monotonic_ns()), "SLURM_STEP_NODELIST": nodes}
    command = [str(client_server), *words]
    sides = [
        subprocess.Popen(
            command,
            env={**os.environ, **step, "SLURM_PROCID": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    done = []
    for side in sides:
        output, errors = side.communicate(timeout=60)
        done.append((side.returncode, output, errors))
    return tuple(done)


def test_server_and_client_on_two_nodes(client_server: Path) -> None:
    first, second = between(client_server, "--interface", "lo", "--each", "8,16+32", nodes="localhost,n[2-3]")
    assert first == (0, "", "")
    assert second[0] == 0, second[2]
    assert second[1].splitlines() == [
        "#@round=0 value=8", "8 at 127.0.0.1 rank 1",
        "#@round=1 value=16", "16 at 127.0.0.1 rank 1",
        "#@round=1 value=32", "32 at 127.0.0.1 rank 1",
        "#@end=ok",
    ]  # fmt: skip


def test_the_value_names_the_interface(client_server: Path) -> None:
    first, second = between(client_server, "--interface", "{value}", "--each", "lo,any")
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    own, link = (line for line in second[1].splitlines() if " at " in line)
    assert own == "lo at 127.0.0.1 rank 1"
    assert link.startswith(("any at 127.0.0.1 ", "any at ::1 "))


@pytest.mark.parametrize(("server", "client", "status"), [("0", "7", 7), ("5", "0", 5)])
def test_both_sides_end_with_the_status_of_a_failure(
    client_server: Path, server: str, client: str, status: int
) -> None:
    first, second = between(client_server, "--interface", "lo", "--each", "1,2", server=server, client=client)
    assert (first[0], second[0]) == (status, status)
    assert "value=2" not in second[1]
    assert "#@end" not in second[1]


def test_an_interface_that_the_node_lacks(client_server: Path) -> None:
    first, second = between(client_server, "--interface", "eth99")
    assert (first[0], second[0], second[1]) == (1, 1, "")
    assert "no interface or adapter 'eth99' with an address on this node" in first[2]


def test_an_adapter_without_an_interface_uses_the_address_of_the_nodes(client_server: Path) -> None:
    first, second = between(client_server, "--interface", "mlx5_99:1")
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]


def test_a_server_that_settles(client_server: Path) -> None:
    """The client starts after a fixed time, so that its server need not listen on a TCP port."""
    words = ("--settle", "0.2", "--", "sleep", "0.3", "::", "echo", "done")
    process = run(client_server, *words)
    assert (process.returncode, process.stdout) == (0, "#@round=0 value=\ndone\n#@end=ok\n")
    process = run(client_server, "--settle", "5", "--", "false", "::", "echo", "done")
    assert process.returncode == 1
    assert "ended before it listened, exit status 1" in process.stderr


def test_a_server_that_listens_need_not_settle(client_server: Path) -> None:
    server = "import socket, time; s = socket.create_server(('', {port})); time.sleep(9)"
    words = ("--settle", "1000", "--", sys.executable, "-c", server, "::", "echo", "done")
    process = run(client_server, *words)
    assert (process.returncode, process.stdout) == (0, "#@round=0 value=\ndone\n#@end=ok\n")


def test_between_nodes_it_needs_the_variables_of_srun(client_server: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    process = subprocess.run(
        [client_server, "--interface", "lo", "--", "true", "::", "true"], env=clean, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 2
    assert "SLURM_PROCID is not set: --interface is for two tasks that srun starts" in process.stderr


def test_another_program_on_the_port_is_not_taken_for_the_other_side(client_server: Path) -> None:
    """Two steps at once, whose ports may be the same: each client finds its own server."""
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: between(client_server, "--interface", "lo", "--each", "1"), range(3)))
    assert [(first[0], second[0]) for first, second in results] == [(0, 0)] * 3
