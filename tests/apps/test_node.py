# SPDX-License-Identifier: Apache-2.0
"""Tests fabricbench-node, which starts each rank: its node facts and counters, and that the program is unaffected."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.launch.witness import read_reports
from support.processes import wait_until
from support.wrapped import Json, read

HOST = f"host.{socket.gethostname()}"
TALK = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
link, _ = server.accept()
threading.Thread(target=client.sendall, args=(bytes(1_000_000),)).start()
left = 1_000_000
while left:
    left -= len(link.recv(left))
"""


@pytest.fixture(scope="session")
def node(prefix: Path) -> Path:
    """Returns the path of fabricbench-node."""
    return prefix / "bin/fabricbench-node"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Returns the directory for the node facts."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def environment(**local_rank: str) -> dict[str, str]:
    """Returns the environment without the variables of any launcher except these."""
    launchers = ("MPI_", "OMPI_", "PMI", "SLURM_", "FABRICBENCH_")
    return {name: value for name, value in os.environ.items() if not name.startswith(launchers)} | local_rank


def port(facts: Json, name: str) -> Json:
    """Returns the facts of one port."""
    return next(nic for nic in facts["nics"] if nic["name"] == name)


def test_counters_before_and_after(node: Path, out: Path) -> None:
    subprocess.run(
        [node, "--dir", out, "--", sys.executable, "-c", TALK], env=environment(SLURM_LOCALID="0"), check=True
    )
    facts = read(out / HOST)
    for name in ("tx_bytes", "rx_bytes"):
        before, after = facts["counters"]["lo"][name]
        assert after - before >= 1_000_000
    assert port(facts, "lo")["kind"] == "loopback"
    assert facts["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert facts["seconds"] > 0
    # The CPU time of the ranks comes from witness reports, which this launch does not have.
    assert (facts["own_cpu_seconds"], facts["foreign_cpu_share"]) == (None, None)
    assert [path.name for path in out.iterdir()] == [HOST]


def test_facts_exist_before_the_program(node: Path, out: Path) -> None:
    process = subprocess.run(
        [node, "--dir", out, "--", "cat", out / HOST], env=environment(), check=True, capture_output=True, text=True
    )
    facts = json.loads(process.stdout)
    assert all(after is None for before, after in facts["counters"]["lo"].values())
    assert (facts["load_after"], facts["busy_cpu_seconds"]) == (None, None)
    cores = [cpu for cores in facts["topology"]["cores"] for cpu in cores.split(",")]
    assert cores == sorted(set(cores), key=cores.index) != []
    assert len(facts["numa"]["distances"]) == (facts["numa"]["nodes"] or 0) == len(facts["topology"]["numa"])


@pytest.mark.parametrize(
    ("variables", "first"),
    [
        ({}, True),
        ({"SLURM_LOCALID": "0"}, True),
        ({"SLURM_LOCALID": "1"}, False),
        ({"MPI_LOCALRANKID": "1", "SLURM_LOCALID": "0"}, False),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "0", "SLURM_LOCALID": "1"}, True),
    ],
)
def test_one_rank_per_node_writes_the_facts(node: Path, out: Path, variables: dict[str, str], first: bool) -> None:
    with subprocess.Popen(
        [node, "--dir", out, "--", "sh", "-c", "echo $$"], env=environment(**variables), stdout=subprocess.PIPE
    ) as process:
        output = int(process.communicate(timeout=60)[0])
        assert (output != process.pid) == first
    assert [path.name for path in out.iterdir()] == ([HOST] if first else [])


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


MANY = 70


def start_ranks(node: Path, witness: Path, out: Path, base: Path, ranks: int, *program: str) -> list[int]:
    """Starts ranks of one node whose reports are gathered in ``base``. Returns their exit statuses."""
    command: list[str | Path] = [node, "--dir", out, "--witness", witness, "--expect", str(ranks)]
    command += ["--gather", base, "--", *program]
    processes = [
        subprocess.Popen(command, env=environment(PMI_RANK=str(rank), PMI_SIZE=str(ranks), MPI_LOCALRANKID=str(rank)))
        for rank in range(ranks)
    ]
    return [process.wait(timeout=60) for process in processes]


