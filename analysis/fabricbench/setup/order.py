# SPDX-License-Identifier: Apache-2.0
"""A stack to set up: the sources, the target and the library that its programs are built from."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.setup.external import Choice, External, last_choice, remember_choice
from fabricbench.setup.prefix import origin_of
from fabricbench.setup.target import chosen_target, last_target, remember_target
from fabricbench.setup.trial import Trial
from fabricbench.site.stacks import Stack
from fabricbench.site.targets import Target


@dataclass(frozen=True, slots=True)
class Order:
    """A stack to set up in ``home`` from sources, given by their digests.

    ``target``: what the kernels of an MPI stack are built for. ``external``: the installed MPI library of the user's
    choice, and its ``trial``.
    """

    stack: Stack
    home: Path
    sources: Mapping[str, str]
    target: Target | None = None
    external: External | None = None
    trial: Trial | None = None

    def digest(self) -> str:
        """The digest of all that the stack is built and probed with.

        It covers the stack's description, its origin, the sources and the target.
        """
        origin, target = origin_of(self.stack, self.external), self.target
        parts = [repr(self.stack), origin, dict(self.sources), target.model_dump(mode="json") if target else None]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def targets_of(stacks: Sequence[Stack], root: Path, name: str) -> dict[str, Target]:
    """Returns the targets of the MPI stacks by name: the one that is chosen now, or that of each last set-up."""
    homes = {stack.name: root / "stacks" / stack.name for stack in stacks if stack.level == "mpi"}
    names = {stack: name or last_target(home) for stack, home in homes.items()}
    known = {one: chosen_target(one) for one in set(names.values())}
    return {stack: known[one] for stack, one in names.items()}


def choice_of(stack: Stack, home: Path, choice: Choice | None) -> Choice:
    """Returns the choice for a stack: this one, or if there is none, that of its last set-up."""
    if stack.level != "mpi":
        return Choice()
    return last_choice(home) if choice is None else choice


def remember(order: Order, target: str, choice: Choice | None) -> None:
    """Writes a chosen target and a choice of the stack's library, for later set-ups."""
    if order.stack.level != "mpi":
        return
    if target:
        remember_target(order.home, target)
    if choice is not None:
        remember_choice(order.home, choice, order.external)
