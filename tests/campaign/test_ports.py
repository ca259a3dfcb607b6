# SPDX-License-Identifier: Apache-2.0
"""The state of a captured launch whose transport and port counters are replaced."""

import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.campaign.digest import digest
from support.launches import change

CAPTURE = Path(__file__).resolve().parents[1] / "data/launches/openmpi-shm-micro-pingpong-small"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A launch of two ranks on two nodes with InfiniBand."""
    launch = tmp_path / "launch"
    shutil.copytree(CAPTURE, launch)
    change(launch / "launch.json", transport="verbs", fabric="ib", nodes=2, ports=["mlx5_0:1"])
    for rank in (0, 1):
        change(launch / f"witness.vm.{rank}.json", devices=["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"])
    (launch / "host.vm").rename(launch / "host.n1")
    shutil.copy(launch / "host.n1", launch / "host.n2")
    return launch


def count(directory: Path, bytes_: int, packets: int) -> None:
    for host in ("n1", "n2"):
        counters = {"tx_bytes": bytes_, "rx_bytes": bytes_, "tx_packets": packets, "rx_packets": packets}
        readings = {name: [7, 7 + value] for name, value in counters.items()}
        change(directory / f"host.{host}", host=host, counters={"mlx5_0:1": readings, "eth0": {"tx_bytes": [0, None]}})


@pytest.mark.parametrize(("share", "state"), [(1.2, "ok"), (0.8, "refuted")])
def test_the_state_follows_from_the_counters(directory: Path, share: float, state: str) -> None:
    count(directory, 0, 0)
    payload = collect(directory).attestation
    assert payload is not None
    assert payload.payload is not None
    count(directory, round(share * payload.payload.bytes / 2), round(share * payload.payload.messages / 2))
    record = collect(directory)
    assert (record.state, record.hosts) == (state, ("n1", "n2"))
    assert record.attestation is not None
    assert record.attestation.share == pytest.approx(share, rel=0.01)
    assert record.attestation.ports.keys() == {"n1", "n2"}


def test_counters_are_facts_of_the_digest(directory: Path) -> None:
    count(directory, 0, 0)
    before = digest(directory)
    count(directory, 1, 0)
    assert digest(directory) != before


def test_nodes_without_counters_are_unknown_and_nonsense_is_unreadable(directory: Path) -> None:
    change(directory / "host.n1", host="n1")
    change(directory / "host.n2", host="n2")
    record = collect(directory)
    assert record.state == "unknown"
    assert record.reason == "no counters of the port mlx5_0:1 on n1 from before and after the launch"
    change(directory / "host.n2", counters={"mlx5_0:1": {"tx_bytes": "many"}})
    record = collect(directory)
    assert record.state == "unreadable"
    assert record.reason.startswith("host.n2: expected counters.mlx5_0:1.tx_bytes: ")
