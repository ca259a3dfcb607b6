# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of the OSU micro-benchmarks.

``parsers/osu_table`` has their titles and column headings. Sources: the code of 5.3.2, 5.7, 7.1 and 7.4, and captured
outputs of all but 7.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, PayloadPart, Row, SkippedSize
from fabricbench.parsers.osu_programs import PROGRAMS, SYNCS, WINDOW, WINDOWS, OsuProgram
from fabricbench.parsers.osu_table import ONE_TITLE_SINCE, TITLES, Version, columns, headings, title_in
from fabricbench.parsers.output import Parsed, Unreadable, number, payload_of, read_text, whole
from fabricbench.parsers.quantities import Means

WARMUPS = 5
"""With ``-c`` each iteration repeats its operation this many times before the timed one; since 7.1 at the latest."""
WARMUPS_SINCE: Version = (7, 1)
PAIRS_IN_STEP_SINCE: Version = (7, 4)
"""From this version the tests of several rank pairs call a barrier before every repetition."""

BENCHMARKS = tuple(dict.fromkeys(program.benchmark for program in PROGRAMS.values()))

MEANS: Means = {
    "half_round_trip": ("pingpong", "latency"),
    "windows_one_way": ("unidirectional", "bandwidth"),
    "windows_both_ways": ("bidirectional", "bandwidth"),
}

_HEAD = re.compile(r"^# (?:Size|Avg Latency|Latency|Bandwidth)\b")
_ROW = re.compile(r"^ *[\d.]")
_PAIRS = re.compile(r"^# \[ pairs: (\d+) \] \[ window size: (\d+) \]$")
_DATATYPE = re.compile(r"^# Datatype: (\w+)\.$")
_PASSED = ("Pass", "passed")


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of the command line; ``name``: the file name of the program."""

    name: str
    program: OsuProgram
    ranks: int
    sizes: tuple[int, ...] | None
    iterations: int
    skipped: int
    validated: bool
    percentiles: bool
    datatype: str | None


_Table = list[tuple[int, dict[str, float]]]
"""Line number and values of each row."""


def parse(directory: Path, launch: Launch) -> Parsed:
    """The rows of one OSU program and the least payload that it moved.

    Raises Unreadable if title and column headings are not those of the launch's program in this version, if the sizes
    are not those of the command line (OSU prints no closing line), or if a row fails the validation. A value that OSU
    rounds to 0.00 is skipped.
    """
    options = _options_of(launch)
    text = read_text(directory / "stdout")
    lines = text.splitlines()
    if not text.endswith("\n"):
        raise Unreadable("stdout", len(lines), "a whole line: the output is cut off")
    version, table = _table(lines, options, launch)
    _require_sizes(table, options, len(lines))
    case = canonical_case(launch.case)
    rows_and_skips = [item for _at, values in table for item in _rows_and_skips(values, options, case)]
    entries = [(" ".join(lines[at - 1].split()), values) for at, values in table]
    parts = _parts(entries, options, version, case)
    return Parsed(
        tuple(item for item in rows_and_skips if isinstance(item, Row)),
        payload_of(parts),
        tuple(item for item in rows_and_skips if isinstance(item, SkippedSize)),
        parts,
    )


def _table(lines: list[str], options: _Options, launch: Launch) -> tuple[Version, _Table]:
    """Returns the version in the title, and the values of each row; raises Unreadable if a line does not fit."""
    version: Version | None = None
    names: list[str] = []
    table: _Table = []
    for at, line in enumerate(lines, start=1):
        if title := title_in(line):
            again = version is not None and lines[at - 2] == line and _repeats_title(options, title[1])
            if version is not None and not again:
                raise Unreadable("stdout", at, f"one world of {launch.ranks} ranks, this is the title of another")
            version = _version_in_title(title, at, options)
        elif _HEAD.match(line):
            if names:
                raise Unreadable("stdout", at, "one table, this is the head of another")
            names = _head(line, at, options, version)
        elif line.startswith("# "):
            _require_same_run(line, at, options, launch)
        elif "VALIDATION ERROR" in line or line.startswith("FAILED"):
            raise Unreadable("stdout", at, "data that pass the validation")
        elif names and _ROW.match(line):
            table.append((at, _values(line, names, at, options)))
    if version is None:
        raise Unreadable("stdout", None, f"OSU's title, '# {TITLES[options.name]} v…'")
    return version, table


def _options_of(launch: Launch) -> _Options:
    name = Path(launch.argv[0]).name if launch.argv else ""
    program = PROGRAMS.get(name)
    if program is None:
        raise Unreadable("launch.json", None, f"a known program of OSU, not '{name[:40]}'")
    words = dict(pairwise(launch.argv))
    bounds = re.fullmatch(r"(\d{1,12}):(\d{1,12})", words.get("-m", ""))
    if program.sized and (bounds is None or int(bounds[1]) < 1):
        raise Unreadable("launch.json", None, f"-m MIN:MAX among the arguments of {name}")
    return _Options(
        name=name,
        program=program,
        ranks=launch.ranks,
        sizes=tuple(_doubling(int(bounds[1]), int(bounds[2]))) if program.sized and bounds else None,
        iterations=whole(words.get("-i", "no -i"), "launch.json", 1),
        skipped=whole(words.get("-x", "no -x"), "launch.json", 1),
        validated="-c" in launch.argv,
        percentiles="-z" in launch.argv,
        datatype=words.get("-T"),
    )


def _doubling(size: int, largest: int) -> Iterator[int]:
    while size <= largest:
        yield size
        size *= 2


def _expect(value: str, expected: str | None, what: str, at: int) -> None:
    if value != expected:
        raise Unreadable("stdout", at, f"the launch's {what}, {expected}, not {value[:40]}")


def _require_same_run(line: str, at: int, options: _Options, launch: Launch) -> None:
    """Raises Unreadable if a line before the table describes a run other than the launch."""
    if pairs := _PAIRS.match(line):
        _expect(pairs.group(1), str(launch.ranks // 2), "pairs", at)
        _expect(pairs.group(2), str(WINDOW), "messages in a window", at)
    elif (datatype := _DATATYPE.match(line)) and options.datatype:
        _expect(datatype.group(1).lower(), options.datatype, "datatype", at)
    elif line.startswith("# Window creation: "):
        _expect(line.partition(": ")[2], WINDOWS.get(str(launch.case.get("win"))), "window creation", at)
    elif line.startswith("# Synchronization: "):
        _expect(line.partition(": ")[2], SYNCS.get(str(launch.case.get("sync"))), "synchronization", at)


def _version_in_title(title: tuple[str, Version], at: int, options: _Options) -> Version:
    """Returns the version in a title; raises Unreadable if the title is not that of the launch's program."""
    if title[0] != TITLES[options.name]:
        raise Unreadable("stdout", at, f"{options.name}'s title '{TITLES[options.name]}', not '{title[0][:80]}'")
    return title[1]


