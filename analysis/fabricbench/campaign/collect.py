# SPDX-License-Identifier: Apache-2.0
"""From a launch directory to its record: a pure function of the files in it."""

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from os.path import lexists
from pathlib import Path
from typing import Any

from fabricbench.attestation.binding import check_binding
from fabricbench.attestation.rules import attest
from fabricbench.campaign.write import CANNOT_START
from fabricbench.files.reading import LARGEST_OUTPUT_BYTES, TooLarge, last_lines, read_ends, read_regular
from fabricbench.launch.counters import port_counters
from fabricbench.launch.facts import Begin, End, Launch, canonical_case
from fabricbench.launch.host import Host, foreign_cpu_share
from fabricbench.launch.lost import why_lost
from fabricbench.launch.record import Attestation, Payload, Record, Row, SkippedSize, State
from fabricbench.launch.witness import Report, interval_traffic, printed_lines, read_reports, traffic
from fabricbench.parsers.hosts import read_hosts
from fabricbench.parsers.output import Parsed, Unreadable, read_model
from fabricbench.parsers.registry import TOOLS, parser_of

FACTS = re.compile(r"(launch\.json|begin|end|stdout|stderr|md\.log|reference\.json|(witness|host)\..*)", re.DOTALL)
"""Names of the files in a launch directory that its record is derived from."""
_DERIVING = ("files", "site", "launch", "attestation", "parsers")
"""Rooms whose code decides what a record holds."""
_ENDS_BYTES = 1 << 20
"""What is read of each end of an output that is too large to be parsed: no less than any ``why_failed`` reads."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What nodes and ranks said; ``problem`` is why the ranks' reports cannot be read, empty where they can."""

    hosts: tuple[Host, ...]
    reports: tuple[Report, ...] = ()
    problem: str = ""


def collect(directory: Path, name: str | None = None) -> Record:
    """The record of the launch in ``directory``, called ``name`` (its place in the campaign)."""
    name = directory.name if name is None else name
    try:
        launch = read_model(directory / "launch.json", Launch)
    except Unreadable as error:
        return Record(directory=name, launch=None, state="unreadable", reason=str(error))
    try:
        begin = read_model(directory / "begin", Begin) if lexists(directory / "begin") else None
        end = read_model(directory / "end", End) if lexists(directory / "end") else None
        seen = _seen(directory)
    except Unreadable as error:
        return Record(directory=name, launch=launch, state="unreadable", reason=str(error))
    record = Record(
        directory=name,
        launch=launch,
        state="unfinished",
        reason="it never came back" if begin else "it was never started",
        begin=begin.time if begin else None,
        seconds=end.seconds if end else None,
        hosts=tuple(sorted({host.host for host in seen.hosts})),
        foreign_cpu_share=foreign_cpu_share(seen.hosts, seen.reports, launch.ranks),
    )
    return record if begin is None or end is None else _finished(directory, record, launch, end, seen)


def _finished(directory: Path, record: Record, launch: Launch, end: End, seen: _Seen) -> Record:
    if lost := _why_lost(directory, launch, end):
        refuted = _refuted(directory, record, launch, seen)
        return refuted or record.model_copy(update={"state": "lost", "reason": lost})
    if end.status in CANNOT_START and end.signal is None and not end.timed_out:
        reason = f"it could not be started: {_why_failed(directory, launch, end)}"
        return record.model_copy(update={"state": "unfinished", "reason": reason})
    if end.timed_out or end.status != 0:
        if not end.timed_out and end.signal is None and (refusal := _refusal(directory, launch)):
            return record.model_copy(update={"state": "ok", "reason": refusal, "skips": _all_skips(launch, refusal)})
        return record.model_copy(update={"state": "failed", "reason": _why_failed(directory, launch, end)})
    return _attested(directory, record, launch, seen)


