# SPDX-License-Identifier: Apache-2.0
"""Derives the rows of the long table from the profile of a launch."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.calls import SENT_BY, call_of_event, sizes_of_event
from fabricbench.parsers.tau.model import IN_REGION, SYNC, Profile, ThreadProfile, parameters_of
from fabricbench.parsers.tau.profiled_time import NO_TRANSFER, has_region, is_misread, profiled_seconds, timers_of

SYNC_CALL = "collective_sync"
"""The name in a case of the barrier in front of collectives."""
_ROUNDING_SHARE = 0.01
"""Accepted excess of the time in MPI over the run time, relative."""


@dataclass(slots=True)
class _Call:
    """What all ranks spent in one MPI function. ``seconds``: by rank, the sum over its threads."""

    calls: int
    seconds: list[float]


@dataclass(frozen=True, slots=True)
class RankShares:
    """The shares of the described time, by rank. ``mpi``: in MPI. ``calls``: by function; their sum is ``mpi``."""

    mpi: tuple[float, ...]
    calls: Mapping[str, tuple[float, ...]]


def rank_shares(profile: Profile) -> RankShares:
    """Returns the share of each rank's time in each MPI function, for the described time of ``rows_of``.

    Of a rank's threads, the one with the most time in MPI gives the sum; it is divided in the ratio of the times of all
    threads. Unreadable where the profile contradicts itself.
    """
    region = has_region(profile)
    shares = tuple(_share(threads, profiled_seconds(threads[0], region), region) for threads in profile.by_rank())
    seconds = {_slug(name): call.seconds for name, call in _calls(profile, region).items()}
    totals = [sum(by_rank) for by_rank in zip(*seconds.values(), strict=True)]
    calls = {
        name: tuple(s * t / total if total else 0.0 for s, t, total in zip(shares, times, totals, strict=True))
        for name, times in seconds.items()
    }
    return RankShares(shares, calls)


def rows_of(profile: Profile, launch: Launch) -> tuple[Row, ...]:
    """Returns the rows of a profiled launch; Unreadable where the profile contradicts itself.

    The rows describe the region that the program marks, otherwise the time from MPI_Init to MPI_Finalize, without both.

    - ``mpi_share``, ``_min``, ``_max``: mean, least and largest share over ranks; of a rank's threads, the one with the
      most time in MPI counts.
    - ``profiled_time``: the time that the shares refer to, of the slowest rank.
    - ``parallel_efficiency``, ``load_balance``, ``communication_efficiency``: of the POP CoE, as in ``models.pop``.
    - Case ``call=MPI_…``: ``mpi_calls``, ``mpi_time`` (mean over ranks), ``mpi_time_max``, ``mpi_bytes``. Times exclude
      TAU's barrier before a collective, which is ``call=collective_sync``.
    - ``mpi_calls_by_size``: at 0, 1, 2, 4, … bytes, the calls with at least this size and less than the next.

    Calls of MPI_Wait* and MPI_Test* in a marked region are completed operations. TAU counts the bytes of some functions
    together; their case names all: ``call=MPI_Isend+MPI_Send``.
    """
    return tuple(
        Row(
            benchmark=launch.benchmark,
            case=joined_case(launch.case, f"call={_slug(name)}" if name else ""),
            metric=metric,
            msg_size_bytes=size,
            value=value,
        )
        for metric, name, size, value in _values(profile)
    )


def _values(profile: Profile) -> Iterator[tuple[str, str, int | None, float]]:
    """Yields metric, function or functions, size and value of each row."""
    region = has_region(profile)
    by_rank = profile.by_rank()
    times = [profiled_seconds(threads[0], region) for threads in by_rank]
    shares = [_share(threads, time, region) for threads, time in zip(by_rank, times, strict=True)]
    yield "mpi_share", "", None, sum(shares) / len(shares)
    yield "mpi_share_min", "", None, min(shares)
    yield "mpi_share_max", "", None, max(shares)
    yield "profiled_time", "", None, max(times)
    outside = [time * (1 - share) for time, share in zip(times, shares, strict=True)]
    mean, most = sum(outside) / len(outside), max(outside)
    yield "parallel_efficiency", "", None, mean / max(times)
    yield "load_balance", "", None, mean / most if most else 1.0
    yield "communication_efficiency", "", None, most / max(times)
    calls = _calls(profile, region)
    for name, call in calls.items():
        yield "mpi_calls", name, None, call.calls
        yield "mpi_time", name, None, sum(call.seconds) / len(call.seconds)
        yield "mpi_time_max", name, None, max(call.seconds)
    for name, total in _bytes(profile, calls, region).items():
        yield "mpi_bytes", name, None, total
    for (name, size), count in _histogram(profile, calls, region).items():
        yield "mpi_calls_by_size", name, size, count


def _slug(name: str) -> str:
    return SYNC_CALL if name == SYNC else name


def _share(threads: tuple[ThreadProfile, ...], seconds: float, region: bool) -> float:
    busiest = max(sum(timer.exclusive for timer in timers_of(thread, region)) for thread in threads)
    if busiest > seconds * (1 + _ROUNDING_SHARE):
        expected = f"at most {seconds:g} s in MPI of rank {threads[0].rank}, its run time, not {busiest:g} s"
        raise Unreadable(threads[0].file, threads[0].line, expected)
    return min(1.0, busiest / seconds)


def _calls(profile: Profile, region: bool) -> dict[str, _Call]:
    calls: dict[str, _Call] = {}
    for thread in profile.threads:
        for timer in timers_of(thread, region):
            call = calls.setdefault(timer.call, _Call(0, [0.0] * profile.ranks))
            call.calls += timer.calls
            call.seconds[thread.rank] += timer.exclusive
    return dict(sorted(calls.items()))


def _sized(profile: Profile, calls: Mapping[str, _Call], region: bool) -> dict[str, dict[tuple[int, int], int]]:
    """Returns by function the number of calls by range of sizes, of functions whose sizes are all known.

    The sizes of MPI_Wait*, MPI_Test* and MPI_*_init are those of operations that other functions start. TAU with
    PROFILEPARAM loses sizes: all of MPI_Send, equal ones of MPI_Sendrecv, whose other sizes are the received ones. They
    are not used.
    """
    sizes: dict[str, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for thread in profile.threads:
        for timer in timers_of(thread, True) if region else thread.by_size():
            if timer.sizes is not None and not NO_TRANSFER.fullmatch(timer.call) and not is_misread(thread, timer):
                sizes[timer.call][timer.sizes] += timer.calls
    expected = {name: call.calls for name, call in calls.items()}
    return {name: dict(counts) for name, counts in sizes.items() if sum(counts.values()) == expected.get(name)}


def _bytes(profile: Profile, calls: Mapping[str, _Call], region: bool) -> dict[str, int]:
    """Returns the bytes of all ranks by function, or by the functions that TAU counts together."""
    totals: dict[str, int] = {}
    exact = _exact_ranges(profile, region)
    for name, sizes in _sized(profile, calls, region).items():
        ranges = sum(exact.get((name, low, high), 0) for low, high in sizes if low != high)
        totals[name] = ranges + sum(low * count for (low, high), count in sizes.items() if low == high)
    if region:
        return totals
    events: dict[tuple[str, ...], int] = defaultdict(int)
    for thread in profile.threads:
        for event in thread.events:
            functions = tuple(name for name in SENT_BY.get(event.name, ()) if name in calls)
            if functions and not all(name in totals for name in functions):
                events[functions] += round(event.total)
    for functions in events:
        for name in functions:
            totals.pop(name, None)
    return dict(sorted((totals | {"+".join(names): total for names, total in events.items()}).items()))


def bytes_by_peer(profile: Profile) -> dict[tuple[str, str], int]:
    """Returns the bytes of all ranks by function and peer (``self``, ``same node``, ``other node``).

    For the described time of ``rows_of``. Empty for profiles of TAU, which does not tell the peers apart.
    """
    region = has_region(profile)
    exact: dict[tuple[str, str], int] = defaultdict(int)
    for thread in profile.threads:
        for timer in thread.by_all():
            peer = dict(timer.params).get("peer")
            if peer and timer.bytes is not None and (IN_REGION in timer.params or not region):
                exact[timer.call, peer] += timer.bytes
        for event in thread.events:
            peer, call = parameters_of(event.name).get("peer"), call_of_event(event.name)
            if peer and call and sizes_of_event(event.name, region):
                exact[call, peer] += round(event.total)
    return dict(sorted(exact.items()))


def _exact_ranges(profile: Profile, region: bool) -> dict[tuple[str, int, int], int]:
    """Returns the exact bytes of the calls in each range of sizes, by function and range."""
    totals: dict[tuple[str, int, int], int] = defaultdict(int)
    for thread in profile.threads:
        for event in thread.events:
            sizes, call = sizes_of_event(event.name, region), call_of_event(event.name)
            if sizes is not None and call:
                totals[(call, *sizes)] += round(event.total)
    return totals


def _histogram(profile: Profile, calls: Mapping[str, _Call], region: bool) -> dict[tuple[str, int], int]:
    """Returns the calls by function and by the largest power of two that is at most the size."""
    bins: dict[tuple[str, int], int] = defaultdict(int)
    for name, sizes in _sized(profile, calls, region).items():
        for (low, _), count in sizes.items():
            bins[name, 1 << low.bit_length() >> 1] += count
    return dict(sorted(bins.items()))
