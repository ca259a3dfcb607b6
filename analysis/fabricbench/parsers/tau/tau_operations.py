# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of a thread from a profile of TAU, which has neither peers nor time stamps."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fabricbench.parsers.tau.calls import SENT_BY
from fabricbench.parsers.tau.model import CALLED_BY, REGION, SYNC, ThreadProfile, Timer, UserEvent
from fabricbench.parsers.tau.operations import Operations
from fabricbench.parsers.tau.profiled_time import NO_TRANSFER, is_misread, timers_of

_RECEIVED = "Message size received in wait"
_SENT_TO = "Message size sent to node {}"
_SENT = re.compile(r"Message size sent to node [0-9]+")
_COMPLETES = re.compile(r"MPI_Wait(all|any|some)?")
_BLOCKING = {"MPI_Recv", "MPI_Mrecv"}
_SENDS = ("MPI_Send", "MPI_Bsend", "MPI_Rsend", "MPI_Ssend", "MPI_Isend", "MPI_Ibsend", "MPI_Irsend", "MPI_Issend")
"""The names of TAU's events, in which a node is a rank, and the functions that send and do not receive."""


def tau_operations(thread: ThreadProfile, region: bool) -> Iterator[Operations]:
    """Yields the operations of a thread, in the marked region or in the whole run.

    - Sends: number and mean size from TAU's matrix of communication, without messages of the rank to itself.
    - MPI_Wait and the like: the receives that they complete, without messages of the rank to itself. Which of several
      functions received those is unknown, and then the size. Completed sends have no event: the time of a function that
      completes sends alone is an operation of unknown size.
    - Others: the sizes of PROFILEPARAM, otherwise the mean of a user event (``_mean_size``). TAU knows no sizes of
      collectives in a marked region: they are the mean over the whole run.
    - TAU's barrier: an operation with call ``MPI Collective Sync``.
    """
    counted = _counted(thread, region)
    sizes: dict[str, list[Timer]] = defaultdict(list)
    for timer in thread.by_size():
        if timer.bytes is not None and not NO_TRANSFER.fullmatch(timer.call) and not is_misread(thread, timer):
            sizes[timer.call].append(timer)
    totals = {timer.call: timer.calls for timer in thread.mpi()}
    for timer in _by_call(timers_of(thread, region)):
        messages = _messages(thread, timer.call, counted)
        if messages is not None:
            yield messages.operations(timer)
            continue
        if _COMPLETES.fullmatch(timer.call):
            yield replace(_plain(timer, None), operation="MPI_Isend")
            continue
        known = sizes[timer.call]
        is_complete = bool(known) and sum(one.calls for one in known) == totals.get(timer.call)
        if is_complete and not region:
            for one in known:
                yield _plain(one, float(one.sizes[0]) if one.sizes else None)
        elif is_complete and totals[timer.call]:
            yield _plain(timer, sum(one.bytes or 0 for one in known) / totals[timer.call])
        else:
            yield _plain(timer, _mean_size(thread, timer.call, frozenset(totals)))


def _by_call(timers: Iterable[Timer]) -> Iterator[Timer]:
    """Yields one timer for each function: a region may call it on several paths through the program."""
    paths: dict[str, list[Timer]] = defaultdict(list)
    for timer in timers:
        paths[timer.call].append(timer)
    for same in paths.values():
        yield replace(
            same[0],
            calls=sum(timer.calls for timer in same),
            subcalls=sum(timer.subcalls for timer in same),
            exclusive=sum(timer.exclusive for timer in same),
            inclusive=sum(timer.inclusive for timer in same),
        )


