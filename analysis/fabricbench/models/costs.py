# SPDX-License-Identifier: Apache-2.0
"""The cost of an MPI operation by the lane's curves: which curve, at which size, and after which head start."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricbench.models.curves import Curve, Curves, MessageCurves
from fabricbench.parsers.tau.operations import Operations

_SENDS = re.compile(r"MPI_[BSR]?send", re.IGNORECASE)
_STARTED_SENDS = re.compile(r"MPI_(I[bsr]?send|[BSR]?send_init)", re.IGNORECASE)
_RECEIVES = re.compile(r"MPI_(m?recv|Im?recv|Recv_init)", re.IGNORECASE)
_EXCHANGES = re.compile(r"MPI_Sendrecv(_replace)?")
_STARTED = re.compile(r"MPI_(I[a-z_]+|[A-Za-z]+_init)")
_COLLECTIVES = {
    "barrier": "barrier",
    "mpi collective sync": "barrier",
    "bcast": "bcast",
    "reduce": "reduce",
    "allreduce": "allreduce",
    "gather": "gather",
    "gatherv": "gather",
    "scatter": "scatter",
    "scatterv": "scatter",
    "allgather": "allgather",
    "allgatherv": "allgather",
    "alltoall": "alltoall",
    "alltoallv": "alltoall",
    "alltoallw": "alltoall",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_block": "reduce_scatter",
    "scan": "allreduce",
    "exscan": "allreduce",
}
"""The curve of each collective; a scan has that of the all-reduce, which moves as much."""
_FROM_ROOT = {"bcast", "scatter"}
_TO_ROOT = {"reduce", "gather"}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one operation, in seconds.

    ``whole``, ``first``: the cost at the operation's size and at the smallest size, of a partner that enters at the
    same time. ``least``, ``first_least``: the same two of a partner that entered long before. ``has_partner``: whether
    the operation can wait. ``collective``: whether it is one. ``alone``: whether nothing is known to compare it with,
    so that its time is rest. ``extrapolates``: whether the size is beyond the curve. ``unsized``: whether the size is
    unknown.
    """

    whole: float = 0.0
    first: float = 0.0
    least: float = 0.0
    first_least: float = 0.0
    has_partner: bool = True
    collective: bool = False
    alone: bool = False
    extrapolates: bool = False
    unsized: bool = False

    def after(self, head_start: float) -> tuple[float, float]:
        """Returns latency and bandwidth after the partner's head start, in seconds; both are at least 0.

        Definition: e = max(least, whole - d). A head start consumes the latency first: Bw = whole - first - max(0, d -
        (first - first_least)), between least - first_least and whole - first; Lat = e - Bw.
        """
        cost = max(min(self.least, self.whole), self.whole - head_start)
        most = max(0.0, self.whole - self.first)
        consumed = max(0.0, head_start - max(0.0, self.first - self.first_least))
        bandwidth = min(cost, max(most - consumed, min(most, max(0.0, self.least - self.first_least))))
        return cost - bandwidth, bandwidth


def cost_of(one: Operations, curves: Curves) -> Cost | str:
    """Returns the cost of each of these operations, or the name of the curve that is needed and absent.

    - Receive: h(s), at least o_r(s). MPI_Irecv itself costs nothing; its completion costs as MPI_Recv.
    - Send: o_s(s). A started send costs o_s of the smallest size at its start, the remainder at its completion.
    - MPI_Sendrecv: x(s), both directions at once, at least o_s(s) + o_r(s).
    - Collectives: the mean over ranks. Of rooted ones: the fastest rank's time on ranks that only send, the slowest
      rank's on those that receive.
    - Functions without data transfer, probes, and messages of a rank to itself: nothing; their time is rest.
    - Operations of several sizes (``spread``): the mean cost.
    """
    if not one.spread:
        return _cost(one, curves)
    costs = [(share, _cost(replace(one, bytes=size), curves)) for share, size in one.spread]
    absent = next((cost for _, cost in costs if isinstance(cost, str)), None)
    return absent or _mean([(share, cost) for share, cost in costs if isinstance(cost, Cost)])


def _mean(costs: Sequence[tuple[float, Cost]]) -> Cost:
    """Returns the mean cost, each with its share of the operations."""
    whole, first, least, first_least = (
        sum(share * getattr(cost, name) for share, cost in costs) for name in ("whole", "first", "least", "first_least")
    )
    extrapolates = any(cost.extrapolates for _, cost in costs)
    return replace(
        costs[0][1], whole=whole, first=first, least=least, first_least=first_least, extrapolates=extrapolates
    )


def _cost(one: Operations, curves: Curves) -> Cost | str:
    name = one.operation or one.call
    if one.peer in ("self", "none") or one.comm_size == 1:
        return Cost(alone=True)
    if _SENDS.fullmatch(name) or _STARTED_SENDS.fullmatch(name) or _RECEIVES.fullmatch(name):
        return _message(one, curves.messages)
    if _EXCHANGES.fullmatch(name):
        return _exchange(one, curves.messages)
    collective, is_started = _collective_of(name)
    if not collective:
        return Cost(alone=True)
    if is_started and one.call == one.operation:
        return Cost(has_partner=False, collective=True)
    return _collective(one, collective, curves)


