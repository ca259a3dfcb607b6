# SPDX-License-Identifier: Apache-2.0
"""Drafts the fabrics of a node: their ports, their stacks, and the settings that name its adapters."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fabricbench.discovery.adapters import Interface, Port, PortKind
from fabricbench.site.fabric import AttestationPolicy
from fabricbench.site.stacks import Stack
from fabricbench.site.transports import Transport

NAMES: Mapping[PortKind, tuple[str, Transport]] = {
    "infiniband": ("ib", "verbs"),
    "roce": ("roce", "verbs"),
    "iwarp": ("iwarp", "verbs"),
    "omnipath": ("opa", "psm"),
    "slingshot": ("slingshot", "cxi"),
}
"""The name of the fabric and its transport, by the kind of its ports."""

NEEDS_SPACK: Mapping[PortKind, tuple[str, ...]] = {
    "infiniband": ("mvapich2",),
    "roce": ("mvapich2",),
    "iwarp": ("mvapich2", "mpich-ofi"),
    "omnipath": ("mpich-ofi",),
    "slingshot": ("mpich-ofi",),
}
"""Stacks that only Spack builds and that suit a kind of port."""

_UCX_ALONE = ("mpich", "mvapich-ucx", "ucx")
"""Stacks that reach adapters by UCX only, which does not support iWARP."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A fabric before it is written; the fields have the meaning of those of ``site.fabric.Fabric``.

    ``notes`` become comments above it. ``gbit`` is the rate of one port in Gbit/s, None if it
    is unknown or a virtual interface invents it.
    """

    name: str
    transport: Transport
    stacks: tuple[str, ...]
    ports: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    stack_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gid_index: int | None = None
    rdma_cm: bool = False
    attestation: AttestationPolicy = "required"
    between_nodes: bool = True
    notes: tuple[str, ...] = ()
    gbit: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The stacks that a site may name. ``declared``: those of ``site/stacks.py`` that the machine can start.

    ``available``: the names of those that are set up or that Spack has built.
    """

    declared: Sequence[Stack]
    available: frozenset[str]

    def on(self, transport: str, suited: Sequence[str] = (), without: Sequence[str] = ()) -> tuple[str, ...]:
        """The names of the MPI stacks for a transport, then those of the libraries below MPI if there is a stack.

        Stacks that only Spack builds, or that are set up on request only, are named if they are available; the
        ``suited`` ones also if there is no other.
        """
        able = [
            stack for stack in self.declared if stack.unavailable_on(transport) is None and stack.name not in without
        ]
        mpi, libraries = ([one for one in able if one.level == level] for level in ("mpi", "user"))
        here = [one for one in mpi if not (one.only_spack or one.on_request) or one.name in self.available]
        here = here or [one for one in mpi if one.name in suited]
        return tuple(one.name for one in [*here, *(libraries if here else [])])


def draft_fabrics(ports: Iterable[Port], interfaces: Sequence[Interface], choice: Choice) -> list[Draft]:
    """Returns a fabric for each kind and rate of active ports, then one for Ethernet and one for IP over InfiniBand."""
    groups: dict[tuple[PortKind, float | None], list[Port]] = defaultdict(list)
    for port in ports:
        if port.active and port.kind in NAMES:
            groups[port.kind, port.rate_gbit].append(port)
    drafts = []
    taken: set[str] = set()
    for (kind, gbit), group in sorted(
        groups.items(), key=lambda item: (list(NAMES).index(item[0][0]), -(item[0][1] or 0))
    ):
        name = NAMES[kind][0]
        drafts.append(
            _of_adapters(name if name not in taken else f"{name}-{gbit or 0:g}g".replace(".", "-"), group, choice)
        )
        taken.add(name)
    return [*drafts, *_of_interfaces(interfaces, choice)]


def draft_local(choice: Choice) -> list[Draft]:
    """Returns the fabrics of a single machine: shared memory, and TCP on the loopback interface."""
    shm = ("Bytes stay in the memory of this machine.",)
    tcp = ("The kernel's network stack without a wire: it compares stacks and says nothing about a network.",)
    return [
        Draft("shm", "shm", choice.on("shm"), between_nodes=False, notes=shm),
        Draft("tcp", "tcp", choice.on("tcp"), between_nodes=False, notes=tcp),
    ]


def unused(ports: Iterable[Port], interfaces: Sequence[Interface]) -> Iterator[str]:
    """Yields why ports and interfaces of the node are not part of any fabric, one sentence each."""
    for port in ports:
        if port.kind not in NAMES:
            yield f"The adapter {port.name} (driver {port.driver or 'unknown'}) is of a kind that no transport covers."
        elif not port.active:
            yield f"The port {port.name} is not active."
    for kind in ("ethernet", "ipoib"):
        own = [one for one in interfaces if one.kind == kind]
        for one in own:
            if one not in _fastest(own):
                yield f"The interface {one.name} ({_speed(one)}) is slower than {_fastest(own)[0].name}, and no fabric."


def _of_adapters(name: str, group: Sequence[Port], choice: Choice) -> Draft:
    first = group[0]
    stacks = choice.on(NAMES[first.kind][1], NEEDS_SPACK[first.kind], _UCX_ALONE if first.kind == "iwarp" else ())
    variables, by_stack = _settings(first)
    counted = all(port.has_counters for port in group)
    by_interface = not counted and first.kind in ("roce", "iwarp") and all(port.interface for port in group)
    return Draft(
        name=name,
        transport=NAMES[first.kind][1],
        stacks=stacks,
        ports=tuple(port.interface if by_interface else port.name for port in group),
        variables=variables,
        stack_variables={stack: by_stack[stack] for stack in stacks if stack in by_stack},
        gid_index=first.gid_index,
        rdma_cm=first.kind == "iwarp",
        attestation="required" if counted or by_interface else "optional",
        notes=tuple(_notes(group, stacks, counted=counted, by_interface=by_interface)),
        gbit=first.rate_gbit,
    )