def handshake(folder: Path, ranks: int) -> str:
    """Returns a shell program whose ranks wait for each other, as MPI ranks do."""
    return f': > "{folder}/$PMI_RANK"; while [ "$(ls {folder} | wc -l)" -lt {ranks} ]; do sleep 0.1; done'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Creates the node's directory and one for the handshake of the ranks. Returns the former."""
    (tmp_path / "met").mkdir()
    (tmp_path / "node").mkdir()
    return tmp_path / "node"


def test_many_ranks_write_one_file(node: Path, witness: Path, out: Path, base: Path, tmp_path: Path) -> None:
    assert start_ranks(node, witness, out, base, MANY, "sh", "-c", handshake(tmp_path / "met", MANY)) == [0] * MANY
    assert sorted(path.name for path in out.iterdir()) == [HOST, f"witness.{socket.gethostname()}.jsonl"]
    reports = read_reports(out)
    ranks = [report.rank for report in reports if report.exe == os.path.realpath("/bin/sh") and not report.forked]
    assert sorted(set(ranks), key=str) == sorted(range(MANY), key=str)
    assert list(base.iterdir()) == []


def test_a_killed_rank_does_not_lose_the_reports_of_others(
    node: Path, witness: Path, out: Path, base: Path, tmp_path: Path
) -> None:
    program = f'{handshake(tmp_path / "met", 3)}; [ "$PMI_RANK" != 1 ] || kill -KILL $$; sleep 0.3'
    assert start_ranks(node, witness, out, base, 3, "sh", "-c", program) == [0, -signal.SIGKILL, 0]
    reports = [report for report in read_reports(out) if report.exe == os.path.realpath("/bin/sh")]
    assert {report.rank for report in reports} == {0, 2}
    assert list(base.iterdir()) == []


def test_old_directories_of_killed_launches_are_removed(node: Path, witness: Path, out: Path, base: Path) -> None:
    old, new, other = (base / f"fabricbench.{user}.{n}" for n, user in enumerate([os.geteuid(), os.geteuid(), "x"]))
    for folder in (old, new, other):
        folder.mkdir(mode=0o700)
        (folder / "member.1").touch()
    for folder in (old, other):
        os.utime(folder, (0, 0))
    assert start_ranks(node, witness, out, base, 1, "true") == [0]
    assert sorted(base.iterdir()) == [new, other]


def test_a_failed_rank_does_not_wait_for_the_others(node: Path, witness: Path, out: Path, base: Path) -> None:
    command: list[str | Path] = [node, "--dir", out, "--witness", witness, "--gather", base, "--", "sh", "-c"]
    with subprocess.Popen([*command, "sleep 300"], env=environment(MPI_LOCALRANKID="1")) as other:
        process = subprocess.run([*command, "exit 3"], env=environment(MPI_LOCALRANKID="0"), timeout=60)
        assert (process.returncode, other.poll()) == (3, None)
        other.kill()


def test_without_a_safe_directory_each_rank_writes_a_file(
    node: Path, witness: Path, out: Path, base: Path, tmp_path: Path
) -> None:
    output = tmp_path / "said"
    assert start_ranks(node, witness, out, base, 1, "sh", "-c", f'echo "$FABRICBENCH_WITNESS_DIR" > {output}') == [0]
    open_to_all = Path(output.read_text().strip())
    assert open_to_all.parent == base
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for where in (base, tmp_path / "missing"):
        for path in out.iterdir():
            path.unlink()
        assert start_ranks(node, witness, out, where, 2, "true") == [0, 0]
        names = [f"witness.{socket.gethostname()}.{rank}.json" for rank in range(2)]
        assert sorted(path.name for path in out.iterdir()) == [HOST, *names]
    assert list(open_to_all.iterdir()) == []


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


