# SPDX-License-Identifier: Apache-2.0
"""Compares the ports that carried the traffic with the requested port of the fabric."""

from typing import Any

import pytest

from fabricbench.attestation.binding import check_binding
from fabricbench.attestation.requested_port import port_shares
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Attestation, BindingCheck, Payload, Ports, Traffic

PAYLOAD = Payload(bytes=100_000_000, messages=1000)


def launch(**values: Any) -> Launch:
    facts: dict[str, Any] = {
        **{"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "f", "transport": "tcp", "stack": "mpich"},
        **{"tool": "micro", "benchmark": "pingpong", "ranks": 2, "nodes": 2, "argv": (), "limit_seconds": 1},
        **{"ports": ("eth0", "eth1"), "port": "eth1"},
    }
    return Launch.model_validate(facts | values)


def nodes(**bytes_by_port: int) -> Ports:
    """Returns the counters of two nodes that send each other this total number of bytes by each port."""
    half = {port: total // 2 for port, total in bytes_by_port.items()}
    one = {
        port: {"tx_bytes": count, "rx_bytes": count, "tx_packets": count // 1000, "rx_packets": count // 1000}
        for port, count in half.items()
    }
    return {"n1": one, "n2": one}


def check(counts: Ports, between: int = PAYLOAD.bytes, payload: Payload = PAYLOAD, **values: Any) -> BindingCheck:
    traffic = Traffic(
        reports=2, connections=1, bytes=between, segments=1000, bytes_between=between, by_peer={}, devices=(),
        libraries=(), shared_maps=0, dropped=0,
    )  # fmt: skip
    attestation = Attestation(state="attested", reason="", traffic=traffic, payload=payload, ports=counts)
    return check_binding(launch(**values), [], [], attestation)


def test_the_requested_port_carried_the_traffic() -> None:
    result = check(nodes(eth0=5_000, eth1=103_000_000))
    assert (result.port, result.problem, set(result.port_shares)) == ("eth1", "", {"eth0", "eth1"})
    assert result.port_shares["eth1"] > 0.999


def test_no_port_was_requested() -> None:
    result = check(nodes(eth0=60_000_000, eth1=40_000_000), port="")
    assert (result.port, result.problem, result.port_shares) == ("", "", {"eth0": 0.6, "eth1": 0.4})


@pytest.mark.parametrize(
    ("ports", "shares"),
    [
        (nodes(eth0=103_000_000, eth1=0), ("0%", "100%")),
        (nodes(eth0=50_000_000, eth1=50_000_000), ("50%", "50%")),  # striped
        (nodes(eth0=15_000_000, eth1=100_000_000), ("87%", "13%")),  # an algorithm that moves more than the payload
    ],
)
def test_another_port_carried_the_traffic(ports: Ports, shares: tuple[str, str]) -> None:
    expected = (
        f"port eth1 was requested, but it carried {shares[0]} of the traffic on the fabric's ports; eth0 {shares[1]}"
    )
    assert check(ports).problem == expected


@pytest.mark.parametrize(("beside", "named"), [(2**20, False), (2**20 + 2, True)])
def test_launcher_traffic_on_another_port_is_accepted(beside: int, named: bool) -> None:
    """With a payload of 100 kB the launcher sends most of the bytes; 1 MiB of them is accepted for each node."""
    little = Payload(bytes=100_000, messages=1000)
    result = check(nodes(eth0=beside, eth1=100_000), between=100_000, payload=little)
    assert bool(result.problem) == named
    assert result.port_shares["eth0"] > 0.9
    assert not check(nodes(eth0=beside, eth1=100_000), 100_000, little, exclusive=False).problem, "others' perhaps"
    assert check(nodes(eth0=beside, eth1=80_000), between=100_000, payload=little).problem, "less than the sockets'"


def test_ports_of_verbs_are_compared_with_the_payload() -> None:
    """On verbs the payload is the least traffic between the nodes."""
    columns: dict[str, Any] = {"transport": "verbs", "ports": ("mlx5_0:1", "mlx5_1:1"), "port": "mlx5_1:1"}
    right, other = ({"mlx5_0:1": first, "mlx5_1:1": second} for first, second in ((0, 103_000_000), (103_000_000, 0)))
    assert check(nodes(**right), between=0, **columns).problem == ""
    assert (
        "it carried 0% of the traffic on the fabric's ports; mlx5_0:1 100%"
        in check(nodes(**other), between=0, **columns).problem
    )
    packets = {host: {port: {k: v for k, v in count.items() if "packets" in k} for port, count in ports.items()}
               for host, ports in nodes(**other).items()}  # fmt: skip
    assert "carried 0% of the traffic on the fabric's ports; mlx5_0:1" in check(packets, between=0, **columns).problem


@pytest.mark.parametrize(
    ("ports", "values", "says"),
    [
        ({}, {}, "port eth1 was requested, but only 0 of 2 nodes recorded port counters"),
        (nodes(eth0=1), {}, "port eth1 was requested, but no counters of the port eth1 on n1"),
        (nodes(eth0=0, eth1=0), {}, "port eth1 was requested, but the ports' counters do not show its share"),
        (nodes(eth0=1, eth1=1), {"nodes": 1}, "port eth1 was requested, but on one node no counter shows"),
    ],
)
def test_missing_counters_are_reported(ports: Ports, values: dict[str, Any], says: str) -> None:
    result = check(ports, **values)
    assert result.problem.startswith(says)
    assert result.port_shares == {}


@pytest.mark.parametrize("values", [{"mode": "wireup"}, {"ranks": 1, "nodes": 1}])
def test_launches_that_send_nothing(values: dict[str, Any]) -> None:
    assert check(nodes(eth0=5_000, eth1=0), **values).problem == ""


def test_traffic_outside_the_fabrics_ports_is_left_to_attestation() -> None:
    alone = check({host: {"eth1": ports["eth1"]} for host, ports in nodes(eth1=10).items()}, ports=("eth1",))
    assert (alone.problem, alone.port_shares) == ("", {"eth1": 1.0})


def test_binding_and_port_problems_are_both_reported() -> None:
    problem = check(nodes(eth0=103_000_000, eth1=0), binding="core").problem
    assert problem.startswith(
        "a core was requested for each rank, but 2 of 2 ranks did not report where they ran; port"
    )


def test_ports_without_traffic_have_no_shares() -> None:
    assert port_shares(launch(), nodes(eth0=0, eth1=0)) == {}
