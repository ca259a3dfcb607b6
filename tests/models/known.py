# SPDX-License-Identifier: Apache-2.0
"""A network with known costs, and operations on it with known times."""

from fabricbench.models.attribution import SYNC
from fabricbench.models.curves import CollectiveCurves, Curve, Curves, MessageCurves
from fabricbench.parsers.tau.operations import HeadStart, Operations, RankOperations

LATENCY, OVERHEAD, PER_BYTE = 10e-6, 2e-6, 1e-9
"""Seconds of an empty message, seconds of the processor in it, and seconds of each byte on the wire."""
SIZES = (0.0, 1000.0, 1_000_000.0)


def line(constant: float, per_byte: float) -> Curve:
    """The curve constant + per_byte * size."""
    return Curve(SIZES, tuple(constant + per_byte * size for size in SIZES))


def known_curves(factor: float = 1.0) -> Curves:
    """The curves of the network; ``factor`` multiplies all costs."""
    message = line(factor * LATENCY, factor * PER_BYTE)
    small = line(factor * OVERHEAD, 0.0)
    same = CollectiveCurves(message, line(factor * OVERHEAD, factor * PER_BYTE), message)
    barrier = CollectiveCurves(*[Curve((0.0,), (factor * LATENCY,))] * 3)
    names = ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter")
    return Curves(
        MessageCurves(message, small, small, message, line(factor * LATENCY, 2 * factor * PER_BYTE)),
        {("barrier", 2): barrier} | {(name, 2): same for name in names},
    )


def some(
    operation: str,
    seconds: float,
    *,
    call: str = "",
    size: float | None = 1000.0,
    peer: str = "same node",
    root: bool = False,
    count: int = 1,
    calls: float | None = None,
    matched: int | None = None,
    late: float = 0.0,
    heads: tuple[HeadStart, ...] = (),
    comm_size: int | None = 2,
) -> Operations:
    """Operations of one function, matched by default."""
    return Operations(
        call=call or operation, operation="" if operation == SYNC else operation, bytes=size, peer=peer,
        comm_size=comm_size, root=root, count=count,
        calls=float(count) if calls is None else calls, seconds=seconds, matched=count if matched is None else matched,
        late_seconds=late, head_starts=heads,
    )  # fmt: skip


def rank(number: int, seconds: float, *operations: Operations) -> RankOperations:
    """The profiled time of a rank without profiler's cost."""
    return RankOperations(number, seconds, 0.0, operations)
