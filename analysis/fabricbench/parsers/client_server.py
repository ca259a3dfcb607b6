# SPDX-License-Identifier: Apache-2.0
"""Reads the output of ``fabricbench-client-server``: each client's output after a line with its round and value."""

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
    """The output of one client: its lines with their numbers in ``stdout``. Clients of one ``round`` ran at the same
    time."""

    round: int
    value: str
    at: int
    lines: tuple[tuple[int, str], ...]

    @property
    def size(self) -> int:
        """The value as a message size in bytes."""
        return whole(self.value, "stdout", self.at)


def runs(directory: Path, launch: Launch) -> list[Run]:
    """The output of every client, in order; raises Unreadable if it is cut off or has other clients than the launch."""
    lines = read_lines(directory / "stdout")
    if not lines or lines[-1] != END:
        raise Unreadable("stdout", len(lines), f"the closing line '{END}': the output is cut off")
    heads = [(at, match) for at, line in enumerate(lines) if (match := _HEADER.match(line))]
    result = []
    for (at, match), (end, _) in pairwise([*heads, (len(lines) - 1, None)]):
        assert match is not None
        inside = tuple((n + 1, lines[n]) for n in range(at + 1, end))
        result.append(Run(int(match[1]), match[2], at + 1, inside))
    expected = list(_expected_runs(launch))
    if [(run.round, run.value) for run in result] != expected:
        raise Unreadable(
            "stdout", None, f"the output of {len(expected)} runs, one for each of --each, not {len(result)}"
        )
    return result


def _expected_runs(launch: Launch) -> Iterator[tuple[int, str]]:
    each = option(launch, "--each", "")
    for number, values in enumerate(each.split(",")):
        for value in values.split("+"):
            yield number, value


def option(launch: Launch, name: str, default: str | None = None) -> str:
    """The word after the last ``name`` in the launch's arguments, or ``default``; raises Unreadable without both."""
    values = [value for word, value in pairwise(launch.argv) if word == name]
    if values or default is not None:
        return values[-1] if values else str(default)
    raise Unreadable("launch.json", None, f"the option {name} in argv")


def count(launch: Launch, name: str) -> int:
    """The whole number after ``name`` in the launch's arguments."""
    return whole(option(launch, name), "launch.json", 1)