def _repeats_title(options: _Options, version: Version) -> bool:
    return options.name == "osu_mbw_mr" and version < ONE_TITLE_SINCE


def _head(line: str, at: int, options: _Options, version: Version | None) -> list[str]:
    if version is None:
        raise Unreadable("stdout", at, f"OSU's title, '# {TITLES[options.name]} v…', before a table")
    full = options.program.metric == "time"
    expected = headings(options.name, version, sized=_has_sizes(options), full=full, validated=options.validated)
    quantities = columns(line, expected, percentiles=options.percentiles)
    if quantities is None:
        heading = f"the columns '{', '.join(expected)}' of {options.name}"
        raise Unreadable("stdout", at, f"{heading}, not '{' '.join(line.removeprefix('#').split())[:100]}'")
    return quantities


def _has_sizes(options: _Options) -> bool:
    """Returns whether the table has message sizes. Atomic operations have one size, which they print too."""
    return options.program.sized or options.program.family == "one-sided"


def _values(line: str, columns: list[str], at: int, options: _Options) -> dict[str, float]:
    words = line.split()
    if len(words) != len(columns):
        raise Unreadable("stdout", at, f"{len(columns)} columns ({' '.join(columns)})")
    values: dict[str, float] = {}
    for name, word in zip(columns, words, strict=True):
        if name == "validation":
            if word not in _PASSED:
                raise Unreadable("stdout", at, f"data that pass the validation, not '{word[:40]}'")
        elif name in ("size", "iterations"):
            values[name] = whole(word, "stdout", at)
        else:
            values[name] = number(word, "stdout", at)
    if values.get("iterations", options.iterations) != options.iterations:
        raise Unreadable("stdout", at, f"{options.iterations} iterations, not {values['iterations']:.0f}")
    return values


def _require_sizes(table: _Table, options: _Options, last: int) -> None:
    """Raises Unreadable unless the rows are the requested sizes in order, or one row for a program without sizes."""
    if options.sizes is None:
        if len(table) != 1:
            raise Unreadable("stdout", last, f"one row, not {len(table)}")
        return
    for (at, values), size in zip(table, options.sizes, strict=False):
        if values["size"] != size:
            raise Unreadable("stdout", at, f"the row of {size} bytes")
    if len(table) != len(options.sizes):
        raise Unreadable("stdout", last, f"{len(options.sizes)} rows, not {len(table)}")


def _rows_and_skips(values: dict[str, float], options: _Options, case: str) -> Iterator[Row | SkippedSize]:
    program = options.program
    size = int(values["size"]) if "size" in values else None
    if not values["value"]:
        reason = f"{program.metric} printed as 0.00, below OSU's last digit"
        yield SkippedSize(benchmark=program.benchmark, case=case, msg_size_bytes=size, reason=reason)
        return
    for name in ("value", "message_rate", "time_min", "time_max"):
        if name in values:
            metric = program.metric if name == "value" else name
            yield Row(benchmark=program.benchmark, case=case, metric=metric, msg_size_bytes=size, value=values[name])


def _parts(
    table: list[tuple[str, dict[str, float]]], options: _Options, version: Version, case: str
) -> tuple[PayloadPart, ...]:
    program, ranks = options.program, options.ranks
    outer = options.iterations + options.skipped
    countable = options.validated and version >= WARMUPS_SINCE and program.family != "one-sided"
    repetitions = outer * (1 + WARMUPS if countable else 1)
    messages = repetitions * program.messages(ranks) + ranks * _barriers(
        program, version, outer, repetitions, countable
    )
    return tuple(
        PayloadPart(
            line=line,
            benchmark=program.benchmark,
            case=case,
            msg_size_bytes=int(values["size"]) if "size" in values else None,
            payload=Payload(
                bytes=repetitions * program.bytes(ranks) * int(values.get("size", 0)),
                messages=messages,
            ),
        )
        for line, values in table
    )


def _barriers(program: OsuProgram, version: Version, outer: int, repetitions: int, countable: bool) -> int:
    """Returns the number of untimed barriers of a launch. Every rank receives at least one message in each."""
    if program.family == "one-sided" or program.benchmark == "barrier":
        return 0
    if program.family == "collective":
        return repetitions
    if program.pairs:
        return repetitions if version >= PAIRS_IN_STEP_SINCE else 0
    return outer if countable else 0
