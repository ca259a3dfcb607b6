# SPDX-License-Identifier: Apache-2.0
"""Do the counters of the fabric's ports show the payload, and the sockets' bytes? On which port? Between nodes."""

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import AttestationState, Payload, Ports, Traffic

DEVICES = {
    "verbs": ("/dev/infiniband/",),
    "psm": ("/dev/hfi1", "/dev/ipath", "/dev/infiniband/"),
    "cxi": ("/dev/cxi",),
    "mx": ("/dev/mx", "/dev/myri", "/dev/open-mx"),
}
"""How the device files begin that a rank opens to use a transport."""

NODE_DEVICES = ("/dev/knem", "/dev/xpmem")
"""Devices that copy between processes of one node: they carry shared memory's bytes, and none between nodes."""

PORT_SHARE = 0.9
"""Least share of what must pass between the nodes that the declared ports must have carried."""

LARGEST_PACKET_BYTES = 4096
"""The largest MTU of InfiniBand and RoCE: what a packet carries at most, on ports that count packets only."""

STRAY_SHARE = 0.1
"""Largest share of what the fabric's ports carried that may have been on others than the one that was asked for: the
launcher's own words, a file system. Up to ``NODE_BYTES`` a node it may be all of it, beside a small payload."""

CEILING = 2
MESSAGE_BYTES = 256
NODE_BYTES = 2**20
"""On shared nodes a launch is credited with at most ``CEILING`` times its payload, so much for the headers and
acknowledgements of each message, and so much a node for wire-up. What is beyond is somebody else's."""


def network_devices(devices: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the open device files that can carry bytes between nodes."""
    return tuple(device for device in devices if not device.startswith(NODE_DEVICES))


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
    least = least_share(launch) * payload.bytes
    if between < PORT_SHARE * least:
        said = f"only {between} bytes on sockets left their node, {least:.0f} must pass between the nodes"
        if launch.ranks <= launch.nodes or not between:
            return "refuted", said
        return "unknown", f"{said}, unless the ranks work in pairs within the nodes"
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


def port_shares(launch: Launch, moved: Ports) -> dict[str, float]:
    """The share of each of the fabric's ports of what they carried together, in bytes sent and received on all nodes;
    packets stand for bytes where one of them does not count those. Empty where nobody can tell."""
    if _not_counted(launch, moved):
        return {}
    for unit in ("bytes", "packets"):
        counts = {port: _both_ways(launch, moved, port, unit) for port in launch.ports}
        known = {port: count for port, count in counts.items() if count is not None}
        if len(known) == len(counts) and (total := sum(known.values())):
            return {port: round(count / total, 4) for port, count in known.items()}
    return {}


def port_problem(launch: Launch, traffic: Traffic | None, payload: Payload | None, moved: Ports) -> str:
    """How the ports that carried the bytes differ from the one that was asked for; empty where they do not.

    That none of the fabric's carried them is for attestation to say.
    """
    if not launch.port or launch.mode == "wireup" or launch.ranks < 2:
        return ""
    asked = f"asked for the port {launch.port}"
    if launch.nodes < 2:
        return f"{asked}, but on one node no counter tells which port was used"
    if problem := _not_counted(launch, moved):
        return f"{asked}, but {problem}"
    if not (shares := port_shares(launch, moved)):
        return f"{asked}, but the ports' counters do not tell its share"
    others = sorted((share, port) for port, share in shares.items() if port != launch.port and share)
    if not others or not (_missed(launch, traffic, payload, moved) or _strayed(launch, shares, moved)):
        return ""
    named = ", ".join(f"{port} {share:.0%}" for share, port in reversed(others))
    return f"{asked}, but of what the fabric's ports carried it had {shares[launch.port]:.0%}, {named}"


def _missed(launch: Launch, traffic: Traffic | None, payload: Payload | None, moved: Ports) -> bool:
    """Whether the port that was asked for carried less than it must have."""
    alone = _by(launch, launch.port)
    if launch.transport in DEVICES:
        share = port_share(alone, payload, moved)
        return launch.ranks <= launch.nodes and share is not None and share < PORT_SHARE
    least = PORT_SHARE * (traffic.bytes_between if traffic else 0)
    return any((count := _total(alone, moved, f"{way}_bytes")) is not None and count < least for way in ("tx", "rx"))


def _strayed(launch: Launch, shares: dict[str, float], moved: Ports) -> bool:
    """Whether the others carried more than what comes along with any launch; on shared nodes it may be anybody's."""
    counts = [_both_ways(launch, moved, port, "bytes") for port in launch.ports if port != launch.port]
    beside = None if None in counts else sum(count for count in counts if count is not None)
    much = beside is None or beside > NODE_BYTES * launch.nodes
    return launch.exclusive and 1 - shares[launch.port] > STRAY_SHARE and much


def _by(launch: Launch, port: str) -> Launch:
    """The launch as if its fabric had this port alone."""
    return launch.model_copy(update={"ports": (port,)})


def _both_ways(launch: Launch, moved: Ports, port: str, unit: str) -> int | None:
    sent, received = (_total(_by(launch, port), moved, f"{way}_{unit}") for way in ("tx", "rx"))
    return None if sent is None or received is None else sent + received


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
