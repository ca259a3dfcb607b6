# SPDX-License-Identifier: Apache-2.0
"""Tests the rules for nodes with RDMA adapters that the fabric does not declare, on both sides of each threshold."""

from typing import Any

import pytest

from attestation.synthetic_launch import launch
from fabricbench.attestation.rules import attest
from fabricbench.launch.record import Attestation, Payload, Ports, Traffic

PAYLOAD = Payload(bytes=1_000_000, messages=1000)
UVERBS = "/dev/infiniband/uverbs0"
INTERFACES = {"n1": {"rxe0:1": "eth1", "siw0:1": "eth2"}, "n2": {"rxe0:1": "eth1", "siw0:1": "eth2"}}


def carried(**values: Any) -> Traffic:
    defaults: dict[str, Any] = {"devices": (UVERBS,), "libraries": (), "shared_maps": 0, "dropped": 0, "by_peer": {}}
    counts = {"reports": 2, "connections": 0, "bytes": 0, "segments": 0}
    return Traffic.model_validate(defaults | counts | values)


def counts(**packets_and_bytes: tuple[int, int | None]) -> Ports:
    """Returns the counters of two nodes that send each other equal traffic; ``rxe0`` stands for ``rxe0:1``."""
    ports = {}
    for name, (packets, bytes_) in packets_and_bytes.items():
        port = name if name.startswith("eth") else f"{name}:1"
        ports[port] = {"tx_packets": packets // 2, "rx_packets": packets // 2}
        ports[port] |= {} if bytes_ is None else {"tx_bytes": bytes_ // 2, "rx_bytes": bytes_ // 2}
    return {"n1": ports, "n2": ports}


def result_of(observed: Ports, transport: str = "verbs", **values: Any) -> Attestation:
    facts = {"nodes": 2, "ports": ("eth2",), "fabric": "x"} | values
    return attest(launch(transport, **facts), carried(), PAYLOAD, observed, adapters=INTERFACES)


def test_the_adapter_on_a_declared_interface_belongs_to_the_fabric() -> None:
    ports = counts(eth1=(2000, 1_200_000), rxe0=(2000, None), eth2=(0, 0))
    assert result_of(ports, ports=("eth1",)).state == "attested"


def test_traffic_of_another_adapter_refutes_the_launch_and_is_named() -> None:
    ports = counts(eth1=(2000, 1_200_000), rxe0=(2000, None), eth2=(10, 1000))
    result = result_of(ports)
    assert result.state == "refuted"
    assert result.reason.endswith("; rxe0:1 sent 2000 packets, which the fabric does not declare")


@pytest.mark.parametrize(("packets", "state"), [(899, "attested"), (900, "unknown")])
def test_an_interface_does_not_prove_rdma_if_another_adapter_carried_as_much(packets: int, state: str) -> None:
    ports = counts(rxe0=(2 * ((packets + 1) // 2), None), eth2=(2000, 1_200_000))
    ports["n2"] = ports["n1"] = {**ports["n1"], "rxe0:1": {"tx_packets": packets, "rx_packets": packets}}
    ports["n2"] = {**ports["n2"], "rxe0:1": {"tx_packets": 0, "rx_packets": 0}}
    result = result_of(ports)
    assert result.state == state, result.reason
    assert ("may have carried the payload" in result.reason) == (state == "unknown")


def test_the_ports_of_a_declared_adapter_prove_rdma_whatever_another_adapter_carried() -> None:
    ports = counts(mlx5_0=(2000, 1_200_000), mlx5_1=(2000, 1_200_000))
    assert result_of(ports, ports=("mlx5_0:1",)).state == "attested"


@pytest.mark.parametrize(
    ("bytes_", "packets", "state"),
    [
        # 54 bytes of each frame are headers: 900,000 of payload and 2000 times 54
        (1_008_000, 2000, "attested"),
        (1_007_998, 2000, "refuted"),
        (900_000 + 4000 * 54 - 2, 4000, "refuted"),  # the same payload with twice as many acknowledgements
    ],
)
def test_headers_of_frames_are_no_payload(bytes_: int, packets: int, state: str) -> None:
    assert result_of(counts(eth2=(packets, bytes_))).state == state


def test_an_adapter_without_counters_is_unknown_with_the_line_that_declares_its_interface() -> None:
    result = result_of(counts(eth2=(2000, 1_200_000)), ports=("siw0:1",))
    assert result.state == "unknown"
    assert result.reason == (
        "no counters of the port siw0:1 on n1 from before and after the launch; "
        "its interface counts its traffic: ports=['eth2'] in the site's settings.py"
    )


def test_a_launch_on_one_node_says_what_is_known() -> None:
    ports = {"n1": counts(rxe0=(2000, None))["n1"]}
    result = result_of(ports, nodes=1)
    assert result.state == "unknown"
    assert result.reason == (
        "verbs is attested by port counters, and only between nodes; this launch used one node; "
        f"sockets carried no more than wire-up; ranks opened {UVERBS}; rxe0:1 sent 1000 packets there"
    )


@pytest.mark.parametrize(("packets", "state"), [(900, "refuted"), (899, "unknown")])
def test_a_shm_launch_that_opened_an_adapter_is_refuted_by_the_adapters_counters(packets: int, state: str) -> None:
    ports = {"n1": {"rxe0:1": {"tx_packets": packets, "rx_packets": packets}}}
    result = result_of(ports, transport="shm", nodes=1, ports=())
    assert result.state == state
    assert result.reason.startswith(f"network devices were open: {UVERBS}")
    assert ("UCX_MODULES=^ib,rdmacm" in result.reason) == (state == "unknown")


def test_a_busy_adapter_that_no_rank_opened_does_not_concern_shm() -> None:
    facts = launch("shm", nodes=1, ports=())
    ports = {"n1": {"rxe0:1": {"tx_packets": 10**6, "rx_packets": 10**6}}}
    assert attest(facts, carried(devices=()), PAYLOAD, ports, adapters=INTERFACES).state == "attested"
