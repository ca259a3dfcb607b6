# SPDX-License-Identifier: Apache-2.0
"""Attests lanes of the variant ``local-shm``: shared memory inside a node, the fabric between nodes.

The fabric must carry what has to pass between the nodes (``attestation.between``). Sockets must not carry messages
between ranks of one node. Counters of ports cannot show these, so on verbs, psm, cxi and mx this is not proven.
"""

from collections.abc import Sequence

from fabricbench.attestation.between import crossing, payload_between
from fabricbench.attestation.ports import DEVICES, Counters, network_devices, ports_outcome, sockets_objection
from fabricbench.launch.facts import Launch, WireUp
from fabricbench.launch.record import AttestationState, PartEvidence, Payload, PayloadPart, Traffic
from fabricbench.site.transports import LOCAL_SHM

Outcome = tuple[AttestationState, str]


def between_nodes(launch: Launch) -> bool:
    """Returns whether the launch is one of the variant ``local-shm`` on several nodes."""
    return launch.variant == LOCAL_SHM and launch.nodes > 1


def inside_node(launch: Launch) -> bool:
    """Returns whether all messages of the launch must use shared memory."""
    return launch.transport == "shm" or (launch.variant == LOCAL_SHM and launch.nodes == 1)


def on_fabric(launch: Launch) -> Launch:
    """Returns the launch as its fabric carries it: with one rank on each node."""
    return launch.model_copy(update={"ranks": launch.nodes})


def share_between(
    launch: Launch, wireup: WireUp, traffic: Traffic, payload: Payload, parts: Sequence[PayloadPart]
) -> float | None:
    """Returns the share, of the least bytes between the nodes, that sockets carried; None if no bytes must pass."""
    least = payload_between(launch, payload, tuple(parts))
    return max(0, traffic.bytes_between - wireup.bytes) / least.bytes if least.bytes else None


def local_shm_outcome(
    launch: Launch,
    wireup: WireUp,
    traffic: Traffic,
    payload: Payload,
    parts: Sequence[PayloadPart],
    evidence: tuple[PartEvidence, ...],
    counters: Counters,
    required: float,
    most_forbidden: float,
) -> Outcome:
    """Returns the outcome of a launch between nodes.

    ``required``: the share of the least bytes between the nodes that sockets must carry. ``most_forbidden``: the bytes
    that sockets may carry between ranks of one node. ``evidence`` has no refuted or unknown part.
    """
    least = payload_between(launch, payload, tuple(parts))
    within = traffic.bytes - traffic.bytes_between
    counts = (
        f"sockets carried {traffic.bytes_between} bytes between the nodes and {within} within them; "
        f"at least {least.bytes} of the benchmark's {payload.bytes} bytes must pass between the nodes"
    )
    if within > most_forbidden:
        return "refuted", f"ranks of one node used sockets, more than wire-up accounts for: {counts}"
    if launch.transport in DEVICES and traffic.bytes > most_forbidden:
        return "refuted", f"sockets carried more than wire-up accounts for: {counts}"
    if traffic.reports < launch.ranks:
        return "unknown", f"only {traffic.reports} of {launch.ranks} ranks wrote a witness report"
    if launch.transport in DEVICES:
        state, reason = ports_outcome(on_fabric(launch), traffic, least, counters)
        return state, f"{reason}; no counter shows whether ranks of one node used the fabric"
    if not least.bytes and not least.messages:
        return "unknown", "the benchmark has no payload between the nodes that sockets can show"
    # Without bytes, messages decide; within the nodes sockets carried none.
    carried = traffic.bytes_between - wireup.bytes if least.bytes else traffic.segments - wireup.segments
    if carried < required * (least.bytes or least.messages):
        return ("refuted" if _certain(launch, parts) else "unknown"), f"too little passed between the nodes: {counts}"
    if objection := sockets_objection(on_fabric(launch), traffic, least, counters.declared):
        return objection
    if devices := set(network_devices(traffic.devices)) - set(wireup.devices or ()):
        return "unknown", f"ranks opened network devices that wire-up does not open: {', '.join(sorted(devices))}"
    sizes = f"each of {len(evidence)} sizes by itself; " if evidence else ""
    return "attested", sizes + counts


def _certain(launch: Launch, parts: Sequence[PayloadPart]) -> bool:
    """Returns whether every launch of its benchmarks must reach the least bytes between the nodes."""
    names = {part.benchmark for part in parts if part.moves} or {launch.benchmark}
    return all(crossing(launch, name).certain for name in names)