def _refuted(directory: Path, record: Record, launch: Launch, seen: _Seen) -> Record | None:
    """The record of a lost launch whose ranks all reported, and whose reports refute its transport; else None.

    A wrong transport is a fault of the launch itself, which no repeat may hide. Ranks that were killed leave no report,
    so that a launch without all reports is not refuted.
    """
    found = _attested(directory, record, launch, seen)
    traffic_ = found.attestation.traffic if found.attestation else None
    if found.state == "refuted" and traffic_ is not None and traffic_.reports >= launch.ranks:
        return found
    return None


def _attested(directory: Path, record: Record, launch: Launch, seen: _Seen) -> Record:
    """The record with rows and attestation, unreadable where the output or a report is not what it should be."""
    try:
        parsed = _parse(directory, launch)
        _complete(launch, parsed)
        if seen.problem:
            raise ValueError(seen.problem)
        carried = traffic(seen.reports, launch.ranks)
    except (Unreadable, ValueError) as error:
        return record.model_copy(update={"state": "unreadable", "reason": str(error)})
    attestation = attest(
        launch,
        carried,
        parsed.payload,
        port_counters(seen.hosts),
        parts=parsed.parts,
        intervals=interval_traffic(seen.reports),
        lines=printed_lines(seen.reports),
    )
    binding = check_binding(launch, seen.reports, seen.hosts, attestation)
    state, reason = _state(launch, attestation)
    update: dict[str, Any] = {
        "state": state,
        "reason": "; ".join(part for part in (reason, binding.problem) if part),
        "binding": binding,
        "attestation": attestation,
        "rows": parsed.rows,
        "skips": (*parsed.skips, *_left_out(launch)),
    }
    return record.model_copy(update=update)


def _why_lost(directory: Path, launch: Launch, end: End) -> str:
    """Why a launch with an ``end`` was lost; empty if it was not."""
    if end.status != 0 and (words := why_lost(directory)):
        return f"lost with its nodes: {words}"
    if end.timed_out and _output_is_complete(directory, launch):
        return f"hung at its end after a complete output, ended at its time limit of {launch.limit_seconds:g} s"
    return ""


def _output_is_complete(directory: Path, launch: Launch) -> bool:
    """Whether all that was expected stands in the output of a launch that was ended."""
    if launch.mode == "wireup":
        return last_lines(directory / "stdout").endswith("#@end=ok")
    try:
        _complete(launch, _parse(directory, launch))
    except (Unreadable, ValueError):
        return False
    return bool(launch.expected)


def _state(launch: Launch, attestation: Attestation) -> tuple[State, str]:
    if attestation.state == "attested":
        return "ok", ""
    if attestation.state == "unknown" and launch.attestation == "optional":
        return "ok", f"not attested, which the site allows: {attestation.reason}"
    return attestation.state, attestation.reason


def _parse(directory: Path, launch: Launch) -> Parsed:
    if launch.mode == "wireup":
        return Parsed((), Payload(bytes=0, messages=0))
    if launch.tool not in TOOLS:
        raise Unreadable("launch.json", None, f"a tool with a parser ({', '.join(TOOLS)}), not '{launch.tool}'")
    parsed: Parsed = parser_of(launch.tool).parse(directory, launch)
    return parsed


def _complete(launch: Launch, parsed: Parsed) -> None:
    """Every expected row is there, and none twice: a metric that is missing is never just a warning."""
    seen: set[tuple[str, str | None, str, int | None]] = set()
    for row in parsed.rows:
        key = (row.benchmark, row.case, row.metric, row.msg_size_bytes)
        if key in seen:
            raise Unreadable("stdout", None, f"one {_named(row)} only")
        seen.add(key)
    skips = {(skip.benchmark, case, skip.msg_size_bytes) for skip in parsed.skips for case in (skip.case, None)}
    seen |= {(benchmark, None, metric, size) for benchmark, _case, metric, size in seen}
    for item in launch.expected:
        for size in item.msg_sizes_bytes or (None,):
            named = (item.benchmark, item.case, size) in skips
            if not named and (item.benchmark, item.case, item.metric, size) not in seen:
                what = f"{item.benchmark}'s {item.metric}{f' of {item.case}' if item.case else ''}"
                at = "" if size is None else f" at {size} bytes"
                raise Unreadable("stdout", None, f"{what}{at}, which is missing")


