# SPDX-License-Identifier: Apache-2.0
"""Where the numbers come from: the campaign, what differs from a reference, nodes, stacks, environments."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.launch.facts import Launch
from fabricbench.launch.host import switches_between
from fabricbench.launch.provenance import KINDS, Fact, FactValues, Provenance
from fabricbench.launch.record import Campaign, Record
from fabricbench.report.differences import Difference, differences, in_name, not_compared, odd_nodes
from fabricbench.report.links import Launches, Link
from fabricbench.report.words import enumerate_words, instant, number, plural, ranges
from fabricbench.verdict.nodes import natural

_SHOWN = 3
"""Values of one setting that are shown in full; of more, how many there are."""

_UNFOLDED = 12
"""Differences of one kind that a table shows at once."""

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
class NodesView:
    """Nodes that say the same, their launches, and what they say; ``others`` say the rest as the first group does."""

    names: str
    launches: int
    facts: Pairs
    others: bool


@dataclass(frozen=True, slots=True)
class Unlike:
    """Differences of one kind; ``folded`` where they are too many to be read at once."""

    kind: str
    rows: tuple[tuple[str, str, str, str], ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """What is another than in the reference campaign."""

    name: str
    facts: Pairs
    unlike: tuple[Unlike, ...]
    not_compared: str


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
    control_variables: tuple[tuple[str, int, Link], ...]
    reference: ReferenceView | None
    odd: tuple[Unlike, ...]
    nodes: tuple[NodesView, ...]
    switches: Pairs
    benchmarks: tuple[BenchmarkView, ...]


def provenance(seen: Provenance, launches: Launches, reference: Provenance | None = None) -> ProvenanceView:
    """The section of provenance; with a ``reference`` it begins with what is another there."""
    campaign, nodes = seen.campaign, seen.nodes
    started = [(r.launch, r) for r in campaign.records if r.launch is not None]
    common, lanes = _environments([launch for launch, _ in started])
    wireups = {launch.lane: record for launch, record in started if launch.mode == "wireup" and record.state == "ok"}
    return ProvenanceView(
        facts=_facts(campaign),
        stacks=_stacks([launch for launch, _ in started]),
        common=common,
        lanes=lanes,
        control_variables=tuple(
            (lane, len(found), launches.to(wireups[lane]))
            for lane, found in sorted(seen.control_variables.items())
            if lane in wireups
        ),
        reference=None if reference is None else _reference(seen, reference),
        odd=_unlike(odd_nodes(nodes)),
        nodes=_nodes(campaign.records, nodes),
        switches=_switches(seen),
        benchmarks=_benchmarks(started, launches),
    )


def _reference(seen: Provenance, reference: Provenance) -> ReferenceView:
    missing = not_compared(seen, reference)
    return ReferenceView(
        name=reference.campaign.name,
        facts=_facts(reference.campaign),
        unlike=_unlike(differences(seen, reference)),
        not_compared=enumerate_words(missing),
    )


def _unlike(found: Sequence[Difference]) -> tuple[Unlike, ...]:
    by_kind: dict[str, list[Difference]] = defaultdict(list)
    for one in found:
        by_kind[one.kind].append(one)
    return tuple(
        Unlike(kind, tuple((d.name, ranges(d.where), d.here, d.there) for d in rows), len(rows) > _UNFOLDED)
        for kind, rows in by_kind.items()
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
        *([("variables set", ", ".join(facts.variables))] if facts.variables else []),
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


def _nodes(records: Sequence[Record], nodes: Mapping[str, FactValues]) -> tuple[NodesView, ...]:
    """Nodes in groups of equal ones, the largest first; of the others what the first group does not say."""
    counts = Counter(host for record in records for host in record.hosts)
    groups: dict[frozenset[tuple[Fact, str]], list[str]] = defaultdict(list)
    for name in sorted({*counts, *nodes}, key=natural):
        groups[frozenset((f, v) for f, v in nodes.get(name, {}).items() if f.kind != "switch")].append(name)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    usual = ordered[0][0] if ordered else frozenset()
    return tuple(
        NodesView(
            names=ranges(names),
            launches=sum(counts[name] for name in names),
            facts=_in_words(facts - usual if at else facts),
            others=at > 0 and bool(facts),
        )
        for at, (facts, names) in enumerate(ordered)
    )


def _in_words(facts: Iterable[tuple[Fact, str]]) -> Pairs:
    """Facts by rank; those of one name and value together: ``mitigation of l1tf, mds: Not affected``."""
    of: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for fact, value in facts:
        of[KINDS.index(fact.kind), fact.name, value].append(fact.of)
    return tuple((in_name(name, of[at, name, value]), value) for at, name, value in sorted(of))


def _switches(seen: Provenance) -> Pairs:
    """The nodes at each switch, and how many switches lie between two nodes, where Slurm's topology tells."""
    addresses = {name: told[-1].topology_address or "" for name, told in seen.hosts.items()}
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
