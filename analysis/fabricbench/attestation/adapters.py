# SPDX-License-Identifier: Apache-2.0
"""Finds the traffic of RDMA adapters that a fabric does not declare, and the interfaces of adapters."""

from collections.abc import Mapping

from fabricbench.launch.record import Payload, Ports

Adapters = Mapping[str, Mapping[str, str]]
"""By node and adapter port (``rxe0:1``), the network interface of the port; empty if it has none of its own."""


def is_adapter(port: str) -> bool:
    """Returns whether a port is that of an RDMA adapter, ``mlx5_0:1``, and not an interface."""
    return ":" in port


def undeclared_ports(declared: tuple[str, ...], counts: Ports, adapters: Adapters) -> dict[str, dict[str, int]]:
    """Returns the counters of each adapter port that the fabric does not declare, summed over the nodes.

    An adapter on a declared interface belongs to the fabric: the interface counts its traffic.
    """
    totals: dict[str, dict[str, int]] = {}
    for host, ports in sorted(counts.items()):
        for port, counters in sorted(ports.items()):
            own = adapters.get(host, {}).get(port, "")
            if not is_adapter(port) or port in declared or own in declared:
                continue
            total = totals.setdefault(port, {})
            for name, count in counters.items():
                total[name] = total.get(name, 0) + count
    return totals


def share_carried(payload: Payload, counters: Mapping[str, int], packets_of_bytes: int) -> float:
    """Returns the share of a payload that these counters show, the smaller one of both directions; 0 if none do.

    ``packets_of_bytes``: the least number of packets for the bytes, for ports that do not count bytes.
    """
    shares = []
    for direction in ("tx", "rx"):
        bytes_, packets = counters.get(f"{direction}_bytes"), counters.get(f"{direction}_packets")
        if bytes_ is not None and payload.bytes:
            shares.append(bytes_ / payload.bytes)
        elif packets is not None and (least := max(payload.messages, packets_of_bytes)):
            shares.append(packets / least)
        else:
            return 0.0
    return min(shares)


def traffic_text(ports: Mapping[str, Mapping[str, int]]) -> str:
    """Returns what each adapter port sent, as text: ``rxe0:1 sent 812 packets``; empty if no port counts anything."""
    texts = []
    for port, counters in ports.items():
        counts = [f"{counters[f'tx_{unit}']} {unit}" for unit in ("bytes", "packets") if f"tx_{unit}" in counters]
        texts += [f"{port} sent {' in '.join(counts)}"] if counts else []
    return ", ".join(texts)


def interface_hint(port: str, host: str, adapters: Adapters) -> str:
    """Returns which line of the site's settings makes an adapter port without counters visible; empty if unknown."""
    interface = adapters.get(host, {}).get(port, "")
    return f"; its interface counts its traffic: ports=['{interface}'] in the site's settings.py" if interface else ""
