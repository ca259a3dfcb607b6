# SPDX-License-Identifier: Apache-2.0
"""The section of provenance: the campaign, differences from a reference, nodes, stacks, environments, commands."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.launch.facts import Launch
from fabricbench.launch.host import switches_between
from fabricbench.launch.provenance import KINDS, Fact, FactValues, Provenance
from fabricbench.launch.record import Campaign, Record
from fabricbench.report.differences import (
    Difference,
    differences,
    in_name,
    not_compared,
    odd_nodes,
    place_facts,
    target_fact,
)
from fabricbench.report.formatting import enumerate_words, instant, number, plural, ranges
from fabricbench.report.links import Launches, Link
from fabricbench.verdict.nodes import natural

_SHOWN = 3
"""The most values of one setting that are shown; of further ones the page shows the number."""

_UNFOLDED = 12
"""The most differences of one kind that the page shows unfolded."""

KeyValues = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StackView:
    """A stack and the versions that its launches reported."""

    name: str
    versions: KeyValues


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """A lane and its settings, without those that all lanes share."""

    name: str
    settings: KeyValues


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes with equal facts. ``launches``: their number; ``others``: ``facts`` has only what differs from the first
    group's facts."""

    names: str
    launches: int
    facts: KeyValues
    others: bool


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """Differences of one kind; ``folded``: there are too many to show them all."""

    kind: str
    rows: tuple[tuple[str, str, str, str], ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """The differences from the reference campaign."""

    name: str
    facts: KeyValues
    differences: tuple[DifferencesView, ...]
    not_compared: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the lanes whose first launch used it."""

    lanes: tuple[str, ...]
    argv: str
    link: Link


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """A benchmark and its command lines."""

    name: str
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class ProvenanceView:
    """The section of provenance."""

    facts: KeyValues
    stacks: tuple[StackView, ...]
    common: KeyValues
    lanes: tuple[LaneSettings, ...]
    control_variables: tuple[tuple[str, int, Link], ...]
    reference: ReferenceView | None
    odd: tuple[DifferencesView, ...]
    nodes: tuple[NodeGroup, ...]
    switches: KeyValues
    benchmarks: tuple[BenchmarkView, ...]


def provenance_view(here: Provenance, launches: Launches, reference: Provenance | None = None) -> ProvenanceView:
    """The section of provenance, with the differences from the ``reference`` campaign if there is one."""
    campaign, nodes = here.campaign, here.nodes
    started = [(r.launch, r) for r in campaign.records if r.launch is not None]
    common, lanes = _environments([launch for launch, _ in started])
    wireups = {launch.lane: record for launch, record in started if launch.mode == "wireup" and record.state == "ok"}
    return ProvenanceView(
        facts=_facts(campaign),
        stacks=_stacks([launch for launch, _ in started]),
        common=common,
        lanes=lanes,
        control_variables=tuple(
            (lane, len(variables), launches.to(wireups[lane]))
            for lane, variables in sorted(here.control_variables.items())
            if lane in wireups
        ),
        reference=None if reference is None else _reference(here, reference),
        odd=_by_kind(odd_nodes(nodes)),
        nodes=_nodes(campaign.records, nodes),
        switches=_switches(here),
        benchmarks=_benchmarks(started, launches),
    )


def _reference(here: Provenance, reference: Provenance) -> ReferenceView:
    omissions = not_compared(here, reference)
    return ReferenceView(
        name=reference.campaign.name,
        facts=_facts(reference.campaign),
        differences=_by_kind(differences(here, reference)),
        not_compared=enumerate_words(omissions),
    )


def _by_kind(every: Sequence[Difference]) -> tuple[DifferencesView, ...]:
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for one in every:
        by_kind[one.kind].append(one)
    return tuple(
        DifferencesView(kind, tuple((d.name, ranges(d.where), d.here, d.there) for d in rows), len(rows) > _UNFOLDED)
        for kind, rows in by_kind.items()
    )


def _facts(campaign: Campaign) -> KeyValues:
    facts = campaign.facts
    blocks = {r.launch.block for r in campaign.records if r.launch is not None}
    return (
        ("campaign", campaign.name),
        ("system", facts.system),
        ("tier", facts.tier),
        ("looks after", ", ".join(plural(n, "block") for n in facts.looks) or "never"),
        ("alpha, spent over all looks", number(facts.alpha)),
        ("seed of the launch order", str(facts.seed)),
        ("blocks started", str(len(blocks))),
        ("launches", str(len(campaign.records))),
        ("created", instant(facts.created)),
        ("fabricbench", facts.version or "no version was recorded"),
        ("selected lanes", ", ".join(facts.lanes) or "all"),
        ("selected checks", ", ".join(facts.checks) or "all"),
        *([("variables of checks", ", ".join(facts.variables))] if facts.variables else []),
    )


def _stacks(started: list[Launch]) -> tuple[StackView, ...]:
    versions: dict[str, list[dict[str, str]]] = defaultdict(list)
    for launch in started:
        target = {target_fact(launch): launch.target.text} if launch.target else {}
        versions[launch.stack].append(launch.versions | target | place_facts(launch))
    return tuple(StackView(stack, _merged(versions[stack])) for stack in sorted(versions))


def _merged(dictionaries: Sequence[Mapping[str, str]]) -> KeyValues:
    """Each key with its different values over all launches."""
    values: dict[str, set[str]] = defaultdict(set)
    for dictionary in dictionaries:
        for key, value in dictionary.items():
            values[key].add(value)
    return tuple((key, _some(values[key])) for key in sorted(values))


def _some(values: set[str]) -> str:
    lines = sorted(values)
    more = len(lines) - _SHOWN
    return "\n".join(lines[:_SHOWN]) + (f"\n… and {plural(more, 'other')}" if more > 0 else "")


def _environments(started: list[Launch]) -> tuple[KeyValues, tuple[LaneSettings, ...]]:
    """The settings that all lanes share, and each lane's other settings."""
    of_lane: dict[str, list[dict[str, str]]] = defaultdict(list)
    for launch in started:
        binding = {} if launch.binding == "none" else {"each rank is bound to one": launch.binding}
        of_lane[launch.lane].append(launch.environment | binding)
    merged = {lane: _merged(environments) for lane, environments in sorted(of_lane.items())}
    counts = Counter(pair for pairs in merged.values() for pair in pairs)
    common = {pair for pair, count in counts.items() if count == len(merged)}
    own = tuple(LaneSettings(lane, tuple(p for p in pairs if p not in common)) for lane, pairs in merged.items())
    return tuple(sorted(common)), own


def _nodes(records: Sequence[Record], nodes: Mapping[str, FactValues]) -> tuple[NodeGroup, ...]:
    """The nodes in groups with equal facts, the largest first; for the others only what differs from the first."""
    counts = Counter(host for record in records for host in record.hosts)
    groups: dict[frozenset[tuple[Fact, str]], list[str]] = defaultdict(list)
    for name in sorted({*counts, *nodes}, key=natural):
        groups[frozenset((f, v) for f, v in nodes.get(name, {}).items() if f.kind != "switch")].append(name)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    usual = ordered[0][0] if ordered else frozenset()
    return tuple(
        NodeGroup(
            names=ranges(names),
            launches=sum(counts[name] for name in names),
            facts=_in_words(facts - usual if at else facts),
            others=at > 0 and bool(facts),
        )
        for at, (facts, names) in enumerate(ordered)
    )


def _in_words(facts: Iterable[tuple[Fact, str]]) -> KeyValues:
    """Returns facts by rank as text and merges those with one name and value: ``mitigation of l1tf, mds: PTI``."""
    of: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for fact, value in facts:
        of[KINDS.index(fact.kind), fact.name, value].append(fact.of)
    return tuple((in_name(name, of[at, name, value]), value) for at, name, value in sorted(of))


def _switches(here: Provenance) -> KeyValues:
    """The nodes at each switch, and the numbers of switches between two nodes, if Slurm's topology is known."""
    addresses = {name: reports[-1].topology_address or "" for name, reports in here.hosts.items()}
    at: dict[str, list[str]] = defaultdict(list)
    for name, address in addresses.items():
        if "." in address:
            at[address.rpartition(".")[0]].append(name)
    if not at:
        return ()
    ends = [f"{switch}." for switch in sorted(at)]
    between = {switches_between(one, other) for one in ends for other in ends} - {None}
    counts = ", ".join(map(str, sorted(n for n in between if n is not None)))
    return (*((switch, ranges(at[switch])) for switch in sorted(at, key=natural)), ("switches between nodes", counts))


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
