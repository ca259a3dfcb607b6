# SPDX-License-Identifier: Apache-2.0
"""Differences between the nodes of a campaign, and between a campaign and a reference campaign."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fabricbench.launch.facts import MPI_VARIABLES, Launch
from fabricbench.launch.provenance import KINDS, Fact, FactValues, Provenance
from fabricbench.report.formatting import ranges
from fabricbench.verdict.codes import CODE
from fabricbench.verdict.nodes import natural

NOT_SET = "not set"
_PATHS = ("LD_LIBRARY_PATH", "LD_PRELOAD")
_TARGETS = {"own": "own NAS kernels built for", "nasa": "NASA's programs built for"}
Values = tuple[Fact, str, str, str]
"""A fact, the node or lane, its value there, and the other value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact with two values: ``here`` on the nodes or lanes ``where``, and ``there`` elsewhere or in the reference."""

    kind: str
    name: str
    where: tuple[str, ...]
    here: str
    there: str


def odd_nodes(nodes: Mapping[str, FactValues]) -> list[Difference]:
    """The differences of nodes from the most frequent value of each fact; of ties, from that of the first node.

    A fact that a node does not report, and the switch of a node, are not differences.
    """
    by_fact: dict[Fact, dict[str, str]] = defaultdict(dict)
    complete = _with_ports(nodes, _ports(nodes))
    for name in sorted(complete, key=natural):
        for fact, value in complete[name].items():
            by_fact[fact][name] = value
    odd: list[Values] = []
    for fact, values in by_fact.items():
        usual = Counter(values.values()).most_common(1)[0][0]
        if fact.kind != "switch":
            odd += [(fact, name, value, usual) for name, value in values.items() if value != usual]
    return _grouped(odd)


def differences(here: Provenance, there: Provenance) -> list[Difference]:
    """The differences of the campaign ``here`` from the reference ``there``, those likeliest to matter first.

    A node is compared with itself if it is in the reference, else with all nodes of the reference: a value that one of
    them has is not a difference. Facts that only one campaign reports are not compared (``not_compared``).
    """
    return _grouped([*_of_nodes(here.nodes, there.nodes), *_of_lanes(here, there)])


def not_compared(here: Provenance, there: Provenance) -> list[str]:
    """The names of facts that nodes of only one of the two campaigns report."""
    names = [{fact.name for facts in campaign.nodes.values() for fact in facts} for campaign in (here, there)]
    return sorted(names[0] ^ names[1]) if all(names) else []


def as_frame(differences: Sequence[Difference]) -> pl.DataFrame:
    """A row per difference; ``rank``: the place of its kind in ``launch.provenance.KINDS``, from 1."""
    rows = [(KINDS.index(d.kind) + 1, d.kind, d.name, ranges(d.where), d.here, d.there) for d in differences]
    schema = {"rank": pl.Int64, **dict.fromkeys(("kind", "fact", "where", "here", "there"), pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def facts_of_nodes(nodes: Mapping[str, FactValues]) -> pl.DataFrame:
    """Every fact of the nodes, a row per value; facts whose values differ between nodes come first."""
    values: dict[Fact, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, facts in nodes.items():
        for fact, value in facts.items():
            values[fact][value].append(name)
    ordered = sorted(values, key=lambda fact: (len(values[fact]) == 1, KINDS.index(fact.kind), fact))
    rows = [(f.kind, in_name(f.name, [f.of]), ranges(names), v) for f in ordered for v, names in values[f].items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("kind", "fact", "nodes", "value"), pl.String), orient="row")


def _of_nodes(here: Mapping[str, FactValues], there: Mapping[str, FactValues]) -> Iterator[Values]:
    ports = _ports(here) | _ports(there)
    here, there = _with_ports(here, ports), _with_ports(there, ports)
    everywhere: dict[Fact, list[str]] = defaultdict(list)
    for name in sorted(there, key=natural):
        for fact, value in there[name].items():
            if value not in everywhere[fact]:
                everywhere[fact].append(value)
    for name, facts in here.items():
        references = {fact: [value] for fact, value in there[name].items()} if name in there else everywhere
        for fact, value in facts.items():
            comparable = fact in references and (fact.kind != "switch" or name in there)
            if comparable and value not in references[fact]:
                yield fact, name, value, " or ".join(references[fact])


def _ports(nodes: Mapping[str, FactValues]) -> set[Fact]:
    return {fact for facts in nodes.values() for fact in facts if fact.kind == "port"}


def _with_ports(nodes: Mapping[str, FactValues], ports: set[Fact]) -> dict[str, FactValues]:
    """Adds the value "not there" for ports that exist on other nodes only.

    The facts of a node without any port, as in older campaigns, are unchanged.
    """
    absent = dict.fromkeys(ports, "not there")
    return {name: absent | facts if _ports({name: facts}) else facts for name, facts in nodes.items()}


def _of_lanes(here: Provenance, there: Provenance) -> Iterator[Values]:
    mine, theirs = _launches(here), _launches(there)
    for lane in sorted(mine.keys() ^ theirs.keys()):
        yield Fact("lane", "launches"), lane, *(("some", "none") if lane in mine else ("none", "some"))
    for lane in sorted(mine.keys() & theirs.keys()):
        shared = mine[lane].keys() & theirs[lane].keys()
        sides = [_lane_facts([item[key] for key in sorted(shared or item)]) for item in (mine[lane], theirs[lane])]
        yield from _different(lane, sides[0], sides[1])
        variables = [campaign.control_variables.get(lane, {}) for campaign in (here, there)]
        if all(variables):
            facts = [{Fact("control variable", name): value for name, value in one.items()} for one in variables]
            yield from _different(lane, facts[0], facts[1])


def _launches(campaign: Provenance) -> dict[str, dict[str, Launch]]:
    """The launches by lane and by their id without the block; of several the last."""
    launches: dict[str, dict[str, Launch]] = defaultdict(dict)
    for record in campaign.campaign.records:
        if (launch := record.launch) is not None:
            launches[launch.lane][launch.id.removeprefix(f"b{launch.block:03d} ")] = launch
    return launches


def _lane_facts(launches: Iterable[Launch]) -> FactValues:
    """The binding, versions, places of the stack and environment of a lane's launches."""
    values: dict[Fact, set[str]] = defaultdict(set)
    for launch in launches:
        values[Fact("binding", "ranks bound to")].add(launch.binding)
        for name, value in launch.versions.items():
            values[Fact("stack", "stack version") if name == launch.stack else Fact("tool", "version", name)].add(value)
        if launch.target is not None:
            values[Fact("stack", target_fact(launch))].add(launch.target.text)
        for name, value in place_facts(launch).items():
            values[Fact("stack", name)].add(value)
        for name, value in (launch.spec_hash or {}).items():
            values[Fact("Spack hash", "Spack hash", name)].add(value)
        for name, value in launch.environment.items():
            is_fact = name.startswith(MPI_VARIABLES) and name not in _PATHS
            values[Fact("MPI variable" if is_fact else "other variable", name)].add(value)
    return {fact: " or ".join(sorted(of_fact)) for fact, of_fact in values.items()}


