# SPDX-License-Identifier: Apache-2.0
"""Checks the network ports' counters against the expected traffic between nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fabricbench.attestation.adapters import (
    Adapters,
    interface_hint,
    is_adapter,
    share_carried,
    traffic_text,
    undeclared_ports,
)
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

FRAME_BYTES = {"verbs": 54, "mx": 14}
"""The least number of bytes of headers in a frame on an Ethernet interface: Ethernet, and on verbs IPv4 with UDP and
the base transport header (RoCE) or with TCP (iWARP). They are not payload, and an acknowledgement has little else.
"""

KEEP_ADAPTERS_AWAY = "UCX opens no adapter with UCX_MODULES=^ib,rdmacm"
"""The hint for lanes of shared memory on nodes with RDMA adapters."""

COPIED = ("bcast", "allgather", "allgatherv")
"""Collectives whose data a switch can copy, so that a node sends them once for all others."""

COMBINED = ("reduce",)
"""Collectives whose data a switch can combine, so that the root's node receives the result only."""

CEILING = 2
MESSAGE_BYTES = 256
NODE_BYTES = 2**20
"""On shared nodes a launch accounts for at most ``CEILING`` times its payload, ``MESSAGE_BYTES`` of headers and
acknowledgements for each message, and ``NODE_BYTES`` of wire-up for each node. Everything beyond that may belong to
other jobs.
"""


@dataclass(frozen=True, slots=True)
class Counters:
    """The traffic on the ports of a launch's nodes: the ports that the fabric declares, and every port.

    ``adapters``: the interfaces of the nodes' RDMA adapters.
    """

    declared: Ports
    every: Ports
    adapters: Adapters


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


def switched_share(launch: Launch, direction: str) -> float:
    """Returns the share of the least traffic between the nodes that ports send (``tx``) or receive (``rx``), 0 to 1.

    It is 1 on most fabrics, because each byte that a port receives was sent by another. On a fabric that reduces in
    its switches (``Fabric.reduces_in_network``) each node sends and receives at least, of m bytes and N nodes:
    bcast: the root's node sends m once, the N - 1 others receive m. allgather: each node sends the blocks of its ranks
    once, and receives all others. reduce: each node but the root's sends one partial result of m, the root's node
    receives m once. allreduce and barrier: each node sends one contribution and receives the result, as without. The
    other collectives move different data to each rank, which no switch can copy or combine.
    """
    if not launch.reduces_in_network or launch.nodes < 2:
        return 1.0
    name = launch.benchmark.removesuffix("_pure")
    fewer = COPIED if direction == "tx" else COMBINED
    return 1 / (launch.nodes - 1) if name in fewer or name.removeprefix("i") in fewer else 1.0


def _on_ports(launch: Launch, payload: Payload, direction: str) -> Payload:
    """Returns the payload as ports show it in one direction."""
    share = switched_share(launch, direction)
    if share == 1:
        return payload
    return Payload(bytes=round(payload.bytes * share), messages=round(payload.messages * share))


def payload_share_on_ports(launch: Launch, payload: Payload | None, counts: Ports) -> float | None:
    """Returns the traffic on the declared ports as a share of the traffic that must pass between the nodes.

    It is the smallest of the shares of bytes and packets, sent and received, each summed over nodes and ports: one port
    sends every byte, and another receives it. Packets replace bytes where bytes are not counted. On interfaces the
    bytes exclude the headers of each frame (``FRAME_BYTES``). None if counters are missing.
    """
    if payload is None or missing_counters(launch, counts):
        return None
    shares = []
    for direction in ("tx", "rx"):
        bytes_, packets = (total(launch, counts, f"{direction}_{unit}") for unit in ("bytes", "packets"))
        moved = _on_ports(launch, payload, direction)
        if bytes_ is not None and moved.bytes:
            shares.append(max(0, bytes_ - _header_bytes(launch, counts, f"{direction}_packets")) / moved.bytes)
        least = moved.messages if bytes_ is not None else max(moved.messages, _packets(moved))
        if packets is not None and least:
            shares.append(packets / least)
    return min(shares) / least_share(launch) if shares else None


def ports_outcome(
    launch: Launch, traffic: Traffic, payload: Payload, counters: Counters
) -> tuple[AttestationState, str]:
    """Returns the state and the reason from the port counters, for a launch whose sockets carried only wire-up."""
    counts = counters.declared
    if launch.nodes < 2:
        return "unknown", _on_one_node(launch, traffic, counters.every)
    if problem := missing_counters(launch, counts, counters.adapters):
        return "unknown", problem
    others = undeclared_ports(launch.ports, counters.every, counters.adapters)
    carriers = traffic_text(_carriers(others, payload, least_share(launch)))
    share = payload_share_on_ports(launch, payload, counts)
    if share is None:
        return "unknown", "the benchmark has no payload that port counters can show"
    evidence = _evidence(launch, payload, counts)
    if share < PORT_SHARE and launch.ranks <= launch.nodes:
        elsewhere = f"; {carriers}, which the fabric does not declare" if carriers else ""
        return "refuted", f"only {share:.1%} of the payload was on the ports of the fabric: {evidence}{elsewhere}"
    if share < PORT_SHARE:
        return (
            "unknown",
            f"the ports of the fabric show {share:.1%} of the least traffic between the nodes: {evidence}",
        )
    if carriers and not all(map(is_adapter, launch.ports)):
        # An interface also counts traffic that is not RDMA.
        text = f"{carriers}, which the fabric does not declare, and may have carried the payload"
        return "unknown", f"{text}: {evidence}"
    if not launch.exclusive and (problem := _possible_foreign_traffic(launch, payload, counts)):
        return "unknown", f"{problem}: {evidence}"
    if not any(device.startswith(DEVICES[launch.transport]) for device in traffic.devices):
        return "unknown", f"no rank opened a device of {launch.transport} ({DEVICES[launch.transport][0]}…): {evidence}"
    return "attested", f"{evidence}; sockets carried no more than wire-up"


