# SPDX-License-Identifier: Apache-2.0
"""Checks the network ports' counters against the expected traffic between nodes."""

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import AttestationState, Payload, Ports, Traffic

DEVICES = {
    "verbs": ("/dev/infiniband/",),
    "psm": ("/dev/hfi1", "/dev/ipath", "/dev/infiniband/"),
    "cxi": ("/dev/cxi",),
    "mx": ("/dev/mx", "/dev/myri", "/dev/open-mx"),
}
"""Prefixes of the device files that a rank opens to use a transport."""

NODE_DEVICES = ("/dev/knem", "/dev/xpmem")
"""Devices that copy between processes of one node. They carry shared-memory traffic and no traffic between nodes."""

PORT_SHARE = 0.9
"""The declared ports must carry at least this share of the traffic that must pass between the nodes."""

LARGEST_PACKET_BYTES = 4096
"""The largest MTU of InfiniBand and RoCE: the most that one packet carries, for ports that count packets only."""

STRAY_SHARE = 0.1
"""If one port is requested, the other ports may carry this share of the fabric's traffic, for example for the launcher
or a file system. They may carry ``NODE_BYTES`` for each node in any case.
"""

CEILING = 2
MESSAGE_BYTES = 256
NODE_BYTES = 2**20
"""On shared nodes a launch accounts for at most ``CEILING`` times its payload, ``MESSAGE_BYTES`` of headers and
acknowledgements for each message, and ``NODE_BYTES`` of wire-up for each node. Everything beyond that may belong to
other jobs.
"""


