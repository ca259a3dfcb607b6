# SPDX-License-Identifier: Apache-2.0
"""Node pairs across switches against node pairs on one switch, by Slurm's topology."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fabricbench.stats.interval import Interval, median_interval
from fabricbench.verdict.nodes import Matrix, MatrixKey


@dataclass(frozen=True, slots=True)
class SwitchRatio:
    """The time of node pairs across switches over that of node pairs on one switch, for one metric of a lane.

    ``within``, ``across``: the numbers of node pairs. ``interval``: of the median over blocks.
    """

    key: MatrixKey
    within: int
    across: int
    interval: Interval

    @property
    def line(self) -> str:
        """The ratio as text."""
        one = self.interval
        ends = f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None and one.high is not None else ""
        return (
            f"{self.key.lane}, {self.key.words}: node pairs across switches take {one.estimate:.3f}{ends} times the "
            f"time of node pairs on one switch ({self.across} and {self.within} pairs, {one.n} blocks)"
        )


def switch_ratios(
    matrices: Sequence[Matrix], addresses: Mapping[str, str | None], confidence: float
) -> list[SwitchRatio]:
    """Returns a ratio for each matrix with node pairs of both kinds.

    Definition: in each block, the median time of the pairs across switches divided by that of the pairs on one switch;
    the median over blocks with its order-statistics interval (``stats.interval``). Of a bandwidth the time is its
    inverse. Pairs with a node whose switch is unknown are left out.

    ``addresses``: the topology address of each node, ``core.leaf1.n3``, as Slurm gives it.
    """
    switch = {name: address.rpartition(".")[0] for name, address in addresses.items() if address and "." in address}
    return [ratio for matrix in matrices for ratio in _of_matrix(matrix, switch, confidence)] if switch else []


def _of_matrix(matrix: Matrix, switch: Mapping[str, str], confidence: float) -> Iterator[SwitchRatio]:
    of_node = [switch.get(name, switch.get(name.partition(".")[0], "")) for name in matrix.names]
    pairs = matrix.pairs
    known = np.array([bool(of_node[a] and of_node[b]) for a, b in zip(pairs.first, pairs.second, strict=True)])
    same = np.array([of_node[a] == of_node[b] for a, b in zip(pairs.first, pairs.second, strict=True)])
    ratios = []
    for block in np.unique(pairs.block):
        near = pairs.slowness[(pairs.block == block) & known & same]
        far = pairs.slowness[(pairs.block == block) & known & ~same]
        if len(near) and len(far):
            ratios.append(float(np.exp(np.median(far) - np.median(near))))
    if ratios:
        both = np.stack((pairs.first, pairs.second))
        within, across = (np.unique(both[:, known & one], axis=1).shape[1] for one in (same, ~same))
        yield SwitchRatio(matrix.key, within, across, median_interval(ratios, confidence))
