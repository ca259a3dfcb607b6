# SPDX-License-Identifier: Apache-2.0
"""The section of nodes and node pairs: slow nodes and pairs, a heat map per metric, and the bisection."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.report.facets import estimate
from fabricbench.report.formatting import number, plural, size_label, slugs
from fabricbench.report.groups import LegendEntry, Number, number_of
from fabricbench.report.heatmap import MOST_NODES, heat_map_svg, legend
from fabricbench.stats.median import median
from fabricbench.stats.paired import finite_ratio
from fabricbench.verdict.nodes import BENCHMARKS, LEAST_BLOCKS, Matrix, MatrixKey
from fabricbench.verdict.series import all_series
from fabricbench.verdict.survey import SlowUnit, Survey, survey
from fabricbench.verdict.suspects import ALPHA, MARGIN, TOLERANCE
from fabricbench.verdict.switches import switch_ratios

MOST_ROWS = 16
"""The most rows of a table; a longer one has only the worst."""


@dataclass(frozen=True, slots=True)
class SlowUnitView:
    """A slow unit of one matrix as text. ``slowdown``: a factor; ``blocks``: in how many it was slow; ``stalled``,
    ``others``: the share of stalled values on the node and on the other nodes."""

    role: str
    slowdown: str
    blocks: str
    p: str
    stalled: str
    others: str
    lane: str
    what: str


@dataclass(frozen=True, slots=True)
class Slow:
    """A slow node or node pair, with its slow units, one for each matrix and role."""

    name: str
    evidence: tuple[SlowUnitView, ...]


@dataclass(frozen=True, slots=True)
class MapView:
    """One metric of all node pairs. ``svg``: empty if there are too many nodes for a map; ``nodes``: their slowdowns,
    as senders and as receivers, or in both directions together."""

    key: str
    caption: str
    svg: Markup
    columns: tuple[str, ...]
    nodes: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Bisection:
    """The sum of the bandwidths of a round's pairs. ``share``: that of all pairs at once over that of pairs alone."""

    round: str
    alone: Number
    at_once: Number
    share: Number


@dataclass(frozen=True, slots=True)
class LaneMaps:
    """The maps and the bisection of one lane."""

    anchor: str
    lane: str
    maps: tuple[MapView, ...]
    bisection: tuple[Bisection, ...]
    rounds_left_out: int


@dataclass(frozen=True, slots=True)
class NodePairsView:
    """The section; without lanes if no node pairs were measured.

    ``switches``: node pairs across switches against those on one, as text; empty if the switches are not known.
    """

    nodes: tuple[Slow, ...]
    pairs: tuple[Slow, ...]
    stalls: tuple[Slow, ...]
    decidable: bool
    notes: tuple[str, ...]
    switches: tuple[str, ...]
    margin: str
    tolerance: str
    alpha: str
    least_blocks: int
    legend: tuple[LegendEntry, ...]
    lanes: tuple[LaneMaps, ...]


def of_pairs() -> pl.Expr:
    """Selects the rows of node pairs in the long table."""
    return pl.col("benchmark").is_in(BENCHMARKS)


def nodes(
    table: pl.DataFrame, confidence: float, addresses: Mapping[str, str | None] = MappingProxyType({})
) -> NodePairsView:
    """The section of nodes and node pairs; ``addresses``: Slurm's topology address of each node."""
    rows = table.filter(of_pairs())
    result = survey(rows)
    by_lane: dict[str, list[Matrix]] = defaultdict(list)
    for matrix in result.matrices:
        by_lane[matrix.key.lane].append(matrix)
    sums = _sums(rows)
    anchors = slugs(by_lane, "nodes")
    return NodePairsView(
        nodes=_slow([unit for unit in result.slow_units if unit.suspect.kind == "node"]),
        pairs=_slow([unit for unit in result.slow_units if unit.suspect.other]),
        stalls=_slow([unit for unit in result.slow_units if unit.suspect.kind == "stalls"]),
        decidable=result.decidable,
        notes=tuple(result.notes),
        switches=tuple(one.line for one in switch_ratios(result.matrices, addresses, confidence)),
        margin=number(MARGIN, 2),
        tolerance=number(TOLERANCE, 3),
        alpha=f"{ALPHA:.0%}",
        least_blocks=LEAST_BLOCKS,
        legend=legend(),
        lanes=tuple(
            _lane(anchors[lane], lane, of_lane, result, sums.get(lane, {}), confidence)
            for lane, of_lane in by_lane.items()
        ),
    )


