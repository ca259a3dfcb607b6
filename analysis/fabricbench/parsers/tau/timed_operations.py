# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of each rank from a profile, with the time stamps that this project's profiler matched."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.calls import SENT_BY
from fabricbench.parsers.tau.model import CALLPATH, SYNC, Profile, ThreadProfile, Timer, UserEvent, parameters_of
from fabricbench.parsers.tau.operations import HeadStart, Operations, RankOperations

_EVENT = re.compile(r"(Late partner|Head start [0-9]{1,2}|Calls|Message size) : (MPI_\w+)\(\)")
_START_AND_END = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_MICROSECOND = 1e-6

_Key = tuple[str, frozenset[tuple[str, str]]]
"""A function and the parameters of its calls."""


def operations_of(profile: Profile) -> tuple[RankOperations, ...]:
    """Returns the operations in the profiled time of each rank, in order of ranks.

    The profiled time is the marked region, otherwise the time from MPI_Init to MPI_Finalize without both. The
    operations are those of the rank's thread with the most time in MPI. A profile of TAU has no operations by peer, and
    of sizes the mean over all calls, where one function alone triggers an event. Raises Unreadable where a rank has no
    profiled time.
    """
    region = any(thread.region for thread in profile.threads)
    return tuple(_rank(threads, region) for threads in profile.by_rank())


def _rank(threads: tuple[ThreadProfile, ...], region: bool) -> RankOperations:
    main = threads[0]
    if region:
        seconds = main.region.inclusive if main.region else 0.0
    else:
        seconds = main.total - sum(timer.inclusive for timer in main.mpi() if timer.call in _START_AND_END)
    if seconds <= 0:
        raise Unreadable(main.file, main.line, f"a run time above 0 of rank {main.rank}")
    thread = max(threads, key=lambda one: sum(timer.exclusive for timer in _timers(one, region)))
    events = _events(thread)
    operations = tuple(_operations(timer, thread, events) for timer in _timers(thread, region))
    return RankOperations(main.rank, seconds, _overhead(thread, operations), operations)


def _timers(thread: ThreadProfile, region: bool) -> list[Timer]:
    """Returns the timers that together count each call in the profiled time once."""
    timers = thread.in_region() if region else (thread.mpi() if _is_tau(thread) else thread.by_all())
    return [timer for timer in timers if timer.call not in _START_AND_END]


def _is_tau(thread: ThreadProfile) -> bool:
    return "TAU Version" in thread.metadata


def _overhead(thread: ThreadProfile, operations: tuple[Operations, ...]) -> float:
    """Returns the cost of the calls in seconds, by the profiler's own measurement; 0 for TAU, which has none."""
    try:
        nanoseconds = float(thread.metadata.get("Profiler Nanoseconds per Call", "0"))
    except ValueError:
        return 0.0
    return max(0.0, nanoseconds) * 1e-9 * sum(one.count for one in operations)


def _events(thread: ThreadProfile) -> Mapping[_Key, list[tuple[str, UserEvent]]]:
    """Returns the user events about some calls, by function and parameters."""
    found: dict[_Key, list[tuple[str, UserEvent]]] = defaultdict(list)
    for event in thread.events:
        if match := _EVENT.match(event.name):
            found[match[2], frozenset(parameters_of(event.name).items())].append((match[1], event))
    return found


def _operations(timer: Timer, thread: ThreadProfile, events: Mapping[_Key, list[tuple[str, UserEvent]]]) -> Operations:
    params = dict(timer.params)
    known = events.get((timer.call, frozenset(params.items())), [])
    late = [event for name, event in known if name == "Late partner"]
    calls = [event.total for name, event in known if name == "Calls"]
    sizes = [event.mean for name, event in known if name == "Message size"]
    ranks = params.get("communicator size", "")
    return Operations(
        call=timer.call,
        operation=params.get("operation", timer.call),
        bytes=sizes[0] if sizes else _size(timer, thread),
        peer=params.get("peer", ""),
        comm_size=int(ranks) if _COUNT.fullmatch(ranks) else None,
        root=params.get("role") == "root",
        count=timer.calls,
        calls=min(sum(calls), timer.calls) if calls else float(timer.calls),
        seconds=timer.exclusive,
        matched=min(timer.calls, sum(event.count for event in late)),
        late_seconds=_MICROSECOND * sum(event.total for event in late),
        head_starts=tuple(_head_starts(known)),
    )


def _head_starts(known: list[tuple[str, UserEvent]]) -> Iterator[HeadStart]:
    for name, event in known:
        if name.startswith("Head start") and event.count:
            yield HeadStart(event.count, _MICROSECOND * event.total)


def _size(timer: Timer, thread: ThreadProfile) -> float | None:
    """Returns the mean message size; None if it is unknown.

    In a range of sizes without an event it is the middle.
    """
    if timer.sizes is not None:
        return sum(timer.sizes) / 2
    if not _is_tau(thread) or timer.call == SYNC:
        return None
    called = {other.call for other in thread.mpi()}
    for event in thread.events:
        functions = [name for name in SENT_BY.get(event.name, ()) if name in called]
        if functions == [timer.call] and event.count and CALLPATH not in event.name:
            return event.mean
    return None
