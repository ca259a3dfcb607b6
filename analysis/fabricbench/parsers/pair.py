# SPDX-License-Identifier: Apache-2.0
"""The output of ``fabricbench-pair``: one client's output after another, each behind a line that names it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Unreadable, read_lines, whole

END = "#@end=ok"
_HEADER = re.compile(r"^#@round=(\d{1,9}) value=(\S*)$")


@dataclass(frozen=True, slots=True)
class Run:
    """One client's output: its lines with their numbers in ``stdout``. Runs of one ``round`` ran at once."""

    round: int
    value: str
    at: int
    lines: tuple[tuple[int, str], ...]

    @property
    def size(self) -> int:
        """The value as a message size in bytes."""
        return whole(self.value, "stdout", self.at)


def runs(directory: Path, launch: Launch) -> list[Run]:
    """Every client's output, in order; Unreadable where they are not those that the launch asked for, or cut."""
    lines = read_lines(directory / "stdout")
    if not lines or lines[-1] != END:
        raise Unreadable("stdout", len(lines), f"the closing line '{END}': the output is cut off")
    heads = [(at, found) for at, line in enumerate(lines) if (found := _HEADER.match(line))]
    result = []
    for (at, found), (end, _) in pairwise([*heads, (len(lines) - 1, None)]):
        assert found is not None
        inside = tuple((n + 1, lines[n]) for n in range(at + 1, end))
        result.append(Run(int(found[1]), found[2], at + 1, inside))
    asked = list(_asked(launch))
    if [(run.round, run.value) for run in result] != asked:
        raise Unreadable("stdout", None, f"the output of {len(asked)} runs, one for each of --each, not {len(result)}")
    return result


def _asked(launch: Launch) -> Iterator[tuple[int, str]]:
    each = option(launch, "--each", "")
    for number, values in enumerate(each.split(",")):
        for value in values.split("+"):
            yield number, value


def option(launch: Launch, name: str, default: str | None = None) -> str:
    """What follows ``name`` last in the launch's arguments, the client's; Unreadable where nothing does."""
    found = [value for word, value in pairwise(launch.argv) if word == name]
    if found or default is not None:
        return found[-1] if found else str(default)
    raise Unreadable("launch.json", None, f"the option {name} in argv")


def count(launch: Launch, name: str) -> int:
    """The whole number that follows ``name`` in the launch's arguments."""
    return whole(option(launch, name), "launch.json", 1)
