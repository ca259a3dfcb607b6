# SPDX-License-Identifier: Apache-2.0
"""The programs of the OSU micro-benchmarks: their benchmarks, metrics, and the least that they move."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fabricbench.parsers.osu_table import Version

Family = Literal["pt2pt", "congestion", "one-sided", "collective"]
Ranks = Callable[[int], int]

WINDOW = 64
"""The messages of a window, OSU's default in all versions."""


@dataclass(frozen=True, slots=True)
class OsuProgram:
    """One program of OSU: its benchmark, the metric of its column, and the least that one repetition moves.

    ``bytes``: per byte of message size, and ``messages``: both for p ranks. Messages sent back to back in one direction
    may share a segment, so a window counts as one message and its acknowledgement as another. ``validated``: the first
    version that checks the data (``-c``). ``smallest_bytes``: the smallest message on p ranks.
    """

    benchmark: str
    family: Family
    metric: str
    bytes: Ranks
    messages: Ranks
    validated: Version | None = None
    window: bool = False
    pairs: bool = False
    sized: bool = True
    reduces: bool = False
    smallest_bytes: Ranks = lambda p: 1


def _two_sided(benchmark: str, metric: str, ways: int, *, window: bool, pairs: bool = False) -> OsuProgram:
    """A program of two ranks or p / 2 rank pairs, in one direction or both."""
    size = ways * (WINDOW if window else 1)
    count: Ranks = (lambda p: p // 2) if pairs else (lambda p: 1)
    return OsuProgram(
        benchmark,
        "pt2pt",
        metric,
        lambda p: size * count(p),
        lambda p: 2 * count(p),
        validated=(5, 9),
        window=window,
        pairs=pairs,
    )


def _fan(benchmark: str) -> OsuProgram:
    """A program in which one rank exchanges windows with all other ranks at once, one rank on each node."""
    return OsuProgram(
        benchmark, "congestion", "bandwidth", lambda p: WINDOW * (p - 1), lambda p: 2 * (p - 1), window=True
    )


def _one_sided(benchmark: str, metric: str, ways: int, *, window: bool = False, sized: bool = True) -> OsuProgram:
    """A program of one-sided operations: a request, or a window of them, and the answer that it is complete.

    ``ways``: 2 if bytes go to the target and back."""
    atomic = benchmark in ("accumulate", "compare_and_swap", "fetch_and_op")
    return OsuProgram(
        benchmark,
        "one-sided",
        metric,
        lambda p: ways * (WINDOW if window else 1),
        lambda p: 2,
        validated=(7, 1) if atomic else None,
        window=window,
        sized=sized,
        reduces=atomic,
        smallest_bytes=lambda p: 4 if atomic else 1,
    )


def _collective(benchmark: str, bytes_: Ranks, messages: Ranks, *, reduces: bool = False) -> OsuProgram:
    return OsuProgram(
        benchmark,
        "collective",
        "time",
        bytes_,
        messages,
        validated=(5, 9),
        reduces=reduces,
        smallest_bytes=lambda p: (4 * p if benchmark == "reduce_scatter" else 4) if reduces else 1,
    )


PROGRAMS = {
    "osu_latency": _two_sided("pingpong", "latency", 2, window=False),
    "osu_bw": _two_sided("unidirectional", "bandwidth", 1, window=True),
    "osu_bibw": _two_sided("bidirectional", "bandwidth", 2, window=True),
    "osu_multi_lat": _two_sided("multi_latency", "latency", 2, window=False, pairs=True),
    "osu_mbw_mr": _two_sided("multi_bw", "bandwidth", 1, window=True, pairs=True),
    "osu_bw_fan_in": _fan("fan_in"),
    "osu_bw_fan_out": _fan("fan_out"),
    "osu_put_latency": _one_sided("put", "latency", 1),
    "osu_put_bw": _one_sided("put", "bandwidth", 1, window=True),
    "osu_put_bibw": _one_sided("put_bidirectional", "bandwidth", 2, window=True),
    "osu_get_latency": _one_sided("get", "latency", 1),
    "osu_get_bw": _one_sided("get", "bandwidth", 1, window=True),
    "osu_acc_latency": _one_sided("accumulate", "latency", 1),
    "osu_get_acc_latency": _one_sided("get_accumulate", "latency", 2),
    "osu_cas_latency": _one_sided("compare_and_swap", "latency", 3, sized=False),
    "osu_fop_latency": _one_sided("fetch_and_op", "latency", 2, sized=False),
    "osu_allreduce": _collective("allreduce", lambda p: p, lambda p: p, reduces=True),
    "osu_allgather": _collective("allgather", lambda p: p * (p - 1), lambda p: p),
    "osu_alltoall": _collective("alltoall", lambda p: p * (p - 1), lambda p: p),
    "osu_bcast": _collective("bcast", lambda p: p - 1, lambda p: p - 1),
    "osu_reduce": _collective("reduce", lambda p: p - 1, lambda p: p - 1, reduces=True),
    "osu_reduce_scatter": _collective("reduce_scatter", lambda p: 1, lambda p: p, reduces=True),
    "osu_gather": _collective("gather", lambda p: p - 1, lambda p: p - 1),
    "osu_scatter": _collective("scatter", lambda p: p - 1, lambda p: p - 1),
    "osu_barrier": OsuProgram("barrier", "collective", "time", lambda p: 0, lambda p: p, sized=False),
}
"""In ``reduce_scatter`` each rank receives its share of the size, and the others together send at least as much."""

WINDOWS = {"create": "MPI_Win_create", "allocate": "MPI_Win_allocate", "dynamic": "MPI_Win_create_dynamic"}
SYNCS = {
    "lock": "MPI_Win_lock/unlock",
    "lock_all": "MPI_Win_lock_all/unlock_all",
    "flush": "MPI_Win_flush",
    "pscw": "MPI_Win_post/start/complete/wait",
    "fence": "MPI_Win_fence",
}
"""OSU's words for synchronisation. ``flush_local`` is left out: it completes nothing at the target, so no message is
certain."""
