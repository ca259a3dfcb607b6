# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes: what is to be looked at, a map of each metric, and the bisection."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.report.groups import LegendEntry, Number, number_of
from fabricbench.report.heatmap import MOST_NODES, heat_map_svg, legend
from fabricbench.report.series import estimate
from fabricbench.report.words import number, plural, size_label, slugs
from fabricbench.stats.paired import finite_ratio
from fabricbench.verdict.nodes import BENCHMARKS, LEAST_BLOCKS, Matrix, MatrixKey
from fabricbench.verdict.series import all_series
from fabricbench.verdict.survey import Finding, Survey, survey
from fabricbench.verdict.suspects import ALPHA, MARGIN, TOLERANCE

MOST_ROWS = 16
"""Rows of a table beyond which only the worst stand in it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding in words; ``slowdown`` is a factor, ``stalled`` and ``others`` are shares of stalled values."""

    role: str
    slowdown: str
    seen: str
    p: str
    stalled: str
    others: str
    lane: str
    what: str


@dataclass(frozen=True, slots=True)
class ToLookAt:
    """A node, or a way between two, with all that speaks against it."""

    name: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class MapView:
    """One metric of all pairs: ``svg`` is empty where the nodes are too many; ``nodes`` have their slow-downs, as
    senders and as receivers, or either way."""

    key: str
    caption: str
    svg: Markup
    columns: tuple[str, ...]
    nodes: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Bisection:
    """The sum over the pairs of a round; ``share`` is what of it alone is left with all at once."""

    round: str
    alone: Number
    at_once: Number
    share: Number


@dataclass(frozen=True, slots=True)
class LaneView:
    """What was measured on one lane."""

    anchor: str
    lane: str
    maps: tuple[MapView, ...]
    bisection: tuple[Bisection, ...]
    rounds_left_out: int


@dataclass(frozen=True, slots=True)
class NodesView:
    """The section; nothing in it where no pairs were measured."""

    nodes: tuple[ToLookAt, ...]
    pairs: tuple[ToLookAt, ...]
    stalls: tuple[ToLookAt, ...]
    decidable: bool
    notes: tuple[str, ...]
    margin: str
    tolerance: str
    alpha: str
    least_blocks: int
    legend: tuple[LegendEntry, ...]
    lanes: tuple[LaneView, ...]


def of_pairs() -> pl.Expr:
    """The rows that are this section's, of the long table."""
    return pl.col("benchmark").is_in(BENCHMARKS)


def nodes(table: pl.DataFrame, confidence: float) -> NodesView:
    """The section of nodes and pairs."""
    rows = table.filter(of_pairs())
    found = survey(rows)
    by_lane: dict[str, list[Matrix]] = defaultdict(list)
    for matrix in found.matrices:
        by_lane[matrix.key.lane].append(matrix)
    sums = _sums(rows)
    anchors = slugs(by_lane, "nodes")
    return NodesView(
        nodes=_to_look_at([f for f in found.findings if f.suspect.kind == "node"]),
        pairs=_to_look_at([f for f in found.findings if f.suspect.other]),
        stalls=_to_look_at([f for f in found.findings if f.suspect.kind == "stalls"]),
        decidable=found.decidable,
        notes=tuple(found.notes),
        margin=number(MARGIN, 2),
        tolerance=number(TOLERANCE, 3),
        alpha=f"{ALPHA:.0%}",
        least_blocks=LEAST_BLOCKS,
        legend=legend(),
        lanes=tuple(
            _lane(anchors[lane], lane, of_lane, found, sums.get(lane, {}), confidence)
            for lane, of_lane in by_lane.items()
        ),
    )


def _to_look_at(findings: Sequence[Finding]) -> tuple[ToLookAt, ...]:
    """The slowest first."""
    named: dict[str, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda finding: -(finding.suspect.slowdown or 0.0)):
        one = finding.suspect
        named[f"{one.node} → {one.other}" if one.other else one.node].append(finding)
    return tuple(ToLookAt(name, tuple(_evidence(one) for one in found)) for name, found in named.items())


