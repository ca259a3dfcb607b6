# SPDX-License-Identifier: Apache-2.0
"""The cost of a network between ranks of one node: lanes without shared memory against their variant with it."""

from dataclasses import dataclass

from fabricbench.models.collective_times import COLLECTIVES
from fabricbench.site.scale import scale_text
from fabricbench.site.transports import LOCAL_SHM
from fabricbench.stats.paired import paired_ratio
from fabricbench.verdict.scaling import RATES, Cells, collective_metric
from fabricbench.verdict.series import CellKey, order


@dataclass(frozen=True, slots=True)
class SharingCost:
    """The time on a lane over the time on its variant ``local-shm``, paired by block, with its interval.

    Above 1, the launch is faster with shared memory inside the nodes. ``metric``: of rates the ratio is inverted.
    """

    lane: str
    variant: str
    tool: str
    benchmark: str
    case: str
    metric: str
    msg_size_bytes: int | None
    nodes: int
    ranks: int
    ratio: float
    low: float | None
    high: float | None
    confidence: float | None
    n: int

    @property
    def scale(self) -> str:
        """The scale as text, ``4x8``."""
        return scale_text(self.nodes, self.ranks)


def sharing_costs(cells: Cells, confidence: float) -> list[SharingCost]:
    """Returns the rows of collectives and applications that ran with and without shared memory, in order of cell."""
    rows = []
    for key in sorted(cells, key=order):
        alone = key._replace(variant="")
        if key.variant != LOCAL_SHM or alone not in cells or not _compared(key):
            continue
        with_shm, without = cells[key].values(), cells[alone].values()
        pair = (with_shm, without) if key.metric in RATES else (without, with_shm)
        ratio = paired_ratio(*pair, confidence).interval
        if ratio.estimate is not None:
            rows.append(
                SharingCost(
                    alone.lane,
                    key.lane,
                    key.tool,
                    key.benchmark,
                    key.case,
                    key.metric,
                    key.msg_size_bytes,
                    key.nodes,
                    key.ranks,
                    ratio.estimate,
                    ratio.low,
                    ratio.high,
                    ratio.confidence,
                    ratio.n,
                )
            )
    return rows


def _compared(key: CellKey) -> bool:
    of_collective = key.benchmark in COLLECTIVES and key.metric == collective_metric(key.benchmark)
    return key.ranks > key.nodes and (key.metric in RATES or of_collective)
