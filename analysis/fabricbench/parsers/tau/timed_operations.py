# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of each rank from a profile, with the time stamps that this project's profiler matched."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from fabricbench.parsers.output import Unreadable, number
from fabricbench.parsers.tau.model import SYNC, Profile, ThreadProfile, Timer, UserEvent, parameters_of
from fabricbench.parsers.tau.operations import HeadStart, Operations, RankOperations
from fabricbench.parsers.tau.profiled_time import START_AND_END, has_region, profiled_seconds, timers_of
from fabricbench.parsers.tau.tau_operations import tau_operations

LATE, HEAD_START, CALLS, SIZE = "Late partner", "Head start", "Calls", "Message size"
_EVENT = re.compile(r"(Late partner|Head start [0-9]{1,2}|Calls|Message size) : (MPI_\w+\(\)|MPI Collective Sync)   \[")
_RANKS = re.compile(r"[1-9][0-9]{0,8}")
_MICROSECOND = 1e-6
_SLACK_SHARE, _SLACK_SECONDS = 0.01, 2e-9
"""Accepted excess of late partners over the time of the calls: relative, and of each operation."""

_Key = tuple[str, tuple[tuple[str, str], ...]]
"""A function and the parameters of its calls."""

_Events = Mapping[_Key, Mapping[str, list[UserEvent]]]


def operations_of(profile: Profile) -> tuple[RankOperations, ...]:
    """Returns the operations in the profiled time of each rank, in order of ranks.

    The profiled time is the marked region, otherwise the time from MPI_Init to MPI_Finalize without both. The
    operations are those of the rank's thread with the most time in MPI.

    A profile of TAU has neither peers nor time stamps (``parsers.tau.tau_operations``).

    Unreadable with file and line where a rank has no profiled time, or where an event contradicts its timer.
    """
    region = has_region(profile)
    return tuple(_rank(threads, region) for threads in profile.by_rank())


def _rank(threads: tuple[ThreadProfile, ...], region: bool) -> RankOperations:
    main = threads[0]
    seconds = profiled_seconds(main, region)
    thread = max(threads, key=lambda one: sum(timer.exclusive for timer in timers_of(one, region)))
    operations = tuple((tau_operations if thread.is_tau else _own_operations)(thread, region))
    calls = sum(one.calls for one in operations)
    return RankOperations(
        rank=main.rank,
        seconds=seconds,
        overhead_seconds=1e-9 * calls * _metadata_number(main, "Profiler Nanoseconds per Call"),
        operations=operations,
        stamps=main.metadata.get("Time Stamps", ""),
        clock_error_seconds=_MICROSECOND * _metadata_number(main, "Clock Error Microseconds"),
    )


def _metadata_number(thread: ThreadProfile, name: str) -> float:
    """Returns a number of the metadata; 0 if it is not there."""
    value = thread.metadata.get(name)
    return number(value, thread.file, thread.line + 1) if value is not None else 0.0


def _own_operations(thread: ThreadProfile, region: bool) -> Iterator[Operations]:
    events = _events(thread)
    for timer in timers_of(thread, True) if region else thread.by_all():
        if timer.call not in START_AND_END:
            yield _detailed(thread, timer, events.get((timer.call, timer.params), {}))


def _events(thread: ThreadProfile) -> _Events:
    """Returns the user events of each detailed timer by their titles; Unreadable if an event has no timer."""
    timers: set[_Key] = {(timer.call, timer.params) for timer in thread.by_all()}
    events: dict[_Key, dict[str, list[UserEvent]]] = defaultdict(lambda: defaultdict(list))
    for event in thread.events:
        match = _EVENT.match(event.name)
        if match is None:
            continue
        key = (match[2].removesuffix("()"), tuple(parameters_of(event.name).items()))
        if key not in timers:
            raise Unreadable(thread.file, event.line, f"a timer for the event '{event.name[:120]}'")
        title = HEAD_START if match[1].startswith(HEAD_START) else match[1]
        events[key][title].append(event)
    return events


def _detailed(thread: ThreadProfile, timer: Timer, events: Mapping[str, list[UserEvent]]) -> Operations:
    params = dict(timer.params)
    late, shares, sizes = (_at_most_one(thread, events.get(title, [])) for title in (LATE, CALLS, SIZE))
    head_starts = events.get(HEAD_START, [])
    _require_consistent(thread, timer, late, head_starts)
    ranks = params.get("communicator size", "")
    if shares is not None and (shares.count != timer.calls or shares.minimum <= 0 or shares.maximum > 1):
        raise Unreadable(thread.file, shares.line, f"shares above 0 and at most 1 of {timer.calls} operations")
    size = timer.sizes
    return Operations(
        call=timer.call,
        operation=params.get("operation", "" if timer.call == SYNC else timer.call),
        bytes=sizes.mean if sizes else sum(size) / 2 if size else None,
        peer=params.get("peer", ""),
        comm_size=int(ranks) if _RANKS.fullmatch(ranks) else None,
        root=params.get("role") == "root",
        count=timer.calls,
        calls=shares.total if shares else float(timer.calls),
        seconds=timer.exclusive,
        matched=late.count if late else 0,
        late_seconds=min(timer.exclusive, _MICROSECOND * late.total) if late else 0.0,
        head_starts=tuple(HeadStart(one.count, _MICROSECOND * one.total) for one in head_starts),
    )


def _at_most_one(thread: ThreadProfile, events: list[UserEvent]) -> UserEvent | None:
    if len(events) > 1:
        raise Unreadable(thread.file, events[1].line, f"one event of this name, the first is line {events[0].line}")
    return events[0] if events else None


def _require_consistent(
    thread: ThreadProfile, timer: Timer, late: UserEvent | None, head_starts: list[UserEvent]
) -> None:
    """Raises Unreadable where time stamps are negative, too many, or longer than the calls."""
    for event in ([late] if late else []) + head_starts:
        if event.minimum < 0:
            raise Unreadable(thread.file, event.line, f"times of at least 0, not {event.minimum:g}")
    matched = late.count if late else 0
    if late and matched > timer.calls:
        raise Unreadable(thread.file, late.line, f"at most {timer.calls} matched operations, not {matched}")
    if head_starts and sum(event.count for event in head_starts) > matched:
        raise Unreadable(thread.file, head_starts[0].line, f"at most {matched} head starts, as many as late partners")
    most = timer.exclusive * (1 + _SLACK_SHARE) + _SLACK_SECONDS * matched
    if late and _MICROSECOND * late.total > most:
        expected = f"late partners of at most {timer.exclusive:g} s, the time of the calls"
        raise Unreadable(thread.file, late.line, f"{expected}, not {_MICROSECOND * late.total:g} s")