def substituted_ranks(one: Operations, curves: Curves) -> tuple[str, int, int] | None:
    """Returns collective, measured and needed number of ranks if its curve has another number of ranks; else None."""
    name, _ = _collective_of(one.operation or one.call)
    needed = one.comm_size or curves.ranks
    if not name or needed in (None, 1) or one.peer in ("self", "none"):
        return None
    measured = curves.measured_ranks(name, needed)
    return None if measured in (None, needed) else (name, measured, needed)


def _message(one: Operations, curves: MessageCurves) -> Cost | str:
    if _RECEIVES.fullmatch(one.operation):
        if _STARTED.fullmatch(one.operation) and one.call in (one.operation, "MPI_Start", "MPI_Startall"):
            return Cost(has_partner=False)
        if curves.half_round_trip is None:
            return "half round trip"
        return _sized(one, curves.half_round_trip, curves.receive_overhead)
    if curves.send_overhead is None:
        return "send overhead"
    if one.bytes is None:
        return Cost(unsized=True)
    overhead = curves.send_overhead
    start, whole = overhead.smallest, overhead.at(one.bytes)
    if not _STARTED_SENDS.fullmatch(one.operation):
        return Cost(whole, start, whole, start, extrapolates=overhead.extrapolates(one.bytes))
    if one.call in (one.operation, "MPI_Start", "MPI_Startall"):
        return Cost(start, start, start, start, has_partner=False)
    beyond = max(0.0, whole - start)
    return Cost(beyond, 0.0, beyond, 0.0, extrapolates=overhead.extrapolates(one.bytes))


def _exchange(one: Operations, curves: MessageCurves) -> Cost | str:
    curve = curves.exchange or curves.half_round_trip
    if curve is None:
        return "exchange"
    if one.bytes is None:
        return Cost(unsized=True)
    overheads = [overhead for overhead in (curves.send_overhead, curves.receive_overhead) if overhead]
    return Cost(
        curve.at(one.bytes),
        curve.smallest,
        sum(overhead.at(one.bytes) for overhead in overheads),
        sum(overhead.smallest for overhead in overheads),
        extrapolates=curve.extrapolates(one.bytes),
    )


def _sized(one: Operations, curve: Curve, least: Curve | None) -> Cost:
    if one.bytes is None:
        return Cost(unsized=True)
    return Cost(
        curve.at(one.bytes),
        curve.smallest,
        least.at(one.bytes) if least else 0.0,
        least.smallest if least else 0.0,
        extrapolates=curve.extrapolates(one.bytes),
    )


def _collective_of(name: str) -> tuple[str, bool]:
    """Returns the curve of a function, empty for no collective, and whether the function only starts it."""
    base = name.removeprefix("MPI_").lower()
    if base in _COLLECTIVES:
        return _COLLECTIVES[base], False
    return _COLLECTIVES.get(base.removeprefix("i"), ""), True


def _collective(one: Operations, name: str, curves: Curves) -> Cost | str:
    known = curves.collective(name, one.comm_size)
    if known is None:
        return name
    size = 0.0 if name == "barrier" else _block(one, curves.ranks)
    if size is None:
        return Cost(unsized=True, collective=True)
    sends_only = one.root if name in _FROM_ROOT else not one.root
    is_rooted = name in _FROM_ROOT or name in _TO_ROOT
    curve = (known.least if sends_only else known.most) if is_rooted else known.mean
    floor = curves.messages.receive_overhead if is_rooted else None
    least = (floor.at(size), floor.smallest) if floor else (0.0, 0.0)
    return Cost(
        curve.at(size),
        curve.smallest,
        *least,
        has_partner=not (is_rooted and sends_only),
        collective=True,
        extrapolates=name != "barrier" and curve.extrapolates(size),
    )


def _block(one: Operations, application_ranks: int | None) -> float | None:
    """Returns the size in the definition of the curves: the whole vector, or the block per rank or rank pair.

    The profile's size has TAU's definition (docs/methods/profiles.md). A communicator of unknown size has
    ``application_ranks``.
    Assumption: MPI_Alltoallv and MPI_Alltoallw send nothing from a rank to itself.
    """
    if one.bytes is None:
        return None
    name, ranks = one.operation.removeprefix("MPI_").lower().removeprefix("i"), one.comm_size or application_ranks or 2
    if name == "alltoall":
        return one.bytes / 2
    if name in ("alltoallv", "alltoallw"):
        return one.bytes / (2 * max(1, ranks - 1))
    if name == "allgatherv" or (name in ("gatherv", "scatterv") and one.root):
        return one.bytes / ranks
    return one.bytes
