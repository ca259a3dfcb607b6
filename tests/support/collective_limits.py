# SPDX-License-Identifier: Apache-2.0
"""The times that a collective can take on a network of known latency and rate, where each rank has a full-duplex link.

``least_us`` follows from the network alone: no algorithm is faster. ``most_us`` is the time of a simple algorithm,
which every stack should reach: a binomial tree (broadcast), a ring (all-gather), pairwise exchange (all-to-all), a
reduction and a broadcast in binomial trees (all-reduce), and dissemination (barrier).
Source: Chan, Heimlich, Purkayastha, van de Geijn (2007), CCPE 19; Patarasuk, Yuan (2009), JPDC 69 (the volume of an
all-reduce).
"""

from dataclasses import dataclass

COLLECTIVES = ("bcast", "allgather", "alltoall", "allreduce")


@dataclass(frozen=True, slots=True)
class Links:
    """Every rank's link to a switch.

    ``latency_us``: of a route, from rank to rank. ``bytes_per_us``: in each direction. ``overhead_us``: of the
    processors for a message. ``burst_bytes``: what a shaper lets pass at once.
    """

    latency_us: float
    bytes_per_us: float
    overhead_us: float = 0.0
    burst_bytes: int = 0

    def wire_us(self, bytes_: float) -> float:
        """Returns the least time in which a link carries these bytes in one direction."""
        return max(0.0, bytes_ - self.burst_bytes) / self.bytes_per_us

    def message_us(self, size: float) -> float:
        """Returns the time of one message from rank to rank without a burst."""
        return self.latency_us + self.overhead_us + size / self.bytes_per_us


def link_bytes(name: str, ranks: int, size: int) -> float:
    """Returns the bytes that the busiest link must carry in one direction.

    Each rank receives all blocks of the others (all-gather, all-to-all), a broadcast arrives once, and an all-reduce
    moves 2 (p - 1) m bytes over p links.
    """
    if name in ("allgather", "alltoall"):
        return (ranks - 1) * float(size)
    return 2 * (ranks - 1) * size / ranks if name == "allreduce" else float(size)


def least_us(name: str, ranks: int, size: int, links: Links) -> float:
    """Returns the least time from the first rank's call to the last rank's return, in microseconds."""
    if name == "barrier":
        return links.latency_us
    return links.latency_us + links.wire_us(link_bytes(name, ranks, size)) if size else 0.0


def most_us(name: str, ranks: int, size: int, links: Links) -> float:
    """Returns the time of the simple algorithm, in microseconds."""
    rounds = (ranks - 1).bit_length()
    steps = {"bcast": rounds, "barrier": rounds, "allreduce": 2 * rounds, "allgather": ranks - 1, "alltoall": ranks - 1}
    return steps[name] * links.message_us(0 if name == "barrier" else size)
