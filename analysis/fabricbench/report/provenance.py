# SPDX-License-Identifier: Apache-2.0
"""Where the numbers come from: the campaign, the stacks, their environments, the hosts, the command lines."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricbench.core.launch import Launch
from fabricbench.core.record import Campaign, Record
from fabricbench.report.links import Launches, Link
from fabricbench.report.words import instant, number, plural

_SHOWN = 3
"""Values of one setting that are shown in full; of more, how many there are."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StackView:
    """A stack and the versions that its launches named."""

    name: str
    versions: Pairs


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane and those settings that not all lanes share."""

    name: str
    settings: Pairs


@dataclass(frozen=True, slots=True)
class HostView:
    """A host, its launches, and what is known of it."""

    name: str
    launches: int
    facts: Pairs


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the lanes whose first launch was typed so."""

    lanes: tuple[str, ...]
    argv: str
    link: Link


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """A benchmark and how it was started."""

    name: str
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class ProvenanceView:
    """The last section."""

    facts: Pairs
    stacks: tuple[StackView, ...]
    common: Pairs
    lanes: tuple[LaneView, ...]
    hosts: tuple[HostView, ...]
    benchmarks: tuple[BenchmarkView, ...]


def provenance(campaign: Campaign, launches: Launches, hosts: Mapping[str, Mapping[str, str]]) -> ProvenanceView:
    """The section of provenance; ``hosts`` are facts by host, where they are known."""
    started = [(r.launch, r) for r in campaign.records if r.launch is not None]
    common, lanes = _environments([launch for launch, _ in started])
    return ProvenanceView(
        facts=_facts(campaign),
        stacks=_stacks([launch for launch, _ in started]),
        common=common,
        lanes=lanes,
        hosts=_hosts(campaign.records, hosts),
        benchmarks=_benchmarks(started, launches),
    )


def _facts(campaign: Campaign) -> Pairs:
    facts = campaign.facts
    blocks = {r.launch.block for r in campaign.records if r.launch is not None}
    return (
        ("campaign", campaign.name),
        ("system", facts.system),
        ("tier", facts.tier),
        ("looks at", ", ".join(plural(n, "block") for n in facts.looks) or "never"),
        ("alpha, spent over the looks", number(facts.alpha)),
        ("seed of the order", str(facts.seed)),
        ("blocks begun", str(len(blocks))),
        ("launches", str(len(campaign.records))),
        ("made", instant(facts.created)),
        ("fabricbench", facts.version or "no version was recorded"),
        ("lanes chosen", ", ".join(facts.lanes) or "all"),
        ("checks chosen", ", ".join(facts.checks) or "all"),
    )


def _stacks(started: list[Launch]) -> tuple[StackView, ...]:
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for launch in started:
        found[launch.stack].append(launch.versions)
    return tuple(StackView(stack, _merged(found[stack])) for stack in sorted(found))


def _merged(dictionaries: Sequence[Mapping[str, str]]) -> Pairs:
    """Each key with all of its values: those of one launch often, of another seldom."""
    values: dict[str, set[str]] = defaultdict(set)
    for dictionary in dictionaries:
        for key, value in dictionary.items():
            values[key].add(value)
    return tuple((key, _some(values[key])) for key in sorted(values))


def _some(values: set[str]) -> str:
    shown = sorted(values)
    more = len(shown) - _SHOWN
    return "\n".join(shown[:_SHOWN]) + (f"\n… and {plural(more, 'other')}" if more > 0 else "")


def _environments(started: list[Launch]) -> tuple[Pairs, tuple[LaneView, ...]]:
    """Settings that every lane has alike, and each lane's own."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for launch in started:
        binding = {} if launch.binding == "none" else {"each rank is bound to a": launch.binding}
        found[launch.lane].append(launch.environment | binding)
    merged = {lane: _merged(environments) for lane, environments in sorted(found.items())}
    counts = Counter(pair for pairs in merged.values() for pair in pairs)
    common = {pair for pair, count in counts.items() if count == len(merged)}
    own = tuple(LaneView(lane, tuple(p for p in pairs if p not in common)) for lane, pairs in merged.items())
    return tuple(sorted(common)), own


def _hosts(records: Sequence[Record], facts: Mapping[str, Mapping[str, str]]) -> tuple[HostView, ...]:
    counts = Counter(host for record in records for host in record.hosts)
    names = sorted({*counts, *facts})
    return tuple(HostView(name, counts[name], tuple(sorted(facts.get(name, {}).items()))) for name in names)


def _benchmarks(started: list[tuple[Launch, Record]], launches: Launches) -> tuple[BenchmarkView, ...]:
    first: dict[str, dict[str, tuple[str, Record]]] = defaultdict(dict)
    for launch, record in started:
        mode = "" if launch.mode in ("timed", launch.benchmark) else f", {launch.mode}"
        name = f"{launch.tool} {launch.benchmark}" + (f", {launch.messages} messages" if launch.messages else "") + mode
        first[name].setdefault(launch.lane, (shlex.join(launch.argv), record))
    return tuple(BenchmarkView(name, _commands(first[name], launches)) for name in sorted(first))


def _commands(by_lane: dict[str, tuple[str, Record]], launches: Launches) -> tuple[Command, ...]:
    lanes: dict[str, list[str]] = defaultdict(list)
    records: dict[str, Record] = {}
    for lane in sorted(by_lane):
        argv, record = by_lane[lane]
        lanes[argv].append(lane)
        records.setdefault(argv, record)
    return tuple(Command(tuple(names), argv, launches.to(records[argv])) for argv, names in lanes.items())
