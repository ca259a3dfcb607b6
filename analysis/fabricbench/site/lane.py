# SPDX-License-Identifier: Apache-2.0
"""What a fabric and a stack make together, from what each says of itself (``extras`` in a site's configuration)."""

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]


def lane_pmi(fabric: Facts, stack: Facts) -> str | None:
    """What ``srun --mpi`` is to take, empty for Slurm's default; None where the stack's own launcher starts the ranks.

    The fabric's word for a stack stands before the stack's own.
    """
    if fabric["launcher"] != "srun" or stack["level"] != "mpi":
        return None
    return str(fabric["pmi"].get(stack["stack"], stack["pmi"]))


def lane_variables(fabric: Facts, stack: Facts, *, crowded: bool = False) -> dict[str, str]:
    """The stack's variables for transport and launcher, and for more ranks than cores where it is ``crowded``; then
    the site's for all stacks and for this one, which win."""
    return {
        **stack["variables"].get(fabric["transport"], {}),
        **stack["under"].get(fabric["launcher"], {}),
        **(stack["crowded"] if crowded else {}),
        **fabric["site_variables"],
        **fabric["stack_variables"].get(stack["stack"], {}),
    }


def lane_name(stack: str, fabric: str, variant: str = "") -> str:
    """A lane as users write it: ``openmpi@tcp``, ``mvapich2@ib:two-rails``."""
    return f"{stack}@{fabric}" + (f":{variant}" if variant else "")


def lane_parts(lane: str) -> tuple[str, str, str]:
    """Stack, fabric and variant of a lane as users write it."""
    stack, _, rest = lane.partition("@")
    fabric, _, variant = rest.partition(":")
    return stack, fabric, variant
