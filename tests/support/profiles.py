# SPDX-License-Identifier: Apache-2.0
"""Reads the profiler's packed files for its tests."""

import re
from dataclasses import dataclass, field
from pathlib import Path

TIMER = re.compile(
    r'"(?P<name>[^"]*)" (?P<calls>\d+) (?P<subrs>\d+) (?P<excl>\S+) (?P<incl>\S+) 0 GROUP="(?P<group>[^"]*)" '
)
EVENT = re.compile(r'"(?P<name>[^"]*)" (?P<count>\d+) (?P<max>\S+) (?P<min>\S+) (?P<mean>\S+) (?P<squares>\S+)')
ATTRIBUTE = re.compile(r"<attribute><name>(.*?)</name><value>(.*?)</value></attribute>")
KEY = re.compile(r"<([^<>]*)> = <([^<>]*)>")


@dataclass
class Timer:
    calls: int
    exclusive_us: float
    inclusive_us: float


@dataclass
class Event:
    count: int
    maximum: float
    minimum: float
    mean: float


@dataclass
class Row:
    """A timer split by all keys."""

    function: str
    keys: dict[str, str]
    timer: Timer


@dataclass
class Profile:
    rank: int
    thread: int
    timers: dict[str, Timer] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    events: dict[str, Event] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)

    def sizes(self, function: str) -> dict[int, int]:
        """Returns the number of calls by message size, of sizes that are not binned."""
        pattern = re.compile(re.escape(f"{function}()   [ <message size> = <") + r"(\d+)> \]")
        return {int(match[1]): self.timers[name].calls for name in self.timers if (match := pattern.fullmatch(name))}

    def of(self, function: str, **keys: str) -> list[Row]:
        """Returns the rows of a function with these keys; ``comm_size`` stands for ``communicator size``."""
        named = {{"comm_size": "communicator size", "size": "message size"}.get(key, key): keys[key] for key in keys}
        return [row for row in self.rows if row.function == function and named.items() <= row.keys.items()]


def read_profile(lines: list[str], rank: int, thread: int) -> Profile:
    """Reads one profile; fails if the numbers of timers and user events differ from those in the text."""
    profile = Profile(rank, thread)
    timers, events = int(lines[0].split()[0]), 0
    assert lines[0].split()[1] == "templated_functions_MULTI_TIME"
    assert lines[1].startswith("# Name Calls Subrs Excl Incl ProfileCalls # <metadata>")
    profile.metadata = dict(ATTRIBUTE.findall(lines[1]))
    for line in lines[2 : 2 + timers]:
        match = TIMER.fullmatch(line)
        assert match, line
        name, timer = match["name"].rstrip(), Timer(int(match["calls"]), float(match["excl"]), float(match["incl"]))
        assert name not in profile.timers, f"twice: {name}"
        profile.timers[name] = timer
        if "<peer>" in name:
            profile.rows.append(Row(name.partition("(")[0], dict(KEY.findall(name)), timer))
    rest = lines[2 + timers :]
    assert rest[0] == "0 aggregates"
    if len(rest) > 1:
        events = int(rest[1].split()[0])
    assert len(rest) == (events + 3 if events else 1)
    for line in rest[3:]:
        match = EVENT.fullmatch(line)
        assert match, line
        profile.events[match["name"]] = Event(int(match["count"]), *(float(match[i]) for i in (3, 4, 5)))
    return profile


def read_profiles(directory: Path) -> list[Profile]:
    """Reads all packed files of a directory; sorted by rank and thread."""
    profiles = []
    for path in directory.glob("profile.*.txt"):
        parts = re.split(r"^# profile\.(\d+)\.0\.(\d+)\n", path.read_text(), flags=re.MULTILINE)[1:]
        for rank, thread, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            profiles.append(read_profile(text.splitlines(), int(rank), int(thread)))
    return sorted(profiles, key=lambda profile: (profile.rank, profile.thread))