def _named(row: Row) -> str:
    return f"{row.benchmark} {row.metric} at {row.msg_size_bytes} bytes"


def _why_failed(directory: Path, launch: Launch, end: End) -> str:
    if end.timed_out:
        why = f"ended at its time limit of {launch.limit_seconds:g} s"
    elif end.signal is not None:
        why = f"killed by signal {end.signal}"
    else:
        why = f"exit status {end.status}"
    tail = _own_reason(directory, launch) or last_lines(directory / "stderr") or last_lines(directory / "stdout")
    return f"{why}: {tail}" if tail else why


def _own_reason(directory: Path, launch: Launch) -> str:
    """The tool's own reason in one line, where its parser has a ``why_failed`` that finds one; else empty."""
    find = getattr(parser_of(launch.tool), "why_failed", None) if launch.tool in TOOLS else None
    return find(directory) if find else ""


def _refusal(directory: Path, launch: Launch) -> str | None:
    """Why the tool would not run what was asked, as its parser's ``why_refused`` finds it: a skip and no failure."""
    find = getattr(parser_of(launch.tool), "why_refused", None) if launch.tool in TOOLS else None
    return find(directory) if find else None


def _left_out(launch: Launch) -> tuple[SkippedSize, ...]:
    """What the check itself left out."""
    if launch.left_out is None:
        return ()
    place = {"benchmark": launch.benchmark, "case": canonical_case(launch.case), "reason": launch.left_out.reason}
    return tuple(SkippedSize(**place, msg_size_bytes=size) for size in launch.left_out.msg_sizes_bytes)


def _all_skips(launch: Launch, reason: str) -> tuple[SkippedSize, ...]:
    """All that was expected, each size of each case once."""
    own = canonical_case(launch.case)
    places = {
        (item.benchmark, own if item.case is None else item.case, size)
        for item in launch.expected
        for size in item.msg_sizes_bytes or (None,)
    }
    return tuple(
        SkippedSize(benchmark=benchmark, case=case, msg_size_bytes=size, reason=reason)
        for benchmark, case, size in sorted(places, key=str)
    )


def _seen(directory: Path) -> _Seen:
    hosts = read_hosts(directory)
    try:
        return _Seen(hosts, read_reports(directory))
    except ValueError as error:
        return _Seen(hosts, problem=str(error))


def digest(directory: Path) -> str:
    """A hash over all that the record of a launch is derived from: its facts, by name and content, and the code.

    Every file that ``collect`` or a parser reads must match ``FACTS``.
    """
    total = hashlib.sha256(code_digest())
    try:
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return total.hexdigest()
    try:
        for name in sorted(name for name in os.listdir(folder) if FACTS.fullmatch(name)):
            kind, content = _content(name, folder)
            total.update(b"%s\0%s\0%d\0" % (os.fsencode(name), kind.encode(), len(content)))
            total.update(content)
    finally:
        os.close(folder)
    return total.hexdigest()


def _content(name: str, folder: int) -> tuple[str, bytes]:
    """What can be read of a fact, and in a word why it is not all of it."""
    try:
        try:
            return "whole", read_regular(name, LARGEST_OUTPUT_BYTES, dir_fd=folder)
        except TooLarge:
            size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
            return f"too large: {size}", read_ends(name, _ENDS_BYTES, _ENDS_BYTES, dir_fd=folder)
    except OSError as error:
        return str(error.strerror), b""


@cache
def code_digest() -> bytes:
    """A hash over the code that records are derived by."""
    total = hashlib.sha256()
    package = Path(__file__).parents[1]
    rooms = [path for room in _DERIVING for path in (package / room).rglob("*.py")]
    for path in sorted([package / "metrics.py", Path(__file__), *rooms]):
        total.update(path.read_bytes())
    return total.digest()
