# SPDX-License-Identifier: Apache-2.0
"""The names of user events: which MPI functions each counts."""

from fabricbench.parsers.tau.model import IN_REGION, parameters_of, size_range

_COLLECTIVES = {
    "for broadcast": ("MPI_Bcast",),
    "for reduce": ("MPI_Reduce",),
    "for all-reduce": ("MPI_Allreduce",),
    "for scan": ("MPI_Scan", "MPI_Exscan"),
    "for reduce-scatter": ("MPI_Reduce_scatter",),
    "for reduce-scatter-block": ("MPI_Reduce_scatter_block",),
    "for all-gather": ("MPI_Allgather", "MPI_Allgatherv"),
    "for all-to-all": ("MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"),
}
_SENDS = ("Bsend", "Ibsend", "Irsend", "Isend", "Issend", "Rsend", "Send", "Sendrecv", "Sendrecv_replace", "Ssend")

SENT_BY = {
    "Message size sent to all nodes": tuple(f"MPI_{name}" for name in _SENDS),
    **{f"Message size {event}": functions for event, functions in _COLLECTIVES.items()},
}
"""The functions whose sizes each user event of TAU counts (TauMpi.c). Events of receives count the same messages again;
those of rooted collectives other than broadcast and reduce have values on the root only.
"""

_RANGE = "Message size : "


def call_of_event(name: str) -> str:
    """Returns the function of an event ``Message size : MPI_Send()   [ … ]`` of this project; empty for others."""
    return name.removeprefix(_RANGE).partition("()")[0] if name.startswith(_RANGE) else ""


def sizes_of_event(name: str, region: bool) -> tuple[int, int] | None:
    """Returns the range of sizes of such an event; None for others, and for calls outside of a demanded ``region``."""
    if not name.startswith(_RANGE):
        return None
    params = parameters_of(name)
    return None if region and IN_REGION not in params.items() else size_range(params)
