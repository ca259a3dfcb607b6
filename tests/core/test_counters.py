# SPDX-License-Identifier: Apache-2.0
"""What moved on the ports of the nodes, from the files of the nodes."""

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.core.counters import port_counters, read_counters


def leave(directory: Path, host: str, counters: Any, name: str = "") -> None:
    (directory / f"host.{name or host}").write_text(json.dumps({"schema": 1, "host": host, "counters": counters}))


def test_bytes_by_node_and_port(tmp_path: Path) -> None:
    for number, host in enumerate(("n1", "n2")):
        eth0 = {"tx_bytes": [10, 110 + number], "rx_bytes": [5, 205], "tx_packets": [1, 3]}
        leave(tmp_path, host, {"eth0": eth0, "lo": {"tx_bytes": [0, 0], "rx_bytes": [0, 0]}})
    assert read_counters(tmp_path) == {
        "n1": {"eth0": (100, 200), "lo": (0, 0)},
        "n2": {"eth0": (101, 200), "lo": (0, 0)},
    }
    assert port_counters(tmp_path)["n1"]["eth0"] == {"tx_bytes": 100, "rx_bytes": 200, "tx_packets": 2}


def test_an_adapter_that_counts_packets_only(tmp_path: Path) -> None:
    leave(tmp_path, "n1", {"rxe0:1": {"tx_packets": [0, 55_870], "rx_packets": [0, 55_870]}})
    assert port_counters(tmp_path) == {"n1": {"rxe0:1": {"tx_packets": 55_870, "rx_packets": 55_870}}}
    assert read_counters(tmp_path) == {"n1": {}}


@pytest.mark.parametrize(
    "readings",
    [
        [5, None],
        [None, 5],
        [None, None],
        None,
        [7, 5],
        [0, 4 * (2**32 - 1)],
        [4 * (2**32 - 1), 4 * (2**32 - 1)],
    ],
)
def test_a_counter_that_cannot_be_told_is_left_out(tmp_path: Path, readings: Any) -> None:
    leave(tmp_path, "n1", {"mlx5_0:1": {"tx_bytes": readings, "rx_bytes": [1, 2]}})
    assert port_counters(tmp_path) == {"n1": {"mlx5_0:1": {"rx_bytes": 1}}}
    assert read_counters(tmp_path) == {"n1": {}}


@pytest.mark.parametrize("counters", [None, {}, {"eth0": None}, {"eth0": {}}])
def test_a_node_that_counts_nothing_is_there(tmp_path: Path, counters: Any) -> None:
    leave(tmp_path, "n1", counters)
    assert read_counters(tmp_path) == {"n1": {}}


def test_a_file_from_before_there_were_counters(tmp_path: Path) -> None:
    (tmp_path / "host.vm").write_text('{"schema": 1, "host": "vm", "cores": 2}')
    (tmp_path / "host.n1.tmp").write_text("half a fi")
    assert read_counters(tmp_path) == {"vm": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"host\.n1: Invalid JSON"),
        (b"\xff\0", r"host\.n1: Invalid JSON"),
        (b"[]", r"host\.n1: Input should be"),
        (b"{}", r"host\.n1: host: Field required"),
        (b'{"host": "n1", "counters": []}', r"host\.n1: counters: "),
        (b'{"host": "n1", "counters": {"eth0": 3}}', r"host\.n1: counters.eth0: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": 3}}}', r"host\.n1: counters.eth0.tx_bytes: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1]}}}', r"host\.n1: counters.eth0.tx_bytes.1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, 2, 3]}}}', r"host\.n1: counters.eth0.tx_bytes: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [-1, 2]}}}', r"host\.n1: counters.eth0.tx_bytes.0: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, 1e300]}}}', r"host\.n1: counters.eth0.tx_bytes.1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, NaN]}}}', r"host\.n1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [true, "2"]}}}', r"host\.n1: counters.eth0.tx_bytes.0: "),
    ],
)
def test_a_file_that_is_no_nodes(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "host.n1").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_counters(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_node_stands_once(tmp_path: Path) -> None:
    leave(tmp_path, "n1", None)
    leave(tmp_path, "n1", None, name="n2")
    with pytest.raises(ValueError, match=r"host\.n2: a second file of the node n1"):
        read_counters(tmp_path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "host.n1").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match=r"host\.n1: no regular file"):
        read_counters(tmp_path)
