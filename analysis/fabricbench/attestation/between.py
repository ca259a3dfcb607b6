# SPDX-License-Identifier: Apache-2.0
"""The least share of a payload that must pass between nodes, of launches with several ranks on a node.

Lanes of the variant ``local-shm`` use shared memory inside a node, so that only this share can be on the fabric.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fabricbench.attestation.ports import least_share
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Payload, PayloadPart

RANK_PAIRS = (
    *("pingpong", "unidirectional", "bidirectional", "bothway", "put", "get", "plogp", "reuse", "unexpected", "posted"),
    *("multiconn", "overlap", "progress", "multi_latency", "multi_bw", "pingping", "sendrecv_replace"),
)
"""Benchmarks in which rank i works with rank i + p/2 (``RankPairPart`` in apps/micro, OSU, IMB-P2P)."""

RINGS = ("sendrecv", "exchange")
"""Benchmarks of IMB-MPI1 in which each rank sends to the next one."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """``ranks`` on ``nodes``; ``each``: the most ranks on a node."""

    ranks: int
    nodes: int
    each: int


def _once_per_node(at: _Shape) -> float:
    return (at.nodes - 1) / (at.ranks - 1)


def _ranks_elsewhere(at: _Shape) -> float:
    return (at.ranks - at.each) / (at.ranks - 1)


def _node_of_ranks(at: _Shape) -> float:
    return at.nodes / at.ranks


COLLECTIVES: Mapping[str, Callable[[_Shape], float]] = {
    **dict.fromkeys(("bcast", "reduce", "allgather", "allgatherv"), _once_per_node),
    **dict.fromkeys(("gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv"), _ranks_elsewhere),
    **dict.fromkeys(("allreduce",), _node_of_ranks),
}
"""The share of the payload's bytes over all cuts between one node and the others, by collective.

Each node other than the root's receives a broadcast, or sends its partial sum, once. Each node receives every block of
an allgather that it does not have. The root's node has the blocks of its own ranks; so has each node of an all-to-all
those between its ranks. In an allreduce each node sends its partial sum and receives the result at least once. A
network that reduces in its switches needs less in one direction (``ports.switched_share``).
"""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Shares of bytes and of messages of a payload that must pass between nodes, 0 to 1.

    ``certain``: every launch reaches them. Otherwise they hold unless all communicating rank pairs are within nodes.
    """

    bytes: float
    messages: float
    certain: bool = False


def crossing(launch: Launch, benchmark: str) -> Crossing:
    """Returns the least shares of a benchmark's payload that pass between the nodes of a launch.

    They are exact for benchmarks of rank pairs, and a bound for collectives. Of other benchmarks the share is
    ``least_share``.
    """
    if launch.nodes < 2:
        return Crossing(0.0, 0.0, certain=True)
    if launch.ranks <= launch.nodes:
        return Crossing(1.0, 1.0, certain=True)
    if benchmark in (*RANK_PAIRS, *RINGS):
        share = _pairs_between(launch, 1 if benchmark in RINGS else launch.ranks // 2)
        return Crossing(share, share, certain=True)
    shape = _Shape(launch.ranks, launch.nodes, -(-launch.ranks // launch.nodes))
    name = benchmark.removesuffix("_pure")
    of_bytes = next((COLLECTIVES[one] for one in (name, name.removeprefix("i")) if one in COLLECTIVES), None)
    of_any_algorithm = least_share(launch)
    return Crossing(of_bytes(shape) if of_bytes else of_any_algorithm, of_any_algorithm, certain=of_bytes is not None)


def payload_between(launch: Launch, payload: Payload, parts: tuple[PayloadPart, ...] = ()) -> Payload:
    """Returns the least payload of a launch between its nodes: the sum over its parts, or that of its benchmark."""
    if not parts:
        return scaled(payload, crossing(launch, launch.benchmark))
    each = [scaled(part.payload, crossing(launch, part.benchmark)) for part in parts]
    return Payload(bytes=sum(one.bytes for one in each), messages=sum(one.messages for one in each))


def scaled(payload: Payload, share: Crossing) -> Payload:
    """Returns the part of a payload that must pass between nodes."""
    return Payload(bytes=int(payload.bytes * share.bytes), messages=int(payload.messages * share.messages))


def _pairs_between(launch: Launch, distance: int) -> float:
    """Returns the share of ranks whose partner, ``distance`` ranks on, is on another node, as the launch was placed.

    With d the distance, partners are r and r + d, or r + d - p where that is beyond the last of p ranks.
    """
    p, d = launch.ranks, distance % launch.ranks
    if launch.placement == "cyclic":
        same = sum(count for count, steps in ((p - d, d), (d, p - d)) if steps % launch.nodes == 0)
    else:
        each = -(-p // launch.nodes)
        full, rest = divmod(p, each)
        same = sum(full * max(0, each - steps) + max(0, rest - steps) for steps in (d, p - d))
    return (p - same) / p
