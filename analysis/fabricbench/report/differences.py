# SPDX-License-Identifier: Apache-2.0
"""How nodes differ from each other, and a campaign from a reference; what is likeliest to matter first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fabricbench.launch.facts import MPI_VARIABLES, Launch
from fabricbench.launch.provenance import KINDS, Fact, FactValues, Provenance
from fabricbench.report.words import ranges
from fabricbench.verdict.nodes import natural

NOT_SET = "not set"
_PATHS = ("LD_LIBRARY_PATH", "LD_PRELOAD")
Found = tuple[Fact, str, str, str]
"""A fact, the node or lane, its value, and the other value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same: on which nodes or lanes, what it is ``here``, and what it is ``there``."""

    kind: str
    name: str
    where: tuple[str, ...]
    here: str
    there: str


def odd_nodes(nodes: Mapping[str, FactValues]) -> list[Difference]:
    """What sets nodes of one campaign apart: ``there`` is what most nodes say, of ties the first node's.

    What a node does not tell is no difference. Switches above differ by nature.
    """
    told: dict[Fact, dict[str, str]] = defaultdict(dict)
    complete = _with_ports(nodes, _ports(nodes))
    for name in sorted(complete, key=natural):
        for fact, value in complete[name].items():
            told[fact][name] = value
    found: list[Found] = []
    for fact, values in told.items():
        usual = Counter(values.values()).most_common(1)[0][0]
        if fact.kind != "switch":
            found += [(fact, name, value, usual) for name, value in values.items() if value != usual]
    return _grouped(found)


def differences(here: Provenance, there: Provenance) -> list[Difference]:
    """What is another in ``here`` than in the reference ``there``.

    A node is compared with itself where the reference has it, else with all nodes of the reference: what one of them
    says is no difference. What either campaign does not tell is none either (``not_compared``).
    """
    return _grouped([*_of_nodes(here.nodes, there.nodes), *_of_lanes(here, there)])


def not_compared(here: Provenance, there: Provenance) -> list[str]:
    """Names of facts that the nodes of one campaign tell, and no node of the other."""
    names = [{fact.name for facts in seen.nodes.values() for fact in facts} for seen in (here, there)]
    return sorted(names[0] ^ names[1]) if all(names) else []


def as_frame(found: Sequence[Difference]) -> pl.DataFrame:
    """A row per difference; ``rank`` counts the kinds."""
    rows = [(KINDS.index(d.kind) + 1, d.kind, d.name, ranges(d.where), d.here, d.there) for d in found]
    schema = {"rank": pl.Int64, **dict.fromkeys(("kind", "fact", "where", "here", "there"), pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def told(nodes: Mapping[str, FactValues]) -> pl.DataFrame:
    """Every fact of the nodes: a row per value, those that not all nodes share first."""
    values: dict[Fact, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, facts in nodes.items():
        for fact, value in facts.items():
            values[fact][value].append(name)
    ordered = sorted(values, key=lambda fact: (len(values[fact]) == 1, KINDS.index(fact.kind), fact))
    rows = [(f.kind, in_name(f.name, [f.of]), ranges(names), v) for f in ordered for v, names in values[f].items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("kind", "fact", "nodes", "value"), pl.String), orient="row")


def _of_nodes(here: Mapping[str, FactValues], there: Mapping[str, FactValues]) -> Iterator[Found]:
    ports = _ports(here) | _ports(there)
    here, there = _with_ports(here, ports), _with_ports(there, ports)
    everywhere: dict[Fact, list[str]] = defaultdict(list)
    for name in sorted(there, key=natural):
        for fact, value in there[name].items():
            if value not in everywhere[fact]:
                everywhere[fact].append(value)
    for name, facts in here.items():
        known = {fact: [value] for fact, value in there[name].items()} if name in there else everywhere
        for fact, value in facts.items():
            comparable = fact in known and (fact.kind != "switch" or name in there)
            if comparable and value not in known[fact]:
                yield fact, name, value, " or ".join(known[fact])


def _ports(nodes: Mapping[str, FactValues]) -> set[Fact]:
    return {fact for facts in nodes.values() for fact in facts if fact.kind == "port"}


def _with_ports(nodes: Mapping[str, FactValues], ports: set[Fact]) -> dict[str, FactValues]:
    """The facts, with the ports that a node has not; a node that tells of no port at all, as in older campaigns, is
    left as it is."""
    absent = dict.fromkeys(ports, "not there")
    return {name: absent | facts if _ports({name: facts}) else facts for name, facts in nodes.items()}


def _of_lanes(here: Provenance, there: Provenance) -> Iterator[Found]:
    mine, theirs = _launches(here), _launches(there)
    for lane in sorted(mine.keys() ^ theirs.keys()):
        yield Fact("lane", "launches"), lane, *(("some", "none") if lane in mine else ("none", "some"))
    for lane in sorted(mine.keys() & theirs.keys()):
        shared = mine[lane].keys() & theirs[lane].keys()
        sides = [_lane_facts([item[key] for key in sorted(shared or item)]) for item in (mine[lane], theirs[lane])]
        yield from _unlike(lane, sides[0], sides[1])
        variables = [seen.control_variables.get(lane, {}) for seen in (here, there)]
        if all(variables):
            told = [{Fact("control variable", name): value for name, value in one.items()} for one in variables]
            yield from _unlike(lane, told[0], told[1])


def _launches(seen: Provenance) -> dict[str, dict[str, Launch]]:
    """By lane and by what the launch is, whatever its block: its last."""
    found: dict[str, dict[str, Launch]] = defaultdict(dict)
    for record in seen.campaign.records:
        if (launch := record.launch) is not None:
            found[launch.lane][launch.id.removeprefix(f"b{launch.block:03d} ")] = launch
    return found


def _lane_facts(launches: Iterable[Launch]) -> FactValues:
    """What the launches of a lane were started with."""
    values: dict[Fact, set[str]] = defaultdict(set)
    for launch in launches:
        values[Fact("binding", "ranks bound to")].add(launch.binding)
        for name, value in launch.versions.items():
            values[Fact("stack", "stack version") if name == launch.stack else Fact("tool", "version", name)].add(value)
        for name, value in (launch.spec_hash or {}).items():
            values[Fact("Spack hash", "Spack hash", name)].add(value)
        for name, value in launch.environment.items():
            known = name.startswith(MPI_VARIABLES) and name not in _PATHS
            values[Fact("MPI variable" if known else "other variable", name)].add(value)
    return {fact: " or ".join(sorted(found)) for fact, found in values.items()}


def _unlike(lane: str, here: FactValues, there: FactValues) -> Iterator[Found]:
    for fact in here.keys() | there.keys():
        mine, theirs = here.get(fact, NOT_SET), there.get(fact, NOT_SET)
        if mine != theirs:
            yield fact, lane, mine, theirs


def _grouped(found: Iterable[Found]) -> list[Difference]:
    """One difference for all nodes or lanes, and for all ports or vulnerabilities, that differ alike."""
    where: dict[tuple[Fact, str, str], list[str]] = defaultdict(list)
    for fact, name, here, there in found:
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
    """``firmware of mlx5_0:1``, or the name alone."""
    return f"{name} of {', '.join(sorted(parts, key=natural))}" if any(parts) else name
