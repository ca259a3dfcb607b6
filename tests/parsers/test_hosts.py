# SPDX-License-Identifier: Apache-2.0
"""Reads the files with the facts of nodes, with valid and invalid contents."""

import json
from pathlib import Path

import pytest

from fabricbench.parsers.hosts import read_hosts
from fabricbench.parsers.output import Unreadable


def leave(directory: Path, host: str, name: str = "") -> None:
    facts = {"schema": 1, "host": host, "counters": {"eth0": {"tx_bytes": [1, 3], "rx_bytes": [4, None]}}}
    (directory / f"host.{name or host}").write_text(json.dumps(facts))


def test_every_node_by_its_name(tmp_path: Path) -> None:
    leave(tmp_path, "n2")
    leave(tmp_path, "n1")
    hosts = read_hosts(tmp_path)
    assert [host.host for host in hosts] == ["n1", "n2"]
    assert hosts[0].counters == {"eth0": {"tx_bytes": (1, 3), "rx_bytes": (4, None)}}


def test_a_file_of_a_version_without_counters(tmp_path: Path) -> None:
    (tmp_path / "host.vm").write_text('{"schema": 1, "host": "vm", "cores": 2}')
    assert [(host.host, host.counters) for host in read_hosts(tmp_path)] == [("vm", None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "JSON"),
        (b"\xff\0", "JSON"),
        (b"[]", "Input should be"),
        (b"{}", "host: Field required"),
        (b'{"host": "n1", "counters": []}', "counters: "),
        (b'{"host": "n1", "counters": {"eth0": 3}}', "counters.eth0: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": 3}}}', "counters.eth0.tx_bytes: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1]}}}', "counters.eth0.tx_bytes.1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, 2, 3]}}}', "counters.eth0.tx_bytes: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [-1, 2]}}}', "counters.eth0.tx_bytes.0: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, 1e300]}}}', "counters.eth0.tx_bytes.1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [1, NaN]}}}', "counters.eth0.tx_bytes.1: "),
        (b'{"host": "n1", "counters": {"eth0": {"tx_bytes": [true, "2"]}}}', "counters.eth0.tx_bytes.0: "),
    ],
)
def test_a_file_without_facts_of_a_node(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "host.n1").write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        read_hosts(tmp_path)
    assert str(caught.value).startswith(f"host.n1: expected {message}")
    assert "\n" not in str(caught.value)


def test_a_node_has_one_file(tmp_path: Path) -> None:
    leave(tmp_path, "n1")
    leave(tmp_path, "n1", name="n2")
    with pytest.raises(Unreadable, match=r"host\.n2: expected the facts of another node, these are of n1 again"):
        read_hosts(tmp_path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "host.n1").symlink_to("/etc/hostname")
    with pytest.raises(Unreadable, match=r"host\.n1: expected a regular file"):
        read_hosts(tmp_path)