def _settings(port: Port) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The variables that select the port, for all stacks and by stack (site/_template/README.md has their sources)."""
    if port.kind == "infiniband":
        return {"UCX_NET_DEVICES": port.name}, {"mvapich2": {"MV2_IBA_HCA": port.adapter}}
    if port.kind == "roce":
        gid = {} if port.gid_index is None else {"UCX_IB_GID_INDEX": str(port.gid_index)}
        of_mvapich = {} if port.gid_index is None else {"MV2_DEFAULT_GID_INDEX": str(port.gid_index)}
        mvapich2 = {"MV2_IBA_HCA": port.adapter, "MV2_USE_RoCE": "1", **of_mvapich}
        return {"UCX_NET_DEVICES": port.name, **gid}, {"mvapich2": mvapich2}
    if port.kind == "iwarp":
        libfabric = {"FI_VERBS_DEVICE_NAME": port.adapter}
        return {}, {
            "openmpi": {
                "OMPI_MCA_pml": "cm",
                "OMPI_MCA_mtl": "ofi",
                "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm",
                "OMPI_MCA_osc": "^ucx",
                **libfabric,
            },
            "mpich-ofi": libfabric,
            "mvapich-ofi": libfabric,
            "libfabric": libfabric,
            "mvapich2": {
                "MV2_USE_IWARP_MODE": "1",
                "MV2_USE_RDMA_CM": "1",
                "MV2_USE_SRQ": "0",
                "MV2_MAX_INLINE_SIZE": "64",
            },
        }
    if port.kind == "omnipath":
        return {}, {stack: {"FI_PROVIDER": "opx"} for stack in ("mpich-ofi", "mvapich-ofi")}
    return {}, {}


def _notes(group: Sequence[Port], stacks: Sequence[str], *, counted: bool, by_interface: bool) -> Iterator[str]:
    first = group[0]
    rate = "of unknown rate" if first.rate_gbit is None else f"of {first.rate_gbit:g} Gbit/s"
    kind = {"infiniband": "InfiniBand", "roce": "RoCE", "iwarp": "iWARP", "omnipath": "Omni-Path"}.get(
        first.kind, "Slingshot"
    )
    driver = f", driver {first.driver}" if first.driver else "" if first.is_hardware else ", in software"
    yield f"{kind}: {len(group)} active port{'s' if group[1:] else ''} {rate}{driver}."
    if group[1:]:
        yield f"Ordinary launches use {first.name}; checks of several ports use all. Check that all share a network."
    if first.kind == "roce" and first.gid_index is None:
        yield "No GID of type RoCE v2 could be read: set gid_index, UCX_IB_GID_INDEX and MV2_DEFAULT_GID_INDEX."
    elif first.kind == "roce":
        yield f"GID {first.gid_index} of {first.name} has the type RoCE v2; check that it has this number on each node."
    if first.kind == "iwarp" and "mvapich2" in stacks:
        yield "MVAPICH2 needs each node's own address in the node's /etc/mv2.conf."
    if first.kind == "omnipath":
        yield "The provider opx is for Omni-Path 100; fi_info -p opx shows whether the stack's libfabric has it."
    if by_interface:
        yield "The adapter has no counters: ports names the network interface, whose counters attest launches."
    elif not counted:
        yield "The adapter's counters could not be read: launches pass as unknown; bytes on sockets still refute them."
    if missing := [stack for stack in NEEDS_SPACK[first.kind] if stack not in stacks]:
        yield f"Not named, because Spack has not built it here: {', '.join(missing)} (docs/stacks.md)."


def _of_interfaces(interfaces: Sequence[Interface], choice: Choice) -> Iterator[Draft]:
    for kind, name, title in (("ethernet", "eth", "Ethernet"), ("ipoib", "ipoib", "IP over InfiniBand")):
        group = _fastest([one for one in interfaces if one.kind == kind])
        if not group:
            continue
        first = group[0]
        notes = [f"{title}: {', '.join(one.name for one in group)}, {_speed(first)}."]
        if group[1:]:
            notes.append(f"Ordinary launches use {first.name}; checks of several ports use all.")
        yield Draft(
            name=name,
            transport="tcp",
            stacks=choice.on("tcp"),
            ports=tuple(one.name for one in group),
            # Each stack has its own variable. Without it a stack uses all interfaces.
            variables={
                "UCX_NET_DEVICES": first.name,
                "OMPI_MCA_btl_tcp_if_include": first.name,
                "FI_TCP_IFACE": first.name,
            },
            notes=tuple(notes),
            gbit=first.speed_mbit / 1000 if first.speed_mbit and first.is_hardware else None,
        )


def _fastest(interfaces: Sequence[Interface]) -> list[Interface]:
    """The interfaces with the highest speed. One of unknown speed is slower than any other."""
    best = max((one.speed_mbit or 0 for one in interfaces), default=0)
    return [one for one in interfaces if (one.speed_mbit or 0) == best]


def _speed(interface: Interface) -> str:
    return "of unknown speed" if interface.speed_mbit is None else f"{interface.speed_mbit / 1000:g} Gbit/s"
