# SPDX-License-Identifier: Apache-2.0
"""Attests captured launches over RoCE, iWARP and Open-MX, with right and with wrong settings (tests/data/rdma)."""

import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Attestation, Record
from support.launches import change

CAPTURES = Path(__file__).resolve().parents[1] / "data/rdma"
ATTESTED = {
    # the smallest share of the payload, after the headers of the frames
    "mpich-roce-large": (1.0, 1.05),
    "mpich-roce-small": (1.0, 1.2),
    "openmpi-roce-large": (1.0, 1.05),
    "openmpi-iwarp-large": (1.0, 1.05),
    "mpich-ofi-iwarp-small": (1.0, 1.2),
    "mvapich2-roce-large": (1.0, 1.05),
    "mvapich2-roce-small": (1.0, 1.2),
    "mvapich2-iwarp-large": (1.0, 1.05),
    "mvapich2-iwarp-small": (1.0, 1.2),
    "verbs-roce-perftest-small": (1.0, 1.4),  # four programs, each with a connection of its own
    "verbs-roce-ibv-small": (1.0, 1.2),
    "libfabric-iwarp-small": (1.0, 1.4),
    "mpich-mx-large": (1.0, 1.05),
    "mpich-mx-small": (1.0, 1.3),
    "mpich-shm-large": (0.0, 0.0),
    "openmpi-shm-large": (0.0, 0.01),
}
ATTESTED_BY_PORTS = (
    *("mpich-roce-large", "openmpi-iwarp-large", "mpich-ofi-iwarp-small", "mpich-mx-small"),
    *("mvapich2-roce-large", "mvapich2-iwarp-large", "libfabric-iwarp-small"),
)
OTHERS = {
    "wrong-tcp-on-roce": ("refuted", "more than wire-up accounts for"),
    "wrong-roce-on-iwarp": ("refuted", "packets, which the fabric does not declare"),
    "wrong-adapter-of-libfabric": ("refuted", "only 0.0% of the payload was on the ports of the fabric: eth1"),
    "wrong-interface-of-mx": ("refuted", "only 0.0% of the payload was on the ports of the fabric: eth2"),
    "wrong-port-without-counters": ("unknown", "; its interface counts its traffic: ports=['eth2'] in the site's"),
    "wrong-one-node": ("unknown", "ranks opened /dev/infiniband/rdma_cm, /dev/infiniband/uverbs0"),
    "wrong-adapters-on-shm": ("unknown", "UCX opens no adapter with UCX_MODULES=^ib,rdmacm"),
    "failed-libfabric-without-adapter": ("failed", "OFI call ep_enable failed (default nic=rxe0: Invalid argument)"),
    "failed-openmpi-without-adapter": ("failed", "PML cm cannot be selected"),
}


def attestation_of(record: Record) -> Attestation:
    assert record.attestation is not None, record.reason
    return record.attestation


def test_every_capture_is_tested() -> None:
    assert {path.name for path in CAPTURES.iterdir() if path.is_dir()} == {*ATTESTED, *OTHERS}


@pytest.mark.parametrize("name", ATTESTED)
def test_a_launch_over_rdma_or_beside_it_is_attested(name: str) -> None:
    record = collect(CAPTURES / name)
    assert (record.state, record.reason) == ("ok", "")
    least, most = ATTESTED[name]
    share = attestation_of(record).share
    assert share is not None
    assert least <= share <= most


@pytest.mark.parametrize("name", OTHERS)
def test_wrong_settings_are_reported(name: str) -> None:
    record = collect(CAPTURES / name)
    state, reason = OTHERS[name]
    assert (record.state, reason in record.reason) == (state, True), record.reason
    assert record.launch is not None
    assert record.launch.function_only


def test_the_adapters_of_a_node_name_their_interfaces() -> None:
    """RoCE by its GIDs, iWARP by the hardware address in its GID."""
    host = (CAPTURES / "mpich-roce-large/host.n1").read_text()
    assert '"name":"rxe0:1","kind":"roce"' in host
    assert '"name":"siw0:1","kind":"iwarp"' in host
    assert [part.partition('"')[0] for part in host.split('"interface":"')[1:]] == ["eth1", "eth2"]


def test_packets_of_an_adapter_include_its_acknowledgements(tmp_path: Path) -> None:
    """Declared by its adapter, the same launch shows more than twice its messages; by its interface, its payload."""
    directory = Path(shutil.copytree(CAPTURES / "mpich-roce-small", tmp_path / "launch"))
    by_interface = attestation_of(collect(directory)).share
    change(directory / "launch.json", ports=["rxe0:1"])
    by_adapter = attestation_of(collect(directory)).share
    assert by_interface is not None
    assert by_adapter is not None
    assert by_interface < 1.2 < 2 < by_adapter


@pytest.mark.parametrize("share", [0.0, 0.5, 0.75])
@pytest.mark.parametrize("name", ATTESTED_BY_PORTS)
def test_missing_traffic_refutes_a_launch(tmp_path: Path, name: str, share: float) -> None:
    directory = Path(shutil.copytree(CAPTURES / name, tmp_path / "launch"))
    record = collect(directory)
    assert record.launch is not None
    for host in ("n1", "n2"):
        counters = {
            port: {counter: [0, int(share * value)] for counter, value in counts.items()}
            for port, counts in attestation_of(record).ports[host].items()
        }
        change(directory / f"host.{host}", counters=counters)
    assert collect(directory).state == "refuted"
