# SPDX-License-Identifier: Apache-2.0
"""Ports that are down, or whose MTU differs between nodes, are named."""

import pytest

from fabricbench.launch.host import Host, Nic
from fabricbench.launch.port_problems import port_problems


def node(name: str, *, mtu: float = 9000, state: str = "up", adapter: str = "ACTIVE") -> Host:
    interface = Nic(name="eth1", kind="ethernet", mtu=mtu, state=state)
    other = Nic(name="eth0", kind="ethernet", mtu=float(name[1:]), state="down")
    return Host(host=name, nics=(other, interface, Nic(name="rxe0:1", kind="roce", state=adapter, interface="eth1")))


@pytest.mark.parametrize("ports", [("eth1",), ("rxe0:1",)])
def test_equal_ports_that_are_up_are_no_problem(ports: tuple[str, ...]) -> None:
    assert port_problems(ports, [node("n1"), node("n2")]) == ""
    assert port_problems(ports, []) == ""


def test_a_port_that_is_down() -> None:
    hosts = [node("n1"), node("n2", state="down", adapter="DOWN")]
    for ports in (("eth1",), ("rxe0:1",)):
        assert port_problems(ports, hosts) == "eth1 of n2 is down; rxe0:1 of n2 is down"
    assert port_problems(("eth3",), hosts) == ""


def test_mtus_that_differ() -> None:
    two = [node("n1"), node("n2", mtu=1500)]
    assert port_problems(("eth1",), two) == "the MTU of eth1 differs: 1500 on n2, 9000 on n1"
    many = [node("n1", mtu=1500), *(node(f"n{number}") for number in range(2, 9))]
    assert port_problems(("eth1",), many) == "the MTU of eth1 differs: 1500 on n1, 9000 on n2 and 6 other nodes"