def open_devices_outcome(
    devices: tuple[str, ...], payload: Payload, counters: Counters
) -> tuple[AttestationState, str]:
    """Returns the state and the reason of a launch through shared memory whose ranks opened network devices.

    Refuted if the counters of the RDMA adapters show the payload. Otherwise unknown, because some adapters do not count
    what they send to themselves.
    """
    text = f"network devices were open: {', '.join(devices)}"
    if not any(device.startswith(DEVICES["verbs"]) for device in devices):
        return "unknown", text
    if carriers := traffic_text(_carriers(undeclared_ports((), counters.every, {}), payload, 1.0)):
        moved = f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages"
        return "refuted", f"{text}; {carriers}; {moved}"
    return "unknown", f"{text}; {KEEP_ADAPTERS_AWAY}"


def _carriers(ports: Mapping[str, Mapping[str, int]], payload: Payload, least: float) -> dict[str, Mapping[str, int]]:
    """Returns the ports that carried as much as the payload, or its share ``least``."""
    share = PORT_SHARE * least
    return {port: count for port, count in ports.items() if share_carried(payload, count, _packets(payload)) >= share}


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
    if problem := missing_counters(launch, counts):
        return "unknown", problem
    for direction in ("sent", "received"):
        count = total(launch, counts, "tx_bytes" if direction == "sent" else "rx_bytes")
        if count is not None and count < PORT_SHARE * between:
            ports = f"the ports of the fabric ({', '.join(launch.ports)})"
            return "refuted", f"sockets carried {between} bytes between the nodes, {ports} {direction} {count}"
    return None


def port_counts_text(launch: Launch, traffic: Traffic, counts: Ports) -> str:
    """Returns the port counts of a launch on sockets as text; empty on one node, and for a fabric without ports."""
    if launch.nodes < 2 or not launch.ports:
        return ""
    sent = total(launch, counts, "tx_bytes")
    return (
        f"; {traffic.bytes_between} bytes left their node, {', '.join(launch.ports)} of {len(counts)} nodes sent {sent}"
    )


def _on_one_node(launch: Launch, traffic: Traffic, all_counts: Ports) -> str:
    """Returns why a launch on one node is not attested, and what is known about it."""
    adapters = traffic_text(undeclared_ports((), all_counts, {}))
    devices = [device for device in traffic.devices if device.startswith(DEVICES[launch.transport])]
    facts = [
        "sockets carried no more than wire-up",
        f"ranks opened {', '.join(devices)}" if devices else "no rank opened a device of the transport",
        *([f"{adapters} there"] if adapters else []),
    ]
    return f"{missing_counters(launch, {})}; {'; '.join(facts)}"


def missing_counters(launch: Launch, counts: Ports, adapters: Adapters = MappingProxyType({})) -> str:
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
                text = f"no counters of the port {port} on {host} from before and after the launch"
                return text + interface_hint(port, host, adapters)
    return ""


def _possible_foreign_traffic(launch: Launch, payload: Payload, counts: Ports) -> str:
    """Returns why the counts may include traffic of other jobs on shared nodes; empty if they cannot."""
    sent = total(launch, counts, "tx_bytes")
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
        f"{count} {unit}" for unit in ("bytes", "packets") if (count := total(launch, counts, f"tx_{unit}")) is not None
    ]
    least = payload.bytes * least_share(launch)
    sent, received = (round(least * switched_share(launch, direction)) for direction in ("tx", "rx"))
    fewer = "" if sent == received else f"; switches reduce, so {sent} bytes sent and {received} received suffice"
    return (
        f"{', '.join(launch.ports)} of {len(counts)} nodes sent {' in '.join(totals)}, "
        f"the benchmark moved at least {payload.bytes} bytes in {payload.messages} messages{fewer}"
    )


def total(launch: Launch, counts: Ports, counter: str) -> int | None:
    """Returns a counter summed over nodes and declared ports; None if one of them lacks it."""
    totals = [ports.get(port, {}).get(counter) for ports in counts.values() for port in launch.ports]
    return None if None in totals else sum(count for count in totals if count is not None)


def _header_bytes(launch: Launch, counts: Ports, packets: str) -> int:
    """Returns the least bytes of headers in the frames of the declared interfaces; 0 for ports of adapters."""
    interfaces = [port for port in launch.ports if not is_adapter(port)]
    frames = sum(ports.get(port, {}).get(packets, 0) for ports in counts.values() for port in interfaces)
    return FRAME_BYTES.get(launch.transport, 0) * frames


def _packets(payload: Payload) -> int:
    return -(-payload.bytes // LARGEST_PACKET_BYTES)