def network_devices(devices: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the device files, of those that are open, that can carry bytes between nodes."""
    return tuple(device for device in devices if not device.startswith(NODE_DEVICES))


def declared_ports(launch: Launch, counts: Ports) -> Ports:
    """Returns the counts of the ports that the fabric declares."""
    return {host: {port: ports[port] for port in launch.ports if port in ports} for host, ports in counts.items()}


def least_share(launch: Launch) -> float:
    """Returns the least share of the payload that must pass between the nodes, 0 to 1.

    It is 1 with one rank on each node. With ``p`` ranks on ``n`` nodes it is (n - 1) / (p - 1): every algorithm
    connects ``p`` ranks by at least ``p - 1`` messages, and ``n`` nodes by at least ``n - 1`` of these.
    """
    return min(1.0, (launch.nodes - 1) / max(1, launch.ranks - 1))


def payload_share_on_ports(launch: Launch, payload: Payload | None, counts: Ports) -> float | None:
    """Returns the traffic on the declared ports as a share of the traffic that must pass between the nodes.

    It is the smallest of the shares of bytes and packets, sent and received, each summed over nodes and ports: one port
    sends every byte, and another receives it. Packets replace bytes where bytes are not counted. None if counters are
    missing.
    """
    if payload is None or _missing_counters(launch, counts):
        return None
    shares = []
    for direction in ("tx", "rx"):
        bytes_, packets = (_total(launch, counts, f"{direction}_{unit}") for unit in ("bytes", "packets"))
        if bytes_ is not None and payload.bytes:
            shares.append(bytes_ / payload.bytes)
        least = payload.messages if bytes_ is not None else max(payload.messages, _packets(payload))
        if packets is not None and least:
            shares.append(packets / least)
    return min(shares) / least_share(launch) if shares else None


def ports_outcome(launch: Launch, traffic: Traffic, payload: Payload, counts: Ports) -> tuple[AttestationState, str]:
    """Returns the state and the reason from the port counters, for a launch whose sockets carried only wire-up."""
    if problem := _missing_counters(launch, counts):
        return "unknown", problem
    share = payload_share_on_ports(launch, payload, counts)
    if share is None:
        return "unknown", "the benchmark has no payload that port counters can show"
    evidence = _evidence(launch, payload, counts)
    if share < PORT_SHARE and launch.ranks <= launch.nodes:
        return "refuted", f"only {share:.1%} of the payload was on the ports of the fabric: {evidence}"
    if share < PORT_SHARE:
        return (
            "unknown",
            f"the ports of the fabric show {share:.1%} of the least traffic between the nodes: {evidence}",
        )
    if not launch.exclusive and (problem := _possible_foreign_traffic(launch, payload, counts)):
        return "unknown", f"{problem}: {evidence}"
    if not any(device.startswith(DEVICES[launch.transport]) for device in traffic.devices):
        return "unknown", f"no rank opened a device of {launch.transport} ({DEVICES[launch.transport][0]}…): {evidence}"
    return "attested", f"{evidence}; sockets carried no more than wire-up"


def sockets_objection(
    launch: Launch, traffic: Traffic, payload: Payload, counts: Ports
) -> tuple[AttestationState, str] | None:
    """Returns why the port counters contradict a launch whose payload was on sockets, or None.

    The payload may have stayed inside the nodes, or left them through other ports than the fabric's.
    """
    if launch.nodes < 2:
        return None
    between = traffic.bytes_between
    least = least_share(launch) * payload.bytes
    if between < PORT_SHARE * least:
        text = f"only {between} bytes on sockets left their node, {least:.0f} must pass between the nodes"
        if launch.ranks <= launch.nodes or not between:
            return "refuted", text
        return "unknown", f"{text}, unless all communicating rank pairs are within the nodes"
    if not launch.ports:
        return None
    if problem := _missing_counters(launch, counts):
        return "unknown", problem
    for direction in ("sent", "received"):
        count = _total(launch, counts, "tx_bytes" if direction == "sent" else "rx_bytes")
        if count is not None and count < PORT_SHARE * between:
            ports = f"the ports of the fabric ({', '.join(launch.ports)})"
            return "refuted", f"sockets carried {between} bytes between the nodes, {ports} {direction} {count}"
    return None


def port_counts_text(launch: Launch, traffic: Traffic, counts: Ports) -> str:
    """Returns the port counts of a launch on sockets as text; empty on one node, and for a fabric without ports."""
    if launch.nodes < 2 or not launch.ports:
        return ""
    sent = _total(launch, counts, "tx_bytes")
    return (
        f"; {traffic.bytes_between} bytes left their node, {', '.join(launch.ports)} of {len(counts)} nodes sent {sent}"
    )


def port_shares(launch: Launch, counts: Ports) -> dict[str, float]:
    """Returns the share of each of the fabric's ports in the traffic on all of them, 0 to 1.

    The traffic is the bytes sent and received on all nodes, or the packets if some port does not count bytes. Empty if
    counters are missing.
    """
    if _missing_counters(launch, counts):
        return {}
    for unit in ("bytes", "packets"):
        by_port = {port: _sent_and_received(launch, counts, port, unit) for port in launch.ports}
        counts_of_ports = {port: count for port, count in by_port.items() if count is not None}
        if len(counts_of_ports) == len(by_port) and (total := sum(counts_of_ports.values())):
            return {port: round(count / total, 4) for port, count in counts_of_ports.items()}
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
    if problem := _missing_counters(launch, counts):
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
        (count := _total(alone, counts, f"{direction}_bytes")) is not None and count < least
        for direction in ("tx", "rx")
    )


def _others_carried_too_much(launch: Launch, shares: dict[str, float], counts: Ports) -> bool:
    """Returns whether the other ports carried more than launcher and file system explain; False on shared nodes."""
    others = [_sent_and_received(launch, counts, port, "bytes") for port in launch.ports if port != launch.port]
    total = None if None in others else sum(count for count in others if count is not None)
    much = total is None or total > NODE_BYTES * launch.nodes
    return launch.exclusive and 1 - shares[launch.port] > STRAY_SHARE and much


def _with_one_port(launch: Launch, port: str) -> Launch:
    """Returns the launch as if its fabric had this port only."""
    return launch.model_copy(update={"ports": (port,)})


def _sent_and_received(launch: Launch, counts: Ports, port: str, unit: str) -> int | None:
    """Returns the traffic of a port in both directions; None if one direction is not counted."""
    sent, received = (_total(_with_one_port(launch, port), counts, f"{direction}_{unit}") for direction in ("tx", "rx"))
    return None if sent is None or received is None else sent + received


def _missing_counters(launch: Launch, counts: Ports) -> str:
    """Returns which counters are missing; empty if none are."""
    if launch.nodes < 2:
        return f"{launch.transport} is attested by port counters, and only between nodes; this launch used one node"
    if not launch.ports:
        return "the fabric declares no ports, so no counters show its traffic (ports=… in the site's settings.py)"
    if len(counts) < launch.nodes:
        return f"only {len(counts)} of {launch.nodes} nodes recorded port counters"
    for host, ports in sorted(counts.items()):
        for port in launch.ports:
            if not any({f"tx_{unit}", f"rx_{unit}"} <= ports.get(port, {}).keys() for unit in ("bytes", "packets")):
                return f"no counters of the port {port} on {host} from before and after the launch"
    return ""


def _possible_foreign_traffic(launch: Launch, payload: Payload, counts: Ports) -> str:
    """Returns why the counts may include traffic of other jobs on shared nodes; empty if they cannot."""
    sent = _total(launch, counts, "tx_bytes")
    if sent is None:
        return "the nodes were shared, and packet counters include the packets of other jobs"
    most = CEILING * payload.bytes + MESSAGE_BYTES * payload.messages + NODE_BYTES * launch.nodes
    if sent > most:
        return (
            f"the nodes were shared, and the ports carried more than the {most} bytes that this launch can account for"
        )
    return ""


def _evidence(launch: Launch, payload: Payload, counts: Ports) -> str:
    totals = [
        f"{total} {unit}"
        for unit in ("bytes", "packets")
        if (total := _total(launch, counts, f"tx_{unit}")) is not None
    ]
    return (
        f"{', '.join(launch.ports)} of {len(counts)} nodes sent {' in '.join(totals)}, "
        f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
    )


def _total(launch: Launch, counts: Ports, counter: str) -> int | None:
    """Returns a counter summed over nodes and declared ports; None if one of them lacks it."""
    totals = [ports.get(port, {}).get(counter) for ports in counts.values() for port in launch.ports]
    return None if None in totals else sum(count for count in totals if count is not None)


def _packets(payload: Payload) -> int:
    return -(-payload.bytes // LARGEST_PACKET_BYTES)
