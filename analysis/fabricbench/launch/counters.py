# SPDX-License-Identifier: Apache-2.0
"""Computes the traffic on the ports of the nodes during a launch, from their counters before and after it."""

from collections.abc import Iterable, Mapping

from fabricbench.launch.host import Host, Readings
from fabricbench.launch.record import Ports

SATURATED_BYTES = 4 * (2**32 - 1)
"""The end of an adapter's old 32-bit counter in words of 4 bytes, where it stops counting."""


def port_counters(hosts: Iterable[Host]) -> Ports:
    """Returns the traffic on each port by node: an interface such as ``eth0``, an adapter's port such as ``mlx5_0:1``.

    A counter is excluded if it was not read both before and after, if it fell because the adapter was reset, or if it
    is at its limit. A node without counters has no ports.
    """
    return {
        host.host: {
            port: _differences(readings) for port, readings in sorted((host.counters or {}).items()) if readings
        }
        for host in hosts
    }


def _differences(readings: Mapping[str, Readings | None]) -> dict[str, int]:
    differences = {}
    for counter, values in readings.items():
        before, after = values or (None, None)
        if before is None or after is None or after < before:
            continue
        if not (counter.endswith("_bytes") and after == SATURATED_BYTES):
            differences[counter] = after - before
    return differences
