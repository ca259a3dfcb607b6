# SPDX-License-Identifier: Apache-2.0
"""A fabric as its site declares it: a network, the nodes that it joins, and the scheduler that gives them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from fabricbench.errors import BadInput, nearest
from fabricbench.site.frozen import freeze
from fabricbench.site.transports import BINDINGS, TRANSPORTS, VARIANTS, Binding, Transport, Variant

Launcher = Literal["mpirun", "srun"]
AttestationPolicy = Literal["required", "optional"]
LAUNCHERS: tuple[Launcher, ...] = ("mpirun", "srun")
PROCESSORS = ("native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")

SLURM = ("slurm", "squeue")
"""ReFrame's names of Slurm, with and without its accounting."""
MOST_GIDS = 65536
SCHEDULERS = ("local", *SLURM, "pbs", "pbspro", "torque", "flux", "lsf", "sge", "oar")
BETWEEN_PROCESSES = ("shm", "tcp")
"""Transports whose bytes go from one process to another, so that no switch can combine or copy them."""
MOST_SLOWDOWN = 1000
"""The largest factor for the time limits of a fabric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The scheduler that gives the nodes of a fabric, and the launcher that starts the ranks.

    ``name`` is ReFrame's name of the scheduler. ``access`` holds its options for these nodes, such as a partition or an
    account. ``launcher`` is ``mpirun``, each stack's own, or ``srun``. ``pmi`` is the value of ``srun --mpi`` by stack;
    it overrides that of ``site/stacks.py``. ``minutes`` limits the allocation of a block. ``exclusive`` requests nodes
    without other jobs; on shared nodes the counters of the ports include the traffic of other jobs. ``modules`` are
    loaded in each job. ``max_jobs`` limits the jobs that ReFrame submits at once.
    """

    name: str = "local"
    launcher: Launcher = "mpirun"
    access: Sequence[str] = ()
    pmi: Mapping[str, str] = field(default_factory=dict)
    minutes: int = 120
    exclusive: bool = True
    modules: Sequence[str] = ()
    max_jobs: int = 1

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def is_local(self) -> bool:
        """Whether launches run on this machine, without a scheduler."""
        return self.name == "local"

    @property
    def is_slurm(self) -> bool:
        """Whether the scheduler is Slurm."""
        return self.name in SLURM


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """The nodes of a fabric.

    A launch without a scale spreads its ranks over ``count`` nodes, or over one node per rank if it has fewer ranks.
    ``cores`` and ``memory_bytes`` describe one node; None stands for the values of this machine. ``names``: the nodes
    on which the stack's ``mpirun`` starts ranks without a scheduler; Slurm names its own. ``processor`` is a level of
    x86-64 that all nodes have (``PROCESSORS``), or ``native`` for this machine's processor; None: unknown, unless the
    fabric is local to this machine.
    """

    count: int = 1
    names: Sequence[str] = ()
    cores: int | None = None
    memory_bytes: int | None = None
    processor: str | None = None

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """A network of a system, with the stacks that use it.

    ``stacks`` are names of ``site/stacks.py``. ``ports`` names the ports of one node, an interface (``eth0``) or a port
    of an adapter (``mlx5_0:1``): attestation reads their counters, and stacks and checks select among them. ``rails``
    is the number of ports of one node; None stands for the number of names, at least 1. Between nodes, the server of a
    user-level benchmark listens at the address of the first port. On one node it listens on ``addresses``: on the first
    for one flow; for two flows, on the first two, of two networks. ``adapter``, ``gid_index``
    and ``rdma_cm`` are for programs that take them as options: the port of the adapter (``rxe0:1``) if ``ports`` names
    its interface, the GID of RoCE, and whether connections need the RDMA connection manager.

    ``binding`` is the part of a node that each rank is bound to, unless a check sets another. ``variables`` apply to
    all stacks and override those of ``site/stacks.py``; ``stack_variables``, by stack, override both. With
    ``attestation`` optional, a launch passes whose transport could not be determined. ``variants`` adds lanes whose
    stacks have other settings (``stack@fabric:local-shm``), for the launches with several ranks on a node.

    ``function_only`` is the reason why times on this fabric are no measurements, such as emulated nodes; empty if they
    are. The report prints it with every figure, and requirements on times are refused. ``slowdown`` multiplies the time
    limits of launches, of wire-ups and of the doctor's probe, at least 1. ``reduces_in_network``: switches combine and
    copy the data of collectives, as SHARP does; attestation then accepts the lower counts of the ports.
    """

    name: str
    transport: Transport
    stacks: Sequence[str]
    scheduler: Scheduler = Scheduler()
    nodes: Nodes = Nodes()
    ports: Sequence[str] = ()
    rails: int | None = None
    addresses: Sequence[str] = ("127.0.0.1",)
    adapter: str = ""
    gid_index: int | None = None
    rdma_cm: bool = False
    binding: Binding = "none"
    variables: Mapping[str, str] = field(default_factory=dict)
    stack_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attestation: AttestationPolicy = "required"
    function_only: str = ""
    slowdown: float = 1.0
    reduces_in_network: bool = False
    variants: Sequence[Variant] = ()

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def rail_count(self) -> int:
        """Number of ports of one node."""
        return (len(self.ports) or 1) if self.rails is None else self.rails

    @property
    def between_nodes(self) -> bool:
        """Whether ``srun`` starts a user-level server and its client on two nodes."""
        return self.nodes.count > 1 and self.scheduler.launcher == "srun"

    @property
    def interface(self) -> str:
        """The port at whose address a user-level server listens between nodes; ``any`` if no port has a name."""
        return self.ports[0] if self.ports else "any"

    @property
    def adapter_port(self) -> str:
        """The port of the adapter that user-level programs open; the name of an interface if no adapter is named."""
        return self.adapter or self.interface

    def check(self, file: Path, stacks: Sequence[str]) -> None:
        """Raises BadInput if a value is not accepted; ``file`` and ``stacks`` are those of the system."""
        problem = partial(BadInput, where=str(file))
        subject = f"fabric {self.name}"
        for what, value, accepted in (
            ("transport", self.transport, TRANSPORTS),
            ("binding", self.binding, BINDINGS),
            ("launcher", self.scheduler.launcher, LAUNCHERS),
            *(("variant", variant, VARIANTS) for variant in self.variants),
            ("processor", self.nodes.processor, (None, *PROCESSORS)),
        ):
            if value not in accepted:
                raise problem(
                    f"{subject}: unknown {what} '{value}'", expected=nearest(str(value), filter(None, accepted))
                )
        if self.attestation not in ("required", "optional"):
            raise problem(f"{subject}: attestation is '{self.attestation}'", expected="required or optional")
        if self.reduces_in_network and self.transport in BETWEEN_PROCESSES:
            what = f"{subject}: reduces_in_network with the transport {self.transport}"
            raise problem(what, expected="a transport that adapters carry: verbs, psm, cxi or mx")
        nodes, minutes = self.nodes, self.scheduler.minutes
        if nodes.count < 1 or minutes < 1 or (nodes.cores is not None and nodes.cores < 1):
            raise problem(
                f"{subject}: {nodes.count} nodes, {minutes} minutes, {nodes.cores} cores", expected="1 or more"
            )
        if not 1 <= self.slowdown <= MOST_SLOWDOWN:
            raise problem(f"{subject}: slowdown is {self.slowdown:g}", expected=f"a number from 1 to {MOST_SLOWDOWN}")
        if nodes.names and len(set(nodes.names)) != nodes.count:
            what = f"{subject}: {nodes.count} nodes, {len(set(nodes.names))} different names of nodes"
            raise problem(what, expected="a name for each node, or none")
        if nodes.memory_bytes is not None and nodes.memory_bytes < 1:
            raise problem(f"{subject}: {nodes.memory_bytes} bytes of memory", expected="1 or more")
        if self.adapter and not all(self.adapter.partition(":")):
            raise problem(f"{subject}: adapter is '{self.adapter}'", expected="a port of an adapter, such as mlx5_0:1")
        if self.gid_index is not None and not 0 <= self.gid_index < MOST_GIDS:
            raise problem(f"{subject}: gid_index is {self.gid_index}", expected=f"0 to {MOST_GIDS - 1}")
        for kind, by_stack, choices in (
            ("pmi", self.scheduler.pmi, stacks),  # fabrics may share a scheduler
            ("stack_variables", self.stack_variables, self.stacks),
        ):
            for stack in by_stack:
                if stack not in choices:
                    raise problem(f"{subject}: {kind} for the stack '{stack}'", expected=nearest(stack, choices))
        if self.rail_count < 1 or len(self.ports) not in (0, self.rail_count):
            what = f"{subject}: {self.rail_count} rails, {len(self.ports)} ports"
            raise problem(what, expected="1 or more rails, and a name for each port or none")
