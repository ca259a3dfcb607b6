# SPDX-License-Identifier: Apache-2.0
"""Reads one text of TAU's profile format, which holds one thread of one rank.

The format (``Profiler.cpp`` of TAU 2.35): a line with the number of timers and the metric, a line of column names with
the metadata as XML, one line per timer, ``0 aggregates``, and, if there are any, the user events with two lines before
them. Times are microseconds.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import IO

from fabricbench.parsers.output import Unreadable, number, whole
from fabricbench.parsers.tau.model import (
    CALLED_BY,
    CALLPATH,
    MPI,
    PARAM,
    REGION,
    SYNC,
    THROTTLED,
    ThreadProfile,
    Timer,
    UserEvent,
)

LONGEST_LINE_BYTES = 1 << 20
"""The longest accepted line. TAU writes all metadata on one line, some 10 kB."""

_MOST = 1 << 20
"""The largest accepted number of timers or events of a thread."""

_HEAD = re.compile(r"([0-9]{1,7}) templated_functions(?:_MULTI_([A-Za-z0-9_:.\-]{1,200}))?")
_COLUMNS = "# Name Calls Subrs Excl Incl ProfileCalls"
_EVENTS = re.compile(r"([0-9]{1,7}) userevents")
_EVENT_COLUMNS = "# eventname numevents max min mean sumsqr"
_ATTRIBUTE = re.compile(r"<attribute><name>([^<]*)</name><value>([^<]*)</value></attribute>")
_PARAMETER = re.compile(r"<([^<>]*)> = <([^<>]*)>")
_CALL = re.compile(r"(MPIX?_[A-Za-z0-9_]{1,80})\(\)")
_TIMES = ("TIME", "CPU_TIME", "GET_TIME_OF_DAY", "LINUX_TIMERS", "P_WALL_CLOCK_TIME", "P_VIRTUAL_TIME")
"""Metrics that are microseconds; others are counts."""


class Lines:
    """The lines of a text file, each without its end. ``at``: the number of the last line that was read."""

    def __init__(self, stream: IO[bytes], file: str) -> None:
        self.file, self.at = file, 0
        self._stream = stream
        self._next: str | None = None

    def peek(self) -> str | None:
        """Returns the next line and leaves it in place; None at the end of the file."""
        if self._next is None:
            self._next = self._read()
        return self._next

    def take(self, expected: str) -> str:
        """Returns the next line; Unreadable if the file ends before ``expected``."""
        line = self.peek()
        if line is None:
            raise Unreadable(self.file, self.at or None, f"{expected}: the file is cut off")
        self._next = None
        self.at += 1
        return line

    def unreadable(self, expected: str) -> Unreadable:
        """Returns the error for the last line that was read."""
        return Unreadable(self.file, self.at, expected)

    def _read(self) -> str | None:
        raw = self._stream.readline(LONGEST_LINE_BYTES + 1)
        if not raw:
            return None
        if len(raw) > LONGEST_LINE_BYTES:
            raise Unreadable(self.file, self.at + 1, f"a line of at most {LONGEST_LINE_BYTES} bytes")
        if not raw.endswith(b"\n"):
            raise Unreadable(self.file, self.at + 1, "a whole line: the file is cut off")
        if b"\0" in raw:
            raise Unreadable(self.file, self.at + 1, "text, this is binary")
        return raw[:-1].decode("utf-8", errors="replace")


def read_thread(lines: Lines, rank: int, thread: int) -> ThreadProfile:
    """Reads the text of one thread of ``rank``; Unreadable with file and line if it is not TAU's format.

    Reading stops after the text. What follows in ``lines`` is for the caller.
    """
    head = _HEAD.fullmatch(lines.take("a text of TAU's profile format"))
    begin = lines.at
    if head is None:
        raise lines.unreadable("'N templated_functions_MULTI_METRIC', the first line of TAU's profile format")
    count, metric = _count(head[1], lines), head[2] or "TIME"
    metadata = _metadata(lines)
    scale = 1e-6 if metric in _TIMES else 1.0
    timers = tuple(_timer(lines, scale) for _ in range(count))
    _require_once(timers, lines.file)
    if lines.take("'0 aggregates' after the timers") != "0 aggregates":
        raise lines.unreadable(f"'0 aggregates' after {count} timers")
    events = tuple(_events(lines))
    return ThreadProfile(rank, thread, metric, timers, events, metadata, lines.file, begin)


def _count(text: str, lines: Lines) -> int:
    count = whole(text, lines.file, lines.at)
    if count > _MOST:
        raise lines.unreadable(f"at most {_MOST} entries, not {count}")
    return count


def _metadata(lines: Lines) -> dict[str, str]:
    line = lines.take("the names of the columns")
    columns, _, metadata = line.partition(" # ")
    if columns.rstrip() != _COLUMNS:
        raise lines.unreadable(f"the columns '{_COLUMNS}'")
    metadata = metadata.strip()
    if metadata and not (metadata.startswith("<metadata>") and metadata.endswith("</metadata>")):
        raise lines.unreadable("metadata from <metadata> to </metadata>")
    return {unescape(match[1]): unescape(match[2]) for match in _ATTRIBUTE.finditer(metadata)}


def _require_once(timers: Iterable[Timer], file: str) -> None:
    """Raises Unreadable if a function of MPI has two timers of all its calls. Other names may recur, as in TAU."""
    lines: dict[str, int] = {}
    for timer in timers:
        if timer.call and timer.is_total:
            if timer.call in lines:
                raise Unreadable(file, timer.line, f"one timer of {timer.call}, the first is line {lines[timer.call]}")
            lines[timer.call] = timer.line


def _timer(lines: Lines, scale: float) -> Timer:
    line = lines.take("a timer")
    head, separator, group = line.rstrip(" ").rpartition(' GROUP="')
    quoted, *numbers = head.rsplit(" ", 5)
    if not (separator and group.endswith('"') and len(numbers) == 5):
        raise lines.unreadable('a timer, \'"NAME" CALLS SUBRS EXCL INCL PROFILECALLS GROUP="GROUPS"\'')
    text = _unquoted(quoted, lines)
    groups = tuple(name.strip() for name in group[:-1].split("|"))
    name, params = split_name(text, lines) if PARAM in groups else (text.rstrip(), ())
    calls, subcalls = (_calls(value, lines) for value in numbers[:2])
    exclusive, inclusive = (number(value, lines.file, lines.at) * scale for value in numbers[2:4])
    # TAU adds only the exclusive time of a call whose parameters recur within it, as those of MPI_Sendrecv.
    if PARAM not in groups and exclusive > inclusive * (1 + 1e-9) + scale:
        raise lines.unreadable(f"an inclusive time of at least the exclusive one, not {numbers[3]} and {numbers[2]}")
    if THROTTLED in groups:
        raise lines.unreadable(f"a profile without throttled timers (TAU_THROTTLE=0), not '{name[:80]}'")
    callee = _callee(name, groups) if MPI in groups else ""
    call = _call(callee, lines) if callee else ""
    return Timer(name, call, groups, params, calls, subcalls, exclusive, inclusive, lines.at)


def _unquoted(text: str, lines: Lines) -> str:
    if len(text) < 3 or text[0] != '"' or text[-1] != '"':
        raise lines.unreadable(f"a name in double quotes, not {text[:40]}")
    return text[1:-1]


def _calls(text: str, lines: Lines) -> int:
    """A number of calls, which some versions of TAU write as ``1E+06``."""
    value = number(text, lines.file, lines.at)
    if value != int(value) or value >= 2**53:
        raise lines.unreadable(f"a whole number of calls, not '{text[:40]}'")
    return int(value)


def split_name(text: str, lines: Lines) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Returns the name and the parameters of ``NAME   [ <parameter> = <value> ]``; there may be no parameters."""
    name, bracket, rest = text.partition(" [ ")
    params = tuple((match[1], match[2]) for match in _PARAMETER.finditer(rest))
    if not bracket or _PARAMETER.sub("", rest).replace(" ", "") != "]":
        raise lines.unreadable(f"parameters as '[ <message size> = <4096> ]', not '{(bracket + rest)[:80]}'")
    if len({key for key, _ in params}) < len(params):
        raise lines.unreadable("each parameter once")
    return name.rstrip(), params