def _evidence(found: Finding) -> Evidence:
    one = found.suspect
    return Evidence(
        role=one.role,
        slowdown="" if one.slowdown is None else number(one.slowdown, 3),
        seen=f"{one.affected_blocks} of {plural(one.blocks, 'block')}",
        p=f"{found.p:.2g}",
        stalled=f"{one.stall_share:.0%}",
        others=f"{one.others_stall_share:.0%}",
        lane=found.matrix.lane,
        what=_what(found.matrix),
    )


def _what(key: MatrixKey) -> str:
    case = case_parts(key.case)
    how = {"alone": " of a pair alone", "at-once": " with all pairs at once"}.get(case.get("concurrency", ""), "")
    return f"{key.metric}{how}, {size_label(key.msg_size_bytes)}"


def _lane(
    anchor: str, lane: str, of_lane: Sequence[Matrix], found: Survey, sums: "Sums", confidence: float
) -> LaneView:
    """Its bisection over all rounds, then the rounds that suffer most."""
    rounds = sorted(sums, key=lambda where: (where.round != "", float(np.median(_shares(sums[where]) or [1.0]))))
    most = sum(not where.round for where in rounds) + MOST_ROWS
    return LaneView(
        anchor,
        lane,
        tuple(_map(matrix, found, f"{anchor}-map-{at}") for at, matrix in enumerate(of_lane)),
        tuple(_bisection(where, sums[where], confidence) for where in rounds[:most]),
        max(0, len(rounds) - most),
    )


def _map(matrix: Matrix, found: Survey, key: str) -> MapView:
    effects = matrix.effects.nodes.reshape(-1, len(matrix.names))
    order = np.argsort(-effects.max(axis=0), kind="stable")
    shown = order if len(order) <= MOST_ROWS else order[:MOST_ROWS]
    few = len(matrix.names) <= MOST_NODES
    what = _what(matrix.key)
    caption = f"{what[0].upper()}{what[1:]}: {plural(len(matrix.names), 'node')}, {plural(matrix.blocks, 'block')}"
    tabled = len(matrix.names) > 2
    named = [finding.suspect for finding in found.of(matrix)]
    return MapView(
        key=key,
        caption=caption,
        svg=Markup(heat_map_svg(matrix, named, key, f"{matrix.key.lane}: {caption}")) if few else Markup(),
        columns=matrix.roles,
        nodes=tuple(
            (matrix.names[at], tuple(number(float(np.exp(effect)), 3) for effect in effects[:, at]))
            for at in (shown if tabled else ())
        ),
        left_out=len(order) - len(shown) if tabled else 0,
    )


class Round(NamedTuple):
    """Disjoint pairs at once, of one case and size; ``round`` is empty for the mean of all."""

    round: str
    case: str


Ways = Mapping[str, Mapping[int, float]]
"""By concurrency, then by block."""

Sums = Mapping[Round, Ways]


def _sums(rows: pl.DataFrame) -> dict[str, dict[Round, dict[str, dict[int, float]]]]:
    """The bisections by lane."""
    found: dict[str, dict[Round, dict[str, dict[int, float]]]] = defaultdict(lambda: defaultdict(dict))
    for key, series in all_series(rows.filter(pl.col("metric") == "bisection_bandwidth")).items():
        case = case_parts(key.case)
        how, played = case.pop("concurrency", ""), case.pop("round", "")
        where = Round(played, " ".join((*canonical_case(case).split(), size_label(key.msg_size_bytes))))
        found[key.lane][where][how] = series.medians()
    return found


def _shares(ways: Ways) -> list[float]:
    """At once over alone, by block."""
    alone, at_once = ways.get("alone", {}), ways.get("at-once", {})
    ratios = (finite_ratio(at_once[block], alone[block]) for block in sorted(alone.keys() & at_once.keys()))
    return [ratio for ratio in ratios if ratio is not None]


def _bisection(where: Round, ways: Ways, confidence: float) -> Bisection:
    values = ([*ways.get("alone", {}).values()], [*ways.get("at-once", {}).values()], _shares(ways))
    said = [number_of(estimate(some, None, confidence) if some else None) for some in values]
    return Bisection(f"{f'round {where.round}' if where.round else 'all rounds, mean'}; {where.case}", *said)
