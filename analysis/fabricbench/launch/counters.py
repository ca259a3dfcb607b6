# SPDX-License-Identifier: Apache-2.0
"""What the ports of the nodes carried during a launch: each node's own counters, before and after."""

from collections.abc import Iterable, Mapping

from fabricbench.launch.host import Host, Readings
from fabricbench.launch.record import Ports

SATURATED_BYTES = 4 * (2**32 - 1)
"""Where an adapter's old counter of 32 bits, in words of 4 bytes, stops: such a port counts no more."""


def port_counters(hosts: Iterable[Host]) -> Ports:
    """What moved on each port, by node and port: an interface as ``eth0``, an adapter's port as ``mlx5_0:1``.

    A counter that was not read before and after, fell (the adapter was reset), or stands at its limit is left out. A
    node that counts nothing has no ports.
    """
    return {
        host.host: {port: _moved(readings) for port, readings in sorted((host.counters or {}).items()) if readings}
        for host in hosts
    }


def _moved(readings: Mapping[str, Readings | None]) -> dict[str, int]:
    found = {}
    for counter, pair in readings.items():
        before, after = pair or (None, None)
        if before is None or after is None or after < before:
            continue
        if not (counter.endswith("_bytes") and after == SATURATED_BYTES):
            found[counter] = after - before
    return found