def _callee(name: str, groups: tuple[str, ...]) -> str:
    """Returns the name of the function that a timer counts; empty for one on a path outside the marked region."""
    if CALLPATH not in groups:
        return name
    *callers, callee = (part.strip() for part in name.split(CALLED_BY))
    return callee if REGION in callers else ""


def _call(name: str, lines: Lines) -> str:
    if name == SYNC:
        return SYNC
    match = _CALL.fullmatch(name)
    if match is None:
        raise lines.unreadable(f"a function of MPI or '{SYNC}' in the group MPI, not '{name[:80]}'")
    return match[1]


def _events(lines: Lines) -> Iterator[UserEvent]:
    head = _EVENTS.fullmatch(lines.peek() or "")
    if head is None:
        return
    lines.take("the number of events")
    if lines.take("the columns of the user events").rstrip() != _EVENT_COLUMNS:
        raise lines.unreadable(f"the columns '{_EVENT_COLUMNS}'")
    for _ in range(_count(head[1], lines)):
        yield _event(lines)


def _event(lines: Lines) -> UserEvent:
    quoted, *numbers = lines.take("a user event").rstrip(" ").rsplit(" ", 5)
    if len(numbers) != 5:
        raise lines.unreadable("a user event, '\"NAME\" NUMEVENTS MAX MIN MEAN SUMSQR'")
    name, count = _unquoted(quoted, lines), _calls(numbers[0], lines)
    maximum, minimum, mean = (_signed(value, lines) for value in numbers[1:4])
    squares = number(numbers[4], lines.file, lines.at)
    slack = 1e-9 * max(abs(maximum), abs(minimum))
    if count and not minimum - slack <= mean <= maximum + slack:
        raise lines.unreadable(f"a mean between minimum and maximum, not {numbers[3]} in {numbers[2]} to {numbers[1]}")
    if name.startswith("Message size") and minimum < 0:
        raise lines.unreadable(f"message sizes of at least 0, not {numbers[2]}")
    return UserEvent(name, count, maximum, minimum, mean, squares, lines.at)


def _signed(text: str, lines: Lines) -> float:
    """A finite number. Sizes of memory that an event counts may fall, so that it may be negative."""
    value = number(text.removeprefix("-"), lines.file, lines.at)
    return -value if text.startswith("-") else value
