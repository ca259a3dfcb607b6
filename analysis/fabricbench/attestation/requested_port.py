# SPDX-License-Identifier: Apache-2.0
"""Compares the port that a check requested with the ports that carried the traffic."""

from fabricbench.attestation.ports import (
    DEVICES,
    NODE_BYTES,
    PORT_SHARE,
    missing_counters,
    payload_share_on_ports,
    total,
)
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Payload, Ports, Traffic

STRAY_SHARE = 0.1
"""If one port is requested, the other ports may carry this share of the fabric's traffic, for example for the launcher
or a file system. They may carry ``NODE_BYTES`` for each node in any case.
"""


def port_shares(launch: Launch, counts: Ports) -> dict[str, float]:
    """Returns the share of each of the fabric's ports in the traffic on all of them, 0 to 1.

    The traffic is the bytes sent and received on all nodes, or the packets if some port does not count bytes. Empty if
    counters are missing.
    """
    if missing_counters(launch, counts):
        return {}
    for unit in ("bytes", "packets"):
        by_port = {port: _sent_and_received(launch, counts, port, unit) for port in launch.ports}
        counts_of_ports = {port: count for port, count in by_port.items() if count is not None}
        if len(counts_of_ports) == len(by_port) and (carried := sum(counts_of_ports.values())):
            return {port: round(count / carried, 4) for port, count in counts_of_ports.items()}
    return {}


def port_problem(launch: Launch, traffic: Traffic | None, payload: Payload | None, counts: Ports) -> str:
    """Returns how the ports that carried the traffic differ from the requested port; empty if they do not.

    Attestation, not this function, reports that none of the fabric's ports carried it.
    """
    if not launch.port or launch.mode == "wireup" or launch.ranks < 2:
        return ""
    request = f"port {launch.port} was requested"
    if launch.nodes < 2:
        return f"{request}, but on one node no counter shows which port was used"
    if problem := missing_counters(launch, counts):
        return f"{request}, but {problem}"
    if not (shares := port_shares(launch, counts)):
        return f"{request}, but the ports' counters do not show its share"
    others = sorted((share, port) for port, share in shares.items() if port != launch.port and share)
    if not others or not (
        _port_carried_too_little(launch, traffic, payload, counts) or _others_carried_too_much(launch, shares, counts)
    ):
        return ""
    text = ", ".join(f"{port} {share:.0%}" for share, port in reversed(others))
    return f"{request}, but it carried {shares[launch.port]:.0%} of the traffic on the fabric's ports; {text}"


def _port_carried_too_little(launch: Launch, traffic: Traffic | None, payload: Payload | None, counts: Ports) -> bool:
    """Returns whether the requested port carried less than it must."""
    alone = _with_one_port(launch, launch.port)
    if launch.transport in DEVICES:
        share = payload_share_on_ports(alone, payload, counts)
        return launch.ranks <= launch.nodes and share is not None and share < PORT_SHARE
    least = PORT_SHARE * (traffic.bytes_between if traffic else 0)
    return any(
        (count := total(alone, counts, f"{direction}_bytes")) is not None and count < least
        for direction in ("tx", "rx")
    )


def _others_carried_too_much(launch: Launch, shares: dict[str, float], counts: Ports) -> bool:
    """Returns whether the other ports carried more than launcher and file system explain; False on shared nodes."""
    others = [_sent_and_received(launch, counts, port, "bytes") for port in launch.ports if port != launch.port]
    carried = None if None in others else sum(count for count in others if count is not None)
    much = carried is None or carried > NODE_BYTES * launch.nodes
    return launch.exclusive and 1 - shares[launch.port] > STRAY_SHARE and much


def _with_one_port(launch: Launch, port: str) -> Launch:
    """Returns the launch as if its fabric had this port only."""
    return launch.model_copy(update={"ports": (port,)})


def _sent_and_received(launch: Launch, counts: Ports, port: str, unit: str) -> int | None:
    """Returns the traffic of a port in both directions; None if one direction is not counted."""
    sent, received = (total(_with_one_port(launch, port), counts, f"{direction}_{unit}") for direction in ("tx", "rx"))
    return None if sent is None or received is None else sent + received
