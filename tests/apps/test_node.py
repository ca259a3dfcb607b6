# SPDX-License-Identifier: Apache-2.0
"""Tests the node facts of fabricbench-node: counters, interfaces, adapters, and which rank writes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.node import HOST, environment
from support.wrapped import Json, read

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
        "ports/1/hw_counters/rcvd_pkts": "8", "ports/1/gid_attrs/ndevs/0": "eth1",
    },
    "infiniband/siw0": {
        "node_type": "4: RNIC", "ports/1/link_layer": "Ethernet",
        "ports/1/gids/0": "5254:0078:0201:0000:0000:0000:0000:0000",
    },
    "net/eth1": {"address": "52:54:00:78:01:01"},
    "net/eth2": {"address": "52:54:00:78:02:01"},
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
        "link_layer": "InfiniBand", "state": "ACTIVE", "lid": "0x12", "sm_lid": "0x1", "interface": None,
    }  # fmt: skip
    # RoCE names the interface of its GID; the GID of iWARP begins with the hardware address of the interface.
    assert {name: port(facts, name)["interface"] for name in ("rxe0:1", "siw0:1")} == {
        "rxe0:1": "eth1",
        "siw0:1": "eth2",
    }
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