def _slow(units: Sequence[SlowUnit]) -> tuple[Slow, ...]:
    """The slow units by node or node pair, the slowest first."""
    by_name: dict[str, list[SlowUnit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: -(unit.suspect.slowdown or 0.0)):
        suspect = unit.suspect
        by_name[f"{suspect.node} → {suspect.other}" if suspect.other else suspect.node].append(unit)
    return tuple(Slow(name, tuple(map(_evidence, of_name))) for name, of_name in by_name.items())


def _evidence(unit: SlowUnit) -> SlowUnitView:
    suspect = unit.suspect
    return SlowUnitView(
        role=suspect.role,
        slowdown="" if suspect.slowdown is None else number(suspect.slowdown, 3),
        blocks=f"{suspect.affected_blocks} of {plural(suspect.blocks, 'block')}",
        p=f"{unit.p:.2g}",
        stalled=f"{suspect.stall_share:.0%}",
        others=f"{suspect.others_stall_share:.0%}",
        lane=unit.matrix.lane,
        what=_what(unit.matrix),
    )


def _what(key: MatrixKey) -> str:
    case = case_parts(key.case)
    how = {"alone": ", one pair at a time", "at-once": ", all pairs at once"}.get(case.get("concurrency", ""), "")
    return f"{key.metric}{how}, {size_label(key.msg_size_bytes)}"


def _lane(
    anchor: str, lane: str, of_lane: Sequence[Matrix], result: Survey, sums: "Sums", confidence: float
) -> LaneMaps:
    """The maps of one lane, and its bisection: over all rounds, then the rounds with the smallest share."""
    rounds = sorted(sums, key=lambda where: (where.round != "", median(_shares(sums[where]) or [1.0])))
    most = sum(not where.round for where in rounds) + MOST_ROWS
    return LaneMaps(
        anchor,
        lane,
        tuple(_map(matrix, result, f"{anchor}-map-{at}") for at, matrix in enumerate(of_lane)),
        tuple(_bisection(where, sums[where], confidence) for where in rounds[:most]),
        max(0, len(rounds) - most),
    )


def _map(matrix: Matrix, result: Survey, key: str) -> MapView:
    effects = matrix.effects.nodes.reshape(-1, len(matrix.names))
    order = np.argsort(-effects.max(axis=0), kind="stable")
    rows = order if len(order) <= MOST_ROWS else order[:MOST_ROWS]
    few = len(matrix.names) <= MOST_NODES
    what = _what(matrix.key)
    caption = f"{what[0].upper()}{what[1:]}: {plural(len(matrix.names), 'node')}, {plural(matrix.blocks, 'block')}"
    tabled = len(matrix.names) > 2
    slow = [unit.suspect for unit in result.of(matrix)]
    return MapView(
        key=key,
        caption=caption,
        svg=Markup(heat_map_svg(matrix, slow, key, f"{matrix.key.lane}: {caption}")) if few else Markup(),
        columns=matrix.roles,
        nodes=tuple(
            (matrix.names[at], tuple(number(float(np.exp(effect)), 3) for effect in effects[:, at]))
            for at in (rows if tabled else ())
        ),
        left_out=len(order) - len(rows) if tabled else 0,
    )


class Round(NamedTuple):
    """A round of disjoint pairs, with its case and size; ``round``: empty for the mean of all rounds."""

    round: str
    case: str


ByConcurrency = Mapping[str, Mapping[int, float]]
"""Bandwidth by concurrency (``alone``, ``at-once``), then by block."""

Sums = Mapping[Round, ByConcurrency]


def _sums(rows: pl.DataFrame) -> dict[str, dict[Round, dict[str, dict[int, float]]]]:
    """The bisections by lane."""
    sums: dict[str, dict[Round, dict[str, dict[int, float]]]] = defaultdict(lambda: defaultdict(dict))
    for key, series in all_series(rows.filter(pl.col("metric") == "bisection_bandwidth")).items():
        case = case_parts(key.case)
        how, name = case.pop("concurrency", ""), case.pop("round", "")
        where = Round(name, " ".join((*canonical_case(case).split(), size_label(key.msg_size_bytes))))
        sums[key.lane][where][how] = series.medians()
    return sums


def _shares(values: ByConcurrency) -> list[float]:
    """The ratio of all pairs at once to pairs alone, by block."""
    alone, at_once = values.get("alone", {}), values.get("at-once", {})
    ratios = (finite_ratio(at_once[block], alone[block]) for block in sorted(alone.keys() & at_once.keys()))
    return [ratio for ratio in ratios if ratio is not None]


def _bisection(where: Round, values: ByConcurrency, confidence: float) -> Bisection:
    columns = ([*values.get("alone", {}).values()], [*values.get("at-once", {}).values()], _shares(values))
    numbers = [number_of(estimate(column, None, confidence) if column else None) for column in columns]
    return Bisection(f"{f'round {where.round}' if where.round else 'all rounds, mean'}; {where.case}", *numbers)
