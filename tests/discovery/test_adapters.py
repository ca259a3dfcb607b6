# SPDX-License-Identifier: Apache-2.0
"""Adapters and interfaces in the files of nodes with InfiniBand, RoCE, iWARP, Omni-Path, Slingshot, and without any."""

import subprocess
from pathlib import Path

import pytest

from discovery.machines import files_of
from fabricbench.discovery.adapters import host_name, interfaces, memory_bytes, natural, ports
from fabricbench.discovery.node_files import command, parse, read_here


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (
            "infiniband",
            [
                ("mlx5_0:1", "infiniband", True, 200.0, None),
                ("mlx5_1:1", "infiniband", True, 200.0, None),
                ("mlx5_10:1", "infiniband", False, 10.0, None),
            ],
        ),
        ("roce", [("mlx5_0:1", "roce", True, 100.0, 3)]),
        ("omnipath", [("hfi1_0:1", "omnipath", True, 100.0, None)]),
        ("slingshot", [("cxi0", "slingshot", True, None, None), ("cxi1", "slingshot", True, None, None)]),
        ("iwarp", [("irdma0:1", "iwarp", True, 100.0, None)]),
        ("software", [("rxe0:1", "roce", True, 2.5, 0), ("siw0:1", "iwarp", True, 2.5, None)]),
        ("unknown", [("efa_0:1", "unknown", True, 100.0, None)]),
        ("ethernet", []),
        ("none", []),
    ],
)
def test_ports(machine: str, expected: list[tuple[object, ...]]) -> None:
    found = [(port.name, port.kind, port.active, port.rate_gbit, port.gid_index) for port in ports(files_of(machine))]
    assert found == expected


def test_counters_and_interfaces_of_ports() -> None:
    by_name = {port.name: port for name in ("software", "roce", "iwarp") for port in ports(files_of(name))}
    assert {name: (port.has_counters, port.interface, port.is_hardware) for name, port in by_name.items()} == {
        "rxe0:1": (True, "eth1", False),
        "siw0:1": (False, "eth2", False),
        "mlx5_0:1": (True, "ens1f0np0", True),
        "irdma0:1": (False, "ens2f0", True),
    }


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("infiniband", [("eno1", "ethernet", 1000), ("ib0", "ipoib", 200000)]),
        ("roce", [("eno1", "ethernet", 1000), ("ens1f0np0", "ethernet", 100000)]),
        ("software", [("eth0", "ethernet", None), ("eth1", "ethernet", None), ("eth2", "ethernet", None)]),
        ("ethernet", [("bond0", "ethernet", 50000)]),
        ("none", []),
    ],
)
def test_interfaces(machine: str, expected: list[tuple[object, ...]]) -> None:
    """Interfaces that are down, without an IPv4 network, bridges and wireless ones are left out."""
    found = [(one.name, one.kind, one.speed_mbit) for one in interfaces(files_of(machine))]
    assert found == expected


def test_name_and_memory_of_a_node() -> None:
    files = files_of("infiniband")
    assert (host_name(files), memory_bytes(files)) == ("c001", 263766340 * 1024)
    assert (host_name({}), memory_bytes({})) == ("", None)


def test_numbers_in_names_are_compared_as_numbers() -> None:
    assert sorted(["mlx5_10", "mlx5_9", "cxi0"], key=natural) == ["cxi0", "mlx5_9", "mlx5_10"]


def test_the_command_for_nodes_prints_the_files_that_are_read_here() -> None:
    """This machine's own files, read directly and by the command; counters and free memory may change between."""
    printed = parse(subprocess.run(command(), capture_output=True, text=True, check=True).stdout)
    here = read_here()
    assert printed.keys() == here.keys()
    stable = [path for path in here if path.endswith(("/type", "hostname"))]
    assert [printed[path] for path in stable] == [here[path] for path in stable] != []


def test_files_that_cannot_be_read_are_absent(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/net/eth0"
    folder.mkdir(parents=True)
    (folder / "type").write_text("1\n")
    (folder / "speed").mkdir()
    (folder / "operstate").write_text("")
    assert read_here(tmp_path) == {"/sys/class/net/eth0/type": ("1",)}


def test_lines_of_other_programs_are_ignored() -> None:
    text = "srun: job 7 queued\nno colon\n/proc/sys/kernel/hostname:n1\n"
    assert parse(text) == {"/proc/sys/kernel/hostname": ("n1",)}