def test_interfaces_come_from_the_network_namespace(node: Path, out: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    subprocess.run([*command, node, "--dir", out, "--", "true"], env=environment(), check=True, timeout=60)
    facts = read(out / HOST)
    assert [nic["name"] for nic in facts["nics"]] == list(facts["counters"]) == ["lo"]
    assert port(facts, "lo")["state"] == "down"
    assert facts["counters"]["lo"]["tx_bytes"] == [0, 0]


ADAPTERS = {
    "infiniband/mlx5_0": {
        "node_type": "1: CA", "fw_ver": "16.35.2000", "device/vendor": "0x15b3", "device/device": "0x1017",
        "device/numa_node": "1", "device/current_link_speed": "8.0 GT/s PCIe", "device/current_link_width": "16",
        "ports/1/link_layer": "InfiniBand", "ports/1/state": "4: ACTIVE", "ports/1/rate": "100 Gb/sec (4X EDR)",
        "ports/1/lid": "0x12", "ports/1/sm_lid": "0x1", "ports/1/counters/port_xmit_data": "1000",
        "ports/1/counters/port_rcv_data": "2000", "ports/1/counters/port_xmit_packets": "30",
        "ports/1/counters/port_rcv_packets": "40",
    },
    "infiniband/rxe0": {
        "node_type": "1: CA", "ports/1/link_layer": "Ethernet", "ports/1/hw_counters/sent_pkts": "7",
        "ports/1/hw_counters/rcvd_pkts": "8",
    },
    "infiniband/siw0": {"node_type": "4: RNIC", "ports/1/link_layer": "Ethernet"},
    "cxi/cxi0": {
        "device/vendor": "0x17db", "device/device": "0x0501",
        "device/telemetry/hni_sts_tx_ok_octets": "12345@1700000000.5",
    },
}  # fmt: skip


@pytest.fixture
def fake_sys(tmp_path: Path) -> Path:
    """Creates a /sys with adapters that this machine lacks."""
    if os.geteuid() != 0:
        pytest.skip("another /sys needs root")
    for adapter, files in ADAPTERS.items():
        for name, text in files.items():
            file = tmp_path / "sys/class" / adapter / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")
    return tmp_path / "sys"


def test_adapters(node: Path, out: Path, fake_sys: Path) -> None:
    mounted = 'mount --bind "$1" /sys && shift && exec "$@"'
    command: list[str | Path] = ["unshare", "--mount", "sh", "-c", mounted, "sh"]
    command += [fake_sys, node, "--dir", out, "--", "true"]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    if "mount" in process.stderr:
        pytest.skip(f"nothing can be mounted here: {process.stderr.strip()}")
    assert process.returncode == 0, process.stderr
    facts = read(out / HOST)
    assert port(facts, "mlx5_0:1") == {
        "name": "mlx5_0:1", "kind": "infiniband", "driver": None, "firmware": "16.35.2000", "model": "15b3:1017",
        "speed_mbit": 100000, "mtu": None, "pcie_speed": "8.0 GT/s PCIe", "pcie_width": 16, "numa_node": 1,
        "link_layer": "InfiniBand", "state": "ACTIVE", "lid": "0x12", "sm_lid": "0x1",
    }  # fmt: skip
    kinds = {nic["name"]: nic["kind"] for nic in facts["nics"] if ":" in nic["name"] or nic["kind"] == "cxi"}
    assert kinds == {"mlx5_0:1": "infiniband", "rxe0:1": "roce", "siw0:1": "iwarp", "cxi0": "cxi"}
    # InfiniBand counts words of four bytes, soft-RoCE counts only packets, software iWARP has no counters.
    assert {name: facts["counters"][name] for name in kinds} == {
        "mlx5_0:1": {"tx_bytes": [4000] * 2, "rx_bytes": [8000] * 2, "tx_packets": [30] * 2, "rx_packets": [40] * 2},
        "rxe0:1": {"tx_packets": [7] * 2, "rx_packets": [8] * 2},
        "siw0:1": {},
        "cxi0": {"tx_bytes": [12345] * 2},
    }
    assert (facts["topology"], facts["sockets"]) == ({"cores": [], "sockets": [], "numa": []}, None)
