# SPDX-License-Identifier: Apache-2.0
"""Do the counters of the fabric's ports show the payload, and the sockets' bytes? Between nodes."""

from fabricbench.core.launch import Launch
from fabricbench.core.record import AttestationState, Payload, Ports, Traffic

DEVICES = {
    "verbs": ("/dev/infiniband/",),
    "psm": ("/dev/hfi1", "/dev/ipath", "/dev/infiniband/"),
    "cxi": ("/dev/cxi",),
    "mx": ("/dev/mx", "/dev/myri", "/dev/open-mx"),
}
"""How the device files begin that a rank opens to use a transport."""

PORT_SHARE = 0.9
"""Least share of what must pass between the nodes that the declared ports must have carried."""

LARGEST_PACKET_BYTES = 4096
"""The largest MTU of InfiniBand and RoCE: what a packet carries at most, on ports that count packets only."""

CEILING = 2
MESSAGE_BYTES = 256
NODE_BYTES = 2**20
"""On shared nodes a launch is credited with at most ``CEILING`` times its payload, so much for the headers and
acknowledgements of each message, and so much a node for wire-up. What is beyond is somebody else's."""


def declared_ports(launch: Launch, moved: Ports) -> Ports:
    """Of what moved, that of the ports which the fabric declares."""
    return {host: {port: ports[port] for port in launch.ports if port in ports} for host, ports in moved.items()}


def least_share(launch: Launch) -> float:
    """The share of the payload that must pass between the nodes.

    All of it with one rank on each node. With more, what is left where an algorithm sends inside the nodes whatever it
    can: ``p`` ranks are joined by ``p - 1`` messages at least, ``n`` nodes by ``n - 1`` of them.
    """
    return min(1.0, (launch.nodes - 1) / max(1, launch.ranks - 1))


def port_share(launch: Launch, payload: Payload | None, moved: Ports) -> float | None:
    """What the declared ports carried, as a share of what had to pass between the nodes; None where nobody can tell.

    The smallest of the shares of bytes and of packets, sent and received, each summed over nodes and ports: every
    byte is sent by one port and received by another. Packets stand for bytes where those are not counted.
    """
    if payload is None or _not_counted(launch, moved):
        return None
    shares = []
    for way in ("tx", "rx"):
        bytes_, packets = (_total(launch, moved, f"{way}_{unit}") for unit in ("bytes", "packets"))
        if bytes_ is not None and payload.bytes:
            shares.append(bytes_ / payload.bytes)
        least = payload.messages if bytes_ is not None else max(payload.messages, _packets(payload))
        if packets is not None and least:
            shares.append(packets / least)
    return min(shares) / least_share(launch) if shares else None


def ports_finding(launch: Launch, traffic: Traffic, payload: Payload, moved: Ports) -> tuple[AttestationState, str]:
    """What the counters say of a launch whose sockets are quiet."""
    if problem := _not_counted(launch, moved):
        return "unknown", problem
    share = port_share(launch, payload, moved)
    if share is None:
        return "unknown", "the benchmark moved nothing that the ports' counters could show"
    evidence = _evidence(launch, payload, moved)
    if share < PORT_SHARE and launch.ranks <= launch.nodes:
        return "refuted", f"only {share:.1%} of the payload was on the ports of the fabric: {evidence}"
    if share < PORT_SHARE:
        return (
            "unknown",
            f"the ports of the fabric show {share:.1%} of what the nodes must exchange at least: {evidence}",
        )
    if not launch.exclusive and (problem := _somebody_else(launch, payload, moved)):
        return "unknown", f"{problem}: {evidence}"
    if not any(device.startswith(DEVICES[launch.transport]) for device in traffic.devices):
        return "unknown", f"no rank opened a device of {launch.transport} ({DEVICES[launch.transport][0]}…): {evidence}"
    return "attested", f"{evidence}, and sockets no more than wire-up"


def sockets_finding(
    launch: Launch, traffic: Traffic, payload: Payload, moved: Ports
) -> tuple[AttestationState, str] | None:
    """What speaks against a launch whose payload was on sockets: it stayed inside the nodes, or left them by other
    ports than the fabric's. None where nothing does."""
    if launch.nodes < 2:
        return None
    between = traffic.bytes_between
    if launch.ranks <= launch.nodes and between < PORT_SHARE * payload.bytes:
        return "refuted", (
            f"only {between} bytes on sockets left their node, {payload.bytes} must pass between the nodes"
        )
    if not launch.ports:
        return None
    if problem := _not_counted(launch, moved):
        return "unknown", problem
    for way in ("sent", "received"):
        counted = _total(launch, moved, "tx_bytes" if way == "sent" else "rx_bytes")
        if counted is not None and counted < PORT_SHARE * between:
            ports = ", ".join(launch.ports)
            return "refuted", (
                f"sockets carried {between} bytes between the nodes, the ports of the fabric ({ports}) {way} {counted}"
            )
    return None


def port_evidence(launch: Launch, traffic: Traffic, moved: Ports) -> str:
    """What the counters say of a launch on sockets between nodes; empty on one node, and without ports."""
    if launch.nodes < 2 or not launch.ports:
        return ""
    sent = _total(launch, moved, "tx_bytes")
    return (
        f"; {traffic.bytes_between} bytes left their node, {', '.join(launch.ports)} of {len(moved)} nodes sent {sent}"
    )


def _not_counted(launch: Launch, moved: Ports) -> str:
    """Why the counters cannot tell; empty where they can."""
    if launch.nodes < 2:
        return f"{launch.transport} is attested between nodes only, by the ports' counters; this launch was on one"
    if not launch.ports:
        return "the fabric names no ports whose counters could tell (ports=… in the site's settings.py)"
    if len(moved) < launch.nodes:
        return f"only {len(moved)} of {launch.nodes} nodes left their counters"
    for host, ports in sorted(moved.items()):
        for port in launch.ports:
            if not any({f"tx_{unit}", f"rx_{unit}"} <= ports.get(port, {}).keys() for unit in ("bytes", "packets")):
                return f"no counters of the port {port} on {host} from before and after the launch"
    return ""


def _somebody_else(launch: Launch, payload: Payload, moved: Ports) -> str:
    """Whether others may have moved what was counted, on nodes that the launch shared with them."""
    sent = _total(launch, moved, "tx_bytes")
    if sent is None:
        return "the nodes were shared, and packets do not tell whose they are"
    most = CEILING * payload.bytes + MESSAGE_BYTES * payload.messages + NODE_BYTES * launch.nodes
    if sent > most:
        return f"the nodes were shared, and the ports carried more than the {most} bytes that this launch explains"
    return ""


def _evidence(launch: Launch, payload: Payload, moved: Ports) -> str:
    counted = [
        f"{total} {unit}" for unit in ("bytes", "packets") if (total := _total(launch, moved, f"tx_{unit}")) is not None
    ]
    return (
        f"{', '.join(launch.ports)} of {len(moved)} nodes sent {' in '.join(counted)}, "
        f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
    )


def _total(launch: Launch, moved: Ports, counter: str) -> int | None:
    """A counter summed over nodes and declared ports; None where one of them does not count it."""
    found = [ports.get(port, {}).get(counter) for ports in moved.values() for port in launch.ports]
    return None if None in found else sum(count for count in found if count is not None)


def _packets(payload: Payload) -> int:
    return -(-payload.bytes // LARGEST_PACKET_BYTES)
