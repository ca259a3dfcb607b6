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


def lane_variables(fabric: Facts, stack: Facts, *, oversubscribed: bool = False) -> dict[str, str]:
    """The variables of a lane: the stack's for transport, launcher and (``oversubscribed``) more ranks than cores, then
    the site's for all stacks and for this one, which override them."""
    return {
        **stack["variables"].get(fabric["transport"], {}),
        **stack["launcher_environment"].get(fabric["launcher"], {}),
        **(stack["oversubscribed"] if oversubscribed else {}),
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
