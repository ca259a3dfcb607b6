# SPDX-License-Identifier: Apache-2.0
"""The traffic on the nodes' ports, computed from each node's counters."""

from typing import Any

import pytest

from fabricbench.launch.counters import port_counters
from fabricbench.launch.host import Host


def node(host: str, counters: Any) -> Host:
    return Host.model_validate({"host": host, "counters": counters})


def test_bytes_by_node_and_port() -> None:
    hosts = [
        node(
            host,
            {
                "eth0": {"tx_bytes": (10, 110 + number), "rx_bytes": (5, 205), "tx_packets": (1, 3)},
                "lo": {"tx_bytes": (0, 0), "rx_bytes": (0, 0)},
            },
        )
        for number, host in enumerate(("n1", "n2"))
    ]
    assert port_counters(hosts) == {
        "n1": {"eth0": {"tx_bytes": 100, "rx_bytes": 200, "tx_packets": 2}, "lo": {"tx_bytes": 0, "rx_bytes": 0}},
        "n2": {"eth0": {"tx_bytes": 101, "rx_bytes": 200, "tx_packets": 2}, "lo": {"tx_bytes": 0, "rx_bytes": 0}},
    }


def test_an_adapter_that_counts_packets_only() -> None:
    hosts = [node("n1", {"rxe0:1": {"tx_packets": (0, 55_870), "rx_packets": (0, 55_870)}})]
    assert port_counters(hosts) == {"n1": {"rxe0:1": {"tx_packets": 55_870, "rx_packets": 55_870}}}


@pytest.mark.parametrize(
    "readings",
    [
        (5, None),
        (None, 5),
        (None, None),
        None,
        (7, 5),
        (0, 4 * (2**32 - 1)),
        (4 * (2**32 - 1), 4 * (2**32 - 1)),
    ],
)
def test_an_unusable_counter_is_excluded(readings: Any) -> None:
    hosts = [node("n1", {"mlx5_0:1": {"tx_bytes": readings, "rx_bytes": (1, 2)}})]
    assert port_counters(hosts) == {"n1": {"mlx5_0:1": {"rx_bytes": 1}}}


@pytest.mark.parametrize("counters", [None, {}, {"eth0": None}, {"eth0": {}}])
def test_a_node_without_counters_has_no_ports(counters: Any) -> None:
    assert port_counters([node("n1", counters)]) == {"n1": {}}
