# SPDX-License-Identifier: Apache-2.0
"""A lane, a stack on a fabric, and its name."""

from dataclasses import dataclass
from typing import Protocol

from fabricbench.site.fabric import Fabric
from fabricbench.site.stacks import ADDRESS_WORD, Installed, Stack, Unavailable
from fabricbench.site.transports import VARIANTS

SETTLE_SECONDS = 1.0
"""Longest time from the start of a server that may listen on no TCP port to that of its client."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A stack on a fabric. ``installed`` is None if the stack is not set up on this machine.

    ``variant``: the variant of the lane (``site.transports.VARIANTS``); empty for none.
    """

    fabric: Fabric
    stack: Stack
    installed: Installed | None
    variant: str = ""

    @property
    def name(self) -> str:
        """The lane's name, ``stack@fabric`` or ``stack@fabric:variant``."""
        return LaneName(self.stack.name, self.fabric.name, self.variant).name

    @property
    def unavailable(self) -> Unavailable | None:
        """The reason why the lane cannot run on this machine, with a hint; None if it can."""
        if unsupported := self.stack.unavailable_on(self.fabric.transport):
            return unsupported
        if self.variant and self.fabric.transport not in self.stack.variants.get(self.variant, {}):
            reason = f"no settings for {self.stack.name} on {self.fabric.transport} with {self.variant}"
            return Unavailable(reason, f"add them to {self.stack.name} in site/stacks.py (variants)")
        if self.installed is None:
            return Unavailable(
                f"the stack {self.stack.name} is not set up on this machine", f"run: {self.stack.set_up_command}"
            )
        return None

    @property
    def pmi(self) -> str | None:
        """The value of ``srun --mpi``, empty for Slurm's default; None if ``srun`` does not start the ranks."""
        if self.fabric.scheduler.launcher != "srun":
            return None
        if self.stack.level != "mpi":
            return "none"
        return self.fabric.scheduler.pmi.get(self.stack.name, self.stack.pmi)

    @property
    def handshake(self) -> tuple[str, ...]:
        """The arguments of ``fabricbench-client-server`` of the handshake; empty without one or without set-up."""
        if self.stack.handshake is None or self.installed is None:
            return ()
        address = ADDRESS_WORD if self.fabric.between_nodes else self.fabric.addresses[0]
        commands = self.stack.handshake.arguments(self.installed.programs, address, self.fabric_options)
        return *self.link_options(self.fabric.interface), *commands

    @property
    def fabric_options(self) -> tuple[str, ...]:
        """The options by which the programs of a user-level stack use the fabric's adapter, its GID, and RDMA CM."""
        adapter, colon, number = self.fabric.adapter_port.partition(":")
        values = {"{adapter}": adapter, "{number}": number, "{gid}": str(self.fabric.gid_index)}
        applies = {"device": bool(colon), "gid": self.fabric.gid_index is not None, "rdma_cm": self.fabric.rdma_cm}
        words = [word for name, options in self.stack.fabric_options.items() if applies[name] for word in options]
        return tuple(values.get(word, word) for word in words)

    def link_options(self, interface: str) -> tuple[str, ...]:
        """The options of ``fabricbench-client-server`` for a server that listens at the address of ``interface``.

        A server that connects by the RDMA connection manager listens on a TCP port over software iWARP only.
        """
        seconds = f"{SETTLE_SECONDS * self.fabric.slowdown:g}"
        settle = ("--settle", seconds) if self.fabric.rdma_cm and "rdma_cm" in self.stack.fabric_options else ()
        return (*(("--interface", interface) if self.fabric.between_nodes else ()), *settle)

    def variables(self, *, oversubscribed: bool = False) -> dict[str, str]:
        """The environment variables of a launch.

        Later groups override earlier ones: the stack's for transport and variant, for the launcher, for
        ``oversubscribed`` launches; then the fabric's for all stacks and for this stack.
        """
        fabric, stack = self.fabric, self.stack
        can_run = self.installed is not None and fabric.transport in stack.transports
        return {
            **(self.installed.variables(stack, fabric.transport, self.variant) if self.installed and can_run else {}),
            **stack.launcher_environment.get(fabric.scheduler.launcher, {}),
            **(stack.oversubscribed if oversubscribed else {}),
            **fabric.variables,
            **fabric.stack_variables.get(stack.name, {}),
        }


@dataclass(frozen=True, slots=True, order=True)
class LaneName:
    """The name of a lane in parts, as in the long table: stack, fabric, and variant, empty if there is none."""

    stack: str
    fabric: str
    variant: str = ""

    @property
    def name(self) -> str:
        """The name as text: ``openmpi@tcp``, ``mvapich2@ib:two-rails``."""
        return f"{self.stack}@{self.fabric}" + (f":{self.variant}" if self.variant else "")

    @classmethod
    def of(cls, name: str) -> "LaneName":
        """Returns the parts of a lane's name."""
        stack, _, rest = name.partition("@")
        fabric, _, variant = rest.partition(":")
        return cls(stack, fabric, variant)

    @property
    def environment(self) -> str:
        """The name of the environment of ReFrame that stands for stack and variant, ``mpich-local-shm``."""
        return f"{self.stack}-{self.variant}" if self.variant else self.stack

    @classmethod
    def in_environment(cls, environment: str, fabric: str) -> "LaneName":
        """Returns the lane of an environment of ReFrame on a fabric."""
        for variant in VARIANTS:
            if environment.endswith(f"-{variant}"):
                return cls(environment.removesuffix(f"-{variant}"), fabric, variant)
        return cls(environment, fabric)

    @property
    def build(self) -> str:
        """``stack:variant``, or the stack alone: the name of a line among lanes of one fabric."""
        return f"{self.stack}:{self.variant}" if self.variant else self.stack


class OnLane(Protocol):
    """Anything that has a stack, a fabric and a variant by name."""

    @property
    def stack(self) -> str: ...

    @property
    def fabric(self) -> str: ...

    @property
    def variant(self) -> str: ...


class LaneNamed:
    """Adds the property ``lane`` to a class with the fields ``stack``, ``fabric`` and ``variant``."""

    __slots__ = ()

    @property
    def lane(self: OnLane) -> str:
        """The name of the lane, ``stack@fabric`` or ``stack@fabric:variant``."""
        return LaneName(self.stack, self.fabric, self.variant).name
