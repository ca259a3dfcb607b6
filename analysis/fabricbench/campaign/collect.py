# SPDX-License-Identifier: Apache-2.0
"""Derives the record of a launch from the files in its directory only."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import lexists
from pathlib import Path
from typing import Any

from fabricbench.attestation.binding import check_binding
from fabricbench.attestation.placement import placement_problem, ranks_of_nodes
from fabricbench.attestation.rules import attest
from fabricbench.files.reading import first_and_last_lines, last_lines
from fabricbench.launch.counters import port_counters
from fabricbench.launch.facts import CANNOT_START, Begin, End, Launch, canonical_case
from fabricbench.launch.host import Host, adapter_interfaces, foreign_cpu_share
from fabricbench.launch.illegal_instruction import died_of_illegal_instruction, illegal_instruction
from fabricbench.launch.lost import why_lost
from fabricbench.launch.node_witness import NodeReport, node_intervals, node_lines, node_traffic
from fabricbench.launch.port_problems import port_problems
from fabricbench.launch.record import Agreement, Attestation, Payload, Record, Row, SkippedSize, State, Traffic
from fabricbench.launch.witness import Report, interval_traffic, printed_lines, read_reports, traffic
from fabricbench.launch.witness_sums import summed
from fabricbench.parsers.hosts import read_hosts
from fabricbench.parsers.output import Parsed, Unreadable, read_model
from fabricbench.parsers.registry import TOOLS, parser_of, timed_calls_of, why_failed, why_refused
from fabricbench.parsers.tau.agreement import agreements
from fabricbench.parsers.tau.files import has_profile, preload_error, read_profile
from fabricbench.parsers.tau.model import Profile
from fabricbench.parsers.tau.rows import rows_of


@dataclass(frozen=True)
class _LaunchFiles:
    """The files of a launch that has a ``launch.json``.

    ``problem``: why the witness reports cannot be read; empty if they can.
    """

    directory: Path
    launch: Launch
    begin: Begin | None
    end: End | None
    hosts: tuple[Host, ...]
    reports: tuple[Report, ...]
    problem: str

    @cached_property
    def nodes(self) -> dict[str, NodeReport]:
        """The sums of the witness reports by node, if a node has one; else empty."""
        sums = {host.host: host.witness for host in self.hosts if host.witness is not None}
        return {**summed(self.reports), **sums} if sums else {}

    @cached_property
    def traffic(self) -> Traffic | None:
        """The traffic between the ranks; None if no rank wrote a report."""
        ranks = self.launch.ranks
        return node_traffic(self.nodes, ranks) if self.nodes else traffic(self.reports, ranks)

    @cached_property
    def profile(self) -> Profile | None:
        """The profile of the launch; None if it has none. The first use reads it."""
        profiled = self.launch.mode == "profiled" and has_profile(self.directory)
        return read_profile(self.directory, self.launch.ranks) if profiled else None

    @cached_property
    def output(self) -> Parsed | str:
        """The parsed output with all expected rows, or why it is unreadable. The first use parses it."""
        try:
            parsed = _parse(self.directory, self.launch)
            if self.profile is not None:
                parsed = replace(parsed, rows=(*parsed.rows, *rows_of(self.profile, self.launch)))
            elif self.launch.mode == "profiled":
                parsed = replace(parsed, skips=(*parsed.skips, _without_profile(self.directory, self.launch)))
            _require_expected(self.launch, parsed)
        except (Unreadable, ValueError) as error:
            return str(error)
        return parsed


def collect(directory: Path, name: str | None = None) -> Record:
    """Returns the record of the launch in ``directory``. ``name``: path of the directory within the campaign."""
    name = directory.name if name is None else name
    try:
        launch = read_model(directory / "launch.json", Launch)
    except Unreadable as error:
        return Record(directory=name, launch=None, state="unreadable", reason=str(error))
    try:
        facts = _read_facts(directory, launch)
    except Unreadable as error:
        return Record(directory=name, launch=launch, state="unreadable", reason=str(error))
    record = Record(
        directory=name,
        launch=launch,
        state="unfinished",
        reason="it did not complete" if facts.begin else "it did not start",
        begin=facts.begin.time if facts.begin else None,
        seconds=facts.end.seconds if facts.end else None,
        hosts=tuple(sorted({host.host for host in facts.hosts})),
        foreign_cpu_share=foreign_cpu_share(facts.hosts, facts.reports, launch.ranks),
    )
    if facts.begin is None or facts.end is None:
        return record
    return record.model_copy(update=_outcome(facts, facts.end))


def _read_facts(directory: Path, launch: Launch) -> _LaunchFiles:
    begin = read_model(directory / "begin", Begin) if lexists(directory / "begin") else None
    end = read_model(directory / "end", End) if lexists(directory / "end") else None
    hosts = read_hosts(directory)
    try:
        reports, problem = read_reports(directory), ""
    except ValueError as error:
        reports, problem = (), str(error)
    return _LaunchFiles(directory, launch, begin, end, hosts, reports, problem)


_Update = Mapping[str, Any]
"""Fields of a record and their values."""


def _outcome(facts: _LaunchFiles, end: End) -> _Update:
    """Returns state, reason and results of a launch that has ended."""
    if reason := _why_lost(facts, end):
        return _refutation_of_lost(facts) or {"state": "lost", "reason": reason}
    if end.status in CANNOT_START and end.signal is None and not end.timed_out:
        return {"state": "unfinished", "reason": f"it could not be started: {_why_failed(facts, end)}"}
    if end.timed_out or end.status != 0:
        if not end.timed_out and end.signal is None and (refusal := _refusal(facts)):
            return {"state": "ok", "reason": refusal, "skips": _skips_of_all(facts.launch, refusal)}
        return {"state": "failed", "reason": _why_failed(facts, end)}
    return _results(facts)


def _refutation_of_lost(facts: _LaunchFiles) -> _Update | None:
    """Returns the results of a lost launch if the reports of all its ranks refute its transport; else None.

    A repeat must not hide a wrong transport. A launch without the reports of all ranks is not refuted, because killed
    ranks leave no report.
    """
    results = _results(facts)
    attestation = results.get("attestation")
    evidence = attestation.traffic if attestation else None
    if results["state"] == "refuted" and evidence is not None and evidence.reports >= facts.launch.ranks:
        return results
    return None


def _results(facts: _LaunchFiles) -> _Update:
    """Returns state, rows, attestation and binding; state ``unreadable`` if the output or a report is invalid."""
    launch, parsed = facts.launch, facts.output
    if isinstance(parsed, str) or facts.problem:
        return {"state": "unreadable", "reason": parsed if isinstance(parsed, str) else facts.problem}
    try:
        sockets = facts.traffic
    except ValueError as error:
        return {"state": "unreadable", "reason": str(error)}
    attestation = attest(
        launch,
        sockets,
        parsed.payload,
        port_counters(facts.hosts),
        parts=parsed.parts,
        intervals=node_intervals(facts.nodes) if facts.nodes else interval_traffic(facts.reports),
        lines=node_lines(facts.nodes) if facts.nodes else printed_lines(facts.reports),
        adapters=adapter_interfaces(facts.hosts),
    )
    problem = placement_problem(launch, ranks_of_nodes(facts.reports, facts.nodes))
    if problem and attestation.state == "attested":  # the evidence holds for another scale
        attestation = attestation.model_copy(update={"state": "unknown", "reason": problem})
    binding = check_binding(launch, facts.reports, facts.hosts, attestation, facts.nodes)
    state, reason = _state(launch, attestation)
    return {
        "state": state,
        "reason": "; ".join(part for part in (reason, binding.problem) if part),
        "binding": binding,
        "attestation": attestation,
        "rows": parsed.rows,
        "skips": (*parsed.skips, *_omitted_sizes(launch)),
        "agreements": _agreements(facts, parsed.rows, sockets),
    }


def _without_profile(directory: Path, launch: Launch) -> SkippedSize:
    """Returns the skip of the rows of a profile that the ranks did not write, with the reason."""
    reason = preload_error(directory) or "the ranks wrote no profile: the profiler was not loaded, or did not finish"
    return SkippedSize(benchmark=launch.benchmark, case=canonical_case(launch.case), msg_size_bytes=None, reason=reason)


def _agreements(facts: _LaunchFiles, rows: tuple[Row, ...], traffic: Traffic | None) -> tuple[Agreement, ...]:
    """Returns how the profile of a launch agrees with its other witnesses; empty without a profile."""
    if facts.profile is None:
        return ()
    return agreements(facts.profile, facts.launch, rows, timed_calls_of(facts.launch.tool), traffic)


def _why_lost(facts: _LaunchFiles, end: End) -> str:
    """Returns why a launch that has ended was lost; empty if it was not."""
    if end.status != 0 and (reason := why_lost(facts.directory)):
        return f"lost with its nodes: {reason}"
    if end.timed_out and _is_complete(facts):
        return f"hung at its end after a complete output, ended at its time limit of {facts.launch.limit_seconds:g} s"
    return ""


def _is_complete(facts: _LaunchFiles) -> bool:
    """Returns whether the output of a launch that reached its time limit has all expected rows."""
    if facts.launch.mode == "wireup":
        return last_lines(facts.directory / "stdout").endswith("#@end=ok")
    return bool(facts.launch.expected) and not isinstance(facts.output, str)


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
    return parser_of(launch.tool).parse(directory, launch)


def _require_expected(launch: Launch, parsed: Parsed) -> None:
    """Raises Unreadable if an expected row is neither present nor skipped, or if a row is a duplicate."""
    keys: set[tuple[str, str | None, str, int | None]] = set()
    for row in parsed.rows:
        key = (row.benchmark, row.case, row.metric, row.msg_size_bytes)
        if key in keys:
            raise Unreadable("stdout", None, f"one {_describe(row)} only")
        keys.add(key)
    skips = {(skip.benchmark, case, skip.msg_size_bytes) for skip in parsed.skips for case in (skip.case, None)}
    keys |= {(benchmark, None, metric, size) for benchmark, _case, metric, size in keys}
    for item in launch.expected:
        for size in item.msg_sizes_bytes or (None,):
            skipped = (item.benchmark, item.case, size) in skips
            if not skipped and (item.benchmark, item.case, item.metric, size) not in keys:
                what = f"{item.benchmark}'s {item.metric}{f' of {item.case}' if item.case else ''}"
                at = "" if size is None else f" at {size} bytes"
                raise Unreadable("stdout", None, f"{what}{at}, which is missing")


def _describe(row: Row) -> str:
    return f"{row.benchmark} {row.metric} at {row.msg_size_bytes} bytes"


def _why_failed(facts: _LaunchFiles, end: End) -> str:
    if end.timed_out:
        why = f"ended at its time limit of {facts.launch.limit_seconds:g} s"
    elif end.signal is not None:
        why = f"killed by signal {end.signal}"
    else:
        why = f"exit status {end.status}"
    if ports := port_problems(facts.launch.ports, facts.hosts):
        why = f"{why}; {ports}"
    directory, tool = facts.directory, facts.launch.tool
    if not end.timed_out and died_of_illegal_instruction(directory, end):
        return f"{why}: {illegal_instruction(facts.launch, facts.hosts)}"
    reason = why_failed(tool, directory) if tool in TOOLS else ""
    reason = reason or first_and_last_lines(directory / "stderr") or last_lines(directory / "stdout")
    return f"{why}: {reason}" if reason else why


def _refusal(facts: _LaunchFiles) -> str | None:
    """Returns why the tool refused to run the launch; None if it did not refuse."""
    return why_refused(facts.launch.tool, facts.directory) if facts.launch.tool in TOOLS else None


def _omitted_sizes(launch: Launch) -> tuple[SkippedSize, ...]:
    """Returns the message sizes that the check excluded, with the reason."""
    if launch.left_out is None:
        return ()
    place = {"benchmark": launch.benchmark, "case": canonical_case(launch.case), "reason": launch.left_out.reason}
    return tuple(SkippedSize(**place, msg_size_bytes=size) for size in launch.left_out.msg_sizes_bytes)


def _skips_of_all(launch: Launch, reason: str) -> tuple[SkippedSize, ...]:
    """Returns one skip for each size of each expected case."""
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
