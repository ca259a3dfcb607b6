# SPDX-License-Identifier: Apache-2.0
"""Strong scaling of applications and times of collectives, over nodes and ranks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fabricbench.models.collective_times import COLLECTIVES, collective_us
from fabricbench.parsers.tools.micro.description import TOOL
from fabricbench.site.scale import scale_text
from fabricbench.site.transports import LOCAL_SHM
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.stats.loggp import CURVES, LogGP, loggp
from fabricbench.stats.paired import paired_ratio
from fabricbench.verdict.series import CellKey, Series, order

CONFIDENCE = 0.95
"""Of the intervals that decide."""

RATES = ("mops", "ns_per_day")
"""Metrics of applications that grow with the number of ranks."""

_ROOTED = ("bcast", "reduce", "gather", "scatter")
"""Collectives of which some ranks leave early: their time is that of the slowest rank."""

Cells = Mapping[CellKey, Series]


@dataclass(frozen=True, slots=True)
class Scaling:
    """The rate of an application on some nodes and ranks, against the fewest on which it was measured (its base).

    ``value``: median over blocks, in ``unit``. ``speed_up``: the ratio of the rates, paired by block.
    ``efficiency``: speed-up over the ratio of the numbers of ranks. ``confidence``: of their intervals, from ``n``
    blocks.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    metric: str
    nodes: int
    ranks: int
    base_nodes: int
    base_ranks: int
    value: float | None
    speed_up: float | None
    speed_up_low: float | None
    speed_up_high: float | None
    efficiency: float | None
    efficiency_low: float | None
    efficiency_high: float | None
    confidence: float | None
    n: int

    @property
    def scale(self) -> str:
        """The scale as text, ``4x8``."""
        return scale_text(self.nodes, self.ranks)


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """The time of a collective on some nodes and ranks, in microseconds, with its interval over ``n`` blocks.

    ``model``: ``models.collective_times`` with LogGP's parameters of the lane; None without. ``over_model``: time /
    model.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    msg_size_bytes: int | None
    nodes: int
    ranks: int
    time: float | None
    time_low: float | None
    time_high: float | None
    confidence: float | None
    model: float | None
    over_model: float | None
    n: int

    @property
    def scale(self) -> str:
        """The scale as text, ``4x8``."""
        return scale_text(self.nodes, self.ranks)


@dataclass(frozen=True, slots=True)
class Limit:
    """The scales between which the efficiency of an application falls below a limit.

    ``last``: the largest scale up to which every interval is above the limit; None if none is. ``first``: the first
    scale, in order of ranks and nodes, whose interval is below; None if none is. ``undecided``: the number of scales
    before ``first`` whose interval contains the limit, or which have too few blocks for an interval.
    """

    last: Scaling | None
    first: Scaling | None
    undecided: int = 0

    def sentence(self, share: float) -> str:
        """Returns the limit as text: ``efficiency at least 70 % up to 2x2, first below 70 % on 4x8``."""
        percent = f"{100 * share:g} %"
        up_to = f"up to {self.last.scale}" if self.last else "on no scale"
        beyond = f"first below {percent} on {self.first.scale}" if self.first else f"below {percent} on no scale"
        undecided = f"; undecided on {self.undecided} of the scales" if self.undecided else ""
        return f"efficiency at least {percent} {up_to}, {beyond}{undecided}"


def strong_scaling(cells: Cells, confidence: float) -> list[Scaling]:
    """Returns a row for each application, lane and scale, in order of ranks and nodes.

    Applications that were measured on one scale only have no rows. A lane of the variant ``local-shm`` has no launches
    with one rank on each node, because they would be those of the lane without it; the smallest of these is its base.
    """
    rows: list[Scaling] = []
    rated = [key for key in sorted(cells, key=order) if key.metric in RATES and cells[key].samples]
    for _, group in groupby(rated, key=lambda key: key._replace(ranks=0, nodes=0)):
        keys = sorted(group, key=_by_scale)
        base = min([keys[0], *_one_rank_per_node(keys[0], rated)], key=_by_scale)
        if len(keys) > 1 or base != keys[0]:
            rows += [_scaling(key, base, cells, confidence) for key in keys]
    return rows


def _by_scale(key: CellKey) -> tuple[int, int]:
    return key.ranks, key.nodes


def _one_rank_per_node(key: CellKey, others: Sequence[CellKey]) -> list[CellKey]:
    """Returns the launches with one rank on each node that a lane of the variant ``local-shm`` does not repeat."""
    if key.variant != LOCAL_SHM:
        return []
    plain = key._replace(variant="", ranks=0, nodes=0)
    return [one for one in others if one.ranks == one.nodes and one._replace(ranks=0, nodes=0) == plain]


def _scaling(key: CellKey, base: CellKey, cells: Cells, confidence: float) -> Scaling:
    alone = key == base
    one = Interval(1.0, 1.0, 1.0, None, len(cells[key].samples))
    ratio = one if alone else paired_ratio(cells[key].values(), cells[base].values(), confidence).interval
    more = key.ranks / base.ranks
    low, middle, high = (None if value is None else value / more for value in (ratio.low, ratio.estimate, ratio.high))
    return Scaling(
        lane=key.lane,
        tool=key.tool,
        benchmark=key.benchmark,
        case=key.case,
        metric=key.metric,
        nodes=key.nodes,
        ranks=key.ranks,
        base_nodes=base.nodes,
        base_ranks=base.ranks,
        value=median_interval(list(cells[key].medians().values()), confidence).estimate,
        speed_up=ratio.estimate,
        speed_up_low=ratio.low,
        speed_up_high=ratio.high,
        efficiency=middle,
        efficiency_low=low,
        efficiency_high=high,
        confidence=ratio.confidence,
        n=ratio.n,
    )


def below(rows: Sequence[Scaling], limit: float) -> Limit:
    """Returns where the efficiency of one application on one lane falls below ``limit``; ``rows`` in order of scale.

    Only intervals of at least ``CONFIDENCE`` decide.
    """
    last, holds, undecided = None, True, 0
    for row in rows:
        base = (row.nodes, row.ranks) == (row.base_nodes, row.base_ranks)
        decided = base or (row.confidence or 0.0) >= CONFIDENCE
        if decided and row.efficiency_high is not None and row.efficiency_high < limit:
            return Limit(last, row, undecided)
        is_above = decided and row.efficiency_low is not None and row.efficiency_low >= limit
        undecided += not is_above
        holds = holds and is_above
        last = row if holds else last
    return Limit(last, None, undecided)


def by_application(rows: Sequence[Scaling]) -> Iterator[tuple[str, list[Scaling]]]:
    """Yields the name of each application and lane, ``npb ft.A on openmpi@tcp``, with its rows."""
    for name, group in groupby(
        rows, key=lambda row: f"{row.tool} {row.benchmark} {row.case}".strip() + f" on {row.lane}"
    ):
        yield name, list(group)


def collective_metric(benchmark: str) -> str:
    """Returns the metric that is the time of a collective: that of the slowest rank if some ranks leave early."""
    return "time_max" if benchmark in _ROOTED else "time"


def collective_times(cells: Cells, confidence: float) -> list[CollectiveTime]:
    """Returns a row for each collective, lane, size and scale, in order of size, ranks and nodes."""
    networks = _networks(cells)
    rows = []
    for key in sorted(cells, key=order):
        if key.benchmark in COLLECTIVES and key.metric == collective_metric(key.benchmark) and cells[key].samples:
            interval = median_interval(list(cells[key].medians().values()), confidence)
            model = _model(key, networks.get((key.system, key.lane)))
            over = interval.estimate / model if interval.estimate is not None and model else None
            rows.append(
                CollectiveTime(
                    key.lane,
                    key.tool,
                    key.benchmark,
                    key.case,
                    key.msg_size_bytes,
                    key.nodes,
                    key.ranks,
                    interval.estimate,
                    interval.low,
                    interval.high,
                    interval.confidence,
                    model,
                    over,
                    interval.n,
                )
            )
    return rows


def _model(key: CellKey, network: LogGP | None) -> float | None:
    if network is None or not network.segments:
        return None
    size = key.msg_size_bytes or 0
    if (key.tool, key.benchmark) == (TOOL, "reduce_scatter"):
        size *= key.ranks  # the size of the benchmark is one rank's block
    of_size = next((one for one in network.segments if size <= one.last), network.segments[-1])
    message_us = network.latency_us + network.send_overhead_us + network.receive_overhead_us
    return collective_us(key.benchmark, key.ranks, size, message_us, of_size.ns_per_byte) or None


def _networks(cells: Cells) -> dict[tuple[str, str], LogGP]:
    """Returns LogGP's parameters by system and lane, from the medians over blocks of the curves of P-LogP.

    A lane has those of the most nodes, and of one case.
    """
    curves: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    sources: dict[tuple[str, str], tuple[int, str]] = {}
    for key in sorted(cells, key=lambda key: (-key.nodes, key.case)):
        if key.tool == TOOL and key.benchmark == "plogp" and key.metric in CURVES and cells[key].samples:
            lane = key.system, key.lane
            middle = median_interval(list(cells[key].medians().values()), CONFIDENCE).estimate
            of_source = sources.setdefault(lane, (key.nodes, key.case)) == (key.nodes, key.case)
            if of_source and middle is not None and key.msg_size_bytes is not None:
                curves[lane][key.metric][key.msg_size_bytes] = middle
    fits = {lane: loggp(*(of_lane.get(name, {}) for name in CURVES)) for lane, of_lane in curves.items()}
    return {lane: fit for lane, fit in fits.items() if fit is not None}
