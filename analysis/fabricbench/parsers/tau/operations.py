# SPDX-License-Identifier: Apache-2.0
"""The communication of a profile by function, size and peer, with time stamps of both sides where these are known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadStart:
    """Operations whose partner entered theirs earlier by about the same time. ``seconds``: the sum of these times."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of one rank with one function, message size and kind of peer, in the profiled time.

    ``call``: the MPI function in which the time passed, ``MPI_Wait``. ``operation``: the function that started the
    operation, ``MPI_Irecv``; ``call`` itself if it blocks. ``bytes``: the mean message size in bytes, in the definition
    of the profile; None if unknown. ``peer``: ``same node``, ``other node``, ``self``, ``any``, ``none`` or empty.
    ``comm_size``: ranks of the communicator; None if unknown. ``root``: whether the rank is the root of a rooted
    collective. ``count``: the number of operations. ``calls``: the number of calls that they took: of n operations that
    one MPI_Waitall completes, each counts 1 / n. ``seconds``: their time in the call.
    ``matched``: the number of operations whose partner's time stamps are known. The partner is the sender, the
    receiver, or the last rank on which the result depends. ``late_seconds``: the sum over matched operations of the
    time in the call before the partner entered. ``head_starts``: the matched operations whose partner entered before
    the call began, or before this waiting ended if the call waits for other operations as well; by how much.
    ``spread``: shares of the operations and their message sizes, where only the moments of the sizes are known;
    ``bytes`` is then their mean.
    """

    call: str
    operation: str
    bytes: float | None
    peer: str
    comm_size: int | None
    root: bool
    count: int
    calls: float
    seconds: float
    matched: int = 0
    late_seconds: float = 0.0
    head_starts: tuple[HeadStart, ...] = ()
    spread: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RankOperations:
    """The profiled time of one rank in seconds, and its operations. Those of the thread with the most time in MPI.

    ``overhead_seconds``: what the profiler itself cost the rank; 0 if it is unknown.
    ``stamps``: ``complete``, ``complete, without collectives``, ``first N operations`` or ``none: reason``; empty if
    the profiler records no time stamps.
    ``clock_error_seconds``: the largest error between time stamps of different nodes.
    """

    rank: int
    seconds: float
    overhead_seconds: float
    operations: tuple[Operations, ...]
    stamps: str = ""
    clock_error_seconds: float = 0.0