@dataclass(frozen=True, slots=True)
class _Messages:
    """A number of messages, their bytes and squared bytes, and the range of their sizes.

    ``received``: whether a function such as MPI_Wait received them. ``sized``: False if they contain an unknown number
    of messages of the rank to itself.
    """

    count: int = 0
    bytes: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = 0.0
    received: bool = False
    sized: bool = True

    def __add__(self, other: "_Messages") -> "_Messages":
        return replace(self._plus(other, 1), least=min(self.least, other.least), most=max(self.most, other.most))

    def __sub__(self, other: "_Messages") -> "_Messages":
        return self._plus(other, -1)

    def _plus(self, other: "_Messages", sign: int) -> "_Messages":
        return replace(
            self,
            count=self.count + sign * other.count,
            bytes=self.bytes + sign * other.bytes,
            squares=self.squares + sign * other.squares,
        )

    def spread(self) -> tuple[tuple[float, float], ...]:
        """Returns shares and sizes with the same mean and variance: the least, the mean and the largest size."""
        mean = self.bytes / self.count
        largest_variance = (self.most - mean) * (mean - self.least)
        if largest_variance <= 0:
            return ()
        outside = min(1.0, max(0.0, self.squares / self.count - mean**2) / largest_variance)
        above = outside * (mean - self.least) / (self.most - self.least)
        shares = ((outside - above, self.least), (1 - outside, mean), (above, self.most))
        return tuple((share, size) for share, size in shares if share > 0)

    def operations(self, timer: Timer) -> Operations:
        if not self.count:
            return replace(_plain(timer, None), peer="self")
        mean = self.bytes / self.count if self.sized else None
        spread = self.spread() if self.sized else ()
        operations = replace(_plain(timer, mean), count=self.count, spread=spread)
        return replace(operations, operation="MPI_Irecv") if self.received else operations


_Counted = Mapping[tuple[str, str], _Messages]
"""Messages by the name of TAU's event and the function."""


def _messages(thread: ThreadProfile, call: str, counted: _Counted) -> _Messages | None:
    """Returns the messages to other ranks that a function sent, or whose receives it completed; None if unknown."""
    to_itself = _SENT_TO.format(thread.rank)
    if call in _SENDS:
        destinations = [title for title, sender in counted if sender == call and _SENT.fullmatch(title)]
        sent = sum((counted[title, call] for title in destinations if title != to_itself), _Messages())
        return sent if destinations else None
    if (_RECEIVED, call) not in counted:
        return None
    received = replace(counted[_RECEIVED, call], received=True)
    own = sum((counted[to_itself, sender] for sender in _SENDS if (to_itself, sender) in counted), _Messages())
    if not own.count:
        return received
    others = received - own
    several = sum(title == _RECEIVED for title, _ in counted) > 1
    blocking = any(timer.call in _BLOCKING for timer in thread.mpi())
    if several or blocking or others.count < 0 or others.bytes < 0:
        return replace(received, sized=False)
    return others


def _counted(thread: ThreadProfile, region: bool) -> _Counted:
    """Returns what TAU's context events ``NAME : measured region => MPI_Waitall()`` count, by name and function."""
    counted: dict[tuple[str, str], _Messages] = defaultdict(_Messages)
    for event in thread.events:
        title, _, context = event.name.partition(" : ")
        *callers, called = context.strip().split(CALLED_BY)
        if event.count and called.endswith("()") and (not region or REGION in callers):
            counted[title, called.removesuffix("()")] += _Messages(
                event.count, event.total, event.sum_of_squares, event.minimum, event.maximum
            )
    return dict(counted)


def _mean_size(thread: ThreadProfile, call: str, called: frozenset[str]) -> float | None:
    """Returns the mean message size of a function by the user event that it triggers; None if it is unknown.

    If MPI_Alltoall and MPI_Alltoallv trigger one event, the former is assumed to exchange the counts of the latter: it
    has the least size, and the latter the mean of the remainder. Likewise for all-gather.
    """
    for event in thread.events:
        functions = [name for name in SENT_BY.get(event.name, ()) if name in called]
        if functions == [call] and event.count:
            return event.mean
        if len(functions) == 2 and functions[1] == f"{functions[0]}v" and call in functions:
            return _size_of_two(thread, event, functions).get(call)
    return None


def _size_of_two(thread: ThreadProfile, event: UserEvent, functions: list[str]) -> dict[str, float]:
    """Returns the mean sizes of two functions with one event; empty where these contradict its values."""
    timers = {timer.call: timer for timer in thread.mpi() if timer.call in functions and timer.calls}
    if len(timers) < 2 or sum(timer.calls for timer in timers.values()) != event.count:
        return {}
    plain, varying = functions
    remainder = (event.total - timers[plain].calls * event.minimum) / timers[varying].calls
    return {plain: event.minimum, varying: remainder} if event.minimum <= remainder <= event.maximum else {}


def _plain(timer: Timer, size: float | None) -> Operations:
    """Returns the operations of a timer of TAU."""
    return Operations(
        call=timer.call,
        operation="" if timer.call == SYNC else timer.call,
        bytes=size,
        peer="",
        comm_size=None,
        root=False,
        count=timer.calls,
        calls=float(timer.calls),
        seconds=timer.exclusive,
    )
