# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of NAS kernels: problem classes with equally many elements on each rank."""

from collections import defaultdict
from dataclasses import dataclass

from fabricbench.parsers.tools.npb import PROBLEMS
from fabricbench.site.scale import scale_text
from fabricbench.stats.paired import paired_ratio
from fabricbench.verdict.scaling import Cells
from fabricbench.verdict.series import CellKey, order

KERNELS = ("IS", "FT")
"""Kernels whose memory and work grow with their elements. Rows of CG's matrix have more nonzeros in larger classes."""


@dataclass(frozen=True, slots=True)
class WeakScaling:
    """The efficiency of a kernel on more ranks with equally many elements (keys, grid points) on each.

    ``efficiency``: the rate of ``benchmark`` on each rank over that of ``base_benchmark`` on fewer ranks, paired by
    block, with its interval of this ``confidence`` from ``n`` blocks.
    """

    lane: str
    tool: str
    benchmark: str
    case: str
    elements_per_rank: float
    nodes: int
    ranks: int
    base_benchmark: str
    base_nodes: int
    base_ranks: int
    efficiency: float | None
    efficiency_low: float | None
    efficiency_high: float | None
    confidence: float | None
    n: int

    @property
    def scale(self) -> str:
        """The scale as text, ``4x8``."""
        return scale_text(self.nodes, self.ranks)

    @property
    def base_scale(self) -> str:
        """The scale of the base as text, ``1x2``."""
        return scale_text(self.base_nodes, self.base_ranks)


def weak_scaling(cells: Cells, confidence: float) -> list[WeakScaling]:
    """Returns a row for each scale on which a lane ran more ranks with as many elements on each as on fewer.

    Definition: rate(p) / p over rate(b) / b, where b is the fewest ranks with equally many elements on each. The rates
    are NASA's counts of operations, which grow with the problem, over the run time.
    """
    groups: dict[CellKey, dict[float, list[CellKey]]] = defaultdict(lambda: defaultdict(list))
    for key in sorted(cells, key=order):
        kernel, _, problem_class = key.benchmark.upper().partition(".")
        if key.metric == "mops" and kernel in KERNELS and (kernel, problem_class) in PROBLEMS and cells[key].samples:
            each = PROBLEMS[kernel, problem_class].points / key.ranks
            groups[key._replace(benchmark=kernel, ranks=0, nodes=0)][each].append(key)
    rows = []
    for by_size in groups.values():
        for each, keys in sorted(by_size.items()):
            base, *others = sorted(keys, key=lambda key: (key.ranks, key.nodes))
            rows += [_row(key, base, each, cells, confidence) for key in others if key.ranks > base.ranks]
    return rows


def _row(key: CellKey, base: CellKey, each: float, cells: Cells, confidence: float) -> WeakScaling:
    ratio = paired_ratio(cells[key].values(), cells[base].values(), confidence).interval
    share = base.ranks / key.ranks
    low, middle, high = (None if one is None else one * share for one in (ratio.low, ratio.estimate, ratio.high))
    return WeakScaling(
        lane=key.lane,
        tool=key.tool,
        benchmark=key.benchmark,
        case=key.case,
        elements_per_rank=each,
        nodes=key.nodes,
        ranks=key.ranks,
        base_benchmark=base.benchmark,
        base_nodes=base.nodes,
        base_ranks=base.ranks,
        efficiency=middle,
        efficiency_low=low,
        efficiency_high=high,
        confidence=ratio.confidence,
        n=ratio.n,
    )
