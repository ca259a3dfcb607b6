# SPDX-License-Identifier: Apache-2.0
"""The bytes that the calls of a profile put between ranks: the least and the most of any algorithm of a collective."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, log2

from fabricbench.parsers.tau.calls import call_of_event, sizes_of_event
from fabricbench.parsers.tau.model import Profile, parameters_of

Limits = Callable[[float, int], tuple[float, float]]
"""From the sum of the message sizes of all ranks and the number of ranks to the least and the most bytes."""


def _steps(ranks: int) -> int:
    """Returns the number of steps of recursive doubling, with the one that numbers beside powers of two add."""
    return ceil(log2(ranks)) + (1 if ranks & (ranks - 1) else 0)


def _exact(total: float, ranks: int) -> tuple[float, float]:
    return total, total


def _rooted(total: float, ranks: int) -> tuple[float, float]:
    """Every rank but one receives, or sends, the size; a large message may be scattered and gathered again."""
    least = total * (ranks - 1) / ranks
    return least, 2 * least


def _one_block_each(total: float, ranks: int) -> tuple[float, float]:
    """The sizes are those of the ranks other than the root; in a tree a block passes several ranks."""
    return total, total * _steps(ranks)


def _gathered_by_all(total: float, ranks: int) -> tuple[float, float]:
    """The size is one rank's block, which each other rank receives. A stack may send it to its own rank too."""
    return total * (ranks - 1), total * ranks


def _all_of_all(total: float, ranks: int) -> tuple[float, float]:
    """The size is the sum of all blocks, of which each rank receives all but its own, on average."""
    return total * (ranks - 1) / ranks, total


def _exchanged(total: float, ranks: int) -> tuple[float, float]:
    """The size is a sent and a received block of one partner.

    Small blocks pass several ranks. Intel MPI sends the block of a rank to itself over TCP too.
    """
    block = total / 2
    return block * (ranks - 1), block * max(ranks, ranks / 2 * _steps(ranks))


def _exchanged_sums(total: float, ranks: int) -> tuple[float, float]:
    """The size is the sum of all sent and received blocks; which part a rank sends to itself is unknown."""
    return 0.0, total / 2


def _reduced_for_all(total: float, ranks: int) -> tuple[float, float]:
    return 2 * total * (ranks - 1) / ranks, total * max(2, _steps(ranks))


def _chained(total: float, ranks: int) -> tuple[float, float]:
    return total * (ranks - 1) / ranks, total * _steps(ranks)


_COLLECTIVES: dict[str, Limits] = {
    "bcast": _rooted,
    "reduce": _rooted,
    "gather": _one_block_each,
    "gatherv": _one_block_each,
    "scatter": _one_block_each,
    "scatterv": _one_block_each,
    "allgather": _gathered_by_all,
    "allgatherv": _all_of_all,
    "alltoall": _exchanged,
    "alltoallv": _exchanged_sums,
    "alltoallw": _exchanged_sums,
    "allreduce": _reduced_for_all,
    "scan": _chained,
    "exscan": _chained,
}
"""By function in lower case, without ``MPI_`` and the ``I`` of nonblocking ones (Thakur et al. 2005)."""

_BLOCKS_OF_OTHERS = {"gather", "gatherv", "scatter", "scatterv"}
_SENDS = re.compile(r"MPI_(I?[bsr]?send|Sendrecv(_replace)?|R?(put|get|accumulate))", re.IGNORECASE)
_SEND_INIT = re.compile(r"MPI_[BSR]?send_init", re.IGNORECASE)
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_RECEIVES = re.compile(r"MPI_(I?m?recv|M?probe|Im?probe|Wait.*|Test.*|Start.*|[A-Za-z]+_init)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WireBytes:
    """The least and the most bytes between all ranks.

    Stacks differ in whether messages of a rank to itself pass through the fabric; ``most`` includes them. ``messages``:
    the number of messages that carry the bytes directly, without a tree. ``unknown``: functions with a message size for
    which there are no limits.
    """

    least: float
    most: float
    messages: int
    unknown: tuple[str, ...]


def wire_bytes(profile: Profile) -> WireBytes:
    """Returns the limits of the bytes between ranks from Init to Finalize, for a profile of this project's profiler."""
    sums, messages, to_itself = _sums(profile)
    least, most = 0.0, to_itself
    unknown = set()
    for (call, ranks, role), total in sums.items():
        limits = _limits(call, role)
        if limits is None:
            unknown.add(call)
            continue
        low, high = limits(total, ranks)
        least, most = least + low, most + high
    return WireBytes(least, most, messages, tuple(sorted(unknown)))


def _limits(call: str, role: str) -> Limits | None:
    if _SENDS.fullmatch(call):
        return _exact
    if _RECEIVES.fullmatch(call):
        return lambda total, ranks: (0.0, 0.0)
    name = call.removeprefix("MPI_").lower()
    base = name if name in _COLLECTIVES else name.removeprefix("i")
    if base in _BLOCKS_OF_OTHERS and role == "root":
        return lambda total, ranks: (0.0, 0.0)
    return _COLLECTIVES.get(base)


def _ranks(params: Mapping[str, str], profile: Profile) -> int:
    """Returns the number of ranks of a call's communicator; that of the launch if it is not given or no number."""
    text = params.get("communicator size", "")
    return int(text) if _COUNT.fullmatch(text) else profile.ranks


def _moving_call(call: str, params: Mapping[str, str]) -> str:
    """Returns the function whose data a call moves: a started persistent send moves its message as ``MPI_Send``."""
    return "MPI_Send" if call.startswith("MPI_Start") and _SEND_INIT.match(params.get("operation", "")) else call


def _sums(profile: Profile) -> tuple[Mapping[tuple[str, int, str], float], int, float]:
    """Returns the sum of the message sizes by function, ranks of the communicator and role, and the messages.

    Collectives of one rank are left out, and messages of a rank to itself, whose bytes are the third value.
    """
    sums: dict[tuple[str, int, str], float] = defaultdict(float)
    messages, to_itself = 0, 0.0
    for thread in profile.threads:
        for timer in thread.by_all():
            params = dict(timer.params)
            ranks, call = _ranks(params, profile), _moving_call(timer.call, params)
            if params.get("peer") == "self" or ranks == 1:
                if _SENDS.fullmatch(call):
                    messages += timer.calls
                    to_itself += timer.bytes or 0
                continue
            if not _RECEIVES.fullmatch(call):
                messages += timer.calls * (1 if _SENDS.fullmatch(call) else ranks - 1)
            if timer.bytes:
                sums[call, ranks, params.get("role", "")] += timer.bytes
        for event in thread.events:
            call, params = call_of_event(event.name), parameters_of(event.name)
            if not call or not sizes_of_event(event.name, False):
                continue
            ranks, call = _ranks(params, profile), _moving_call(call, params)
            if params.get("peer") != "self" and ranks > 1:
                sums[call, ranks, params.get("role", "")] += event.total
            elif _SENDS.fullmatch(call):
                to_itself += event.total
    return sums, messages, to_itself