def place_facts(launch: Launch) -> dict[str, str]:
    """Returns the prefix and the modules of an MPI library that the user named; nothing for other stacks."""
    facts = {"stack prefix": launch.stack_prefix, "modules of the stack": " ".join(launch.modules)}
    return {name: value for name, value in facts.items() if value}


def target_fact(launch: Launch) -> str:
    """Returns the name of the fact what the program of a launch was built for."""
    return _TARGETS.get(str(launch.case.get(CODE)), "programs built for")


def _different(lane: str, here: FactValues, there: FactValues) -> Iterator[Values]:
    for fact in here.keys() | there.keys():
        mine, theirs = here.get(fact, NOT_SET), there.get(fact, NOT_SET)
        is_target = fact.kind == "stack" and fact.name in _TARGETS.values()
        is_recorded = not is_target or (fact in here and fact in there)  # earlier versions did not record it
        if mine != theirs and is_recorded:
            yield fact, lane, mine, theirs


def _grouped(values: Iterable[Values]) -> list[Difference]:
    """Merges the differences of nodes or lanes, and of ports or vulnerabilities, that have the same two values."""
    where: dict[tuple[Fact, str, str], list[str]] = defaultdict(list)
    for fact, name, here, there in values:
        where[fact, here, there].append(name)
    of: dict[tuple[str, str, str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (fact, here, there), names in where.items():
        of[fact.kind, fact.name, here, there, tuple(sorted(names, key=natural))].append(fact.of)
    rows = [
        Difference(kind, in_name(name, parts), names, here, there)
        for (kind, name, here, there, names), parts in of.items()
    ]
    return sorted(rows, key=lambda d: (KINDS.index(d.kind), natural(d.name), d.where, d.here, d.there))


def in_name(name: str, parts: Sequence[str]) -> str:
    """``firmware of mlx5_0:1``; the name alone if the parts have no names."""
    return f"{name} of {', '.join(sorted(parts, key=natural))}" if any(parts) else name
