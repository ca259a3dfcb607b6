# SPDX-License-Identifier: Apache-2.0
"""The time of collectives by a network's latency and time per byte, for comparison with measured times."""

LATENCY_ONLY = ("barrier",)
_TWICE = ("allreduce",)
_BLOCKS = ("alltoall", "allgather", "gather", "scatter")
_WHOLE = ("bcast", "reduce")
_VECTORS = (*_WHOLE, "reduce_scatter")
COLLECTIVES = (*LATENCY_ONLY, *_TWICE, *_BLOCKS, *_VECTORS)


def collective_us(name: str, ranks: int, size: int, message_us: float, ns_per_byte: float) -> float:
    """Returns the least time of a collective among ``ranks`` with one message at a time, in microseconds.

    Definition: the larger of two terms. Latency: ceil(log2 p) messages, one after the other, after which data of one
    rank can have reached all. Bytes: what one rank sends or receives at least, times G. These are (p - 1) m for
    all-to-all, all-gather, gather and scatter of blocks of m bytes; m for broadcast and reduce; (p - 1) m / p for
    reduce-scatter of vectors of m bytes; twice that for all-reduce.
    Assumptions: ranks send one message at a time, each over its own port; computation is left out.
    Several ranks that share a port take longer. A network that reduces by itself takes less.
    Source: Chan, Heimlich, Purkayastha, van de Geijn (2007), Collective communication: theory, practice, and
    experience, CCPE 19; Thakur, Rabenseifner, Gropp (2005), IJHPCA 19.

    ``size``: m in bytes. ``message_us``: L + o_s + o_r of the smallest message;
    ``ns_per_byte``: G.
    """
    if ranks < 2:
        return 0.0
    rounds = (ranks - 1).bit_length()
    if name in _BLOCKS:
        bytes_ = float((ranks - 1) * size)
    elif name in _WHOLE:
        bytes_ = float(size)
    else:
        bytes_ = (ranks - 1) * size / ranks * (2 if name in _TWICE else 1)
    return max(rounds * message_us, 0.0 if name in LATENCY_ONLY else bytes_ * ns_per_byte / 1000)
