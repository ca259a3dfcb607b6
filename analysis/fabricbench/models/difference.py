# SPDX-License-Identifier: Apache-2.0
"""Divides the difference of two run times into the differences of their parts."""

from dataclasses import dataclass

from fabricbench.models.parts import Parts, RunParts


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two launches of one application: seconds of the first minus those of the second.

    ``parts``: dU, dLat, dBw, dSync (waiting), undivided, dRest; their sum is dT, the difference of the mean times over
    ranks. ``explained``: 1 - (|dRest| + |d undivided|) / |dT|; None if dT is 0. It is negative if the unexplained
    differences are larger than dT.
    """

    parts: Parts
    explained: float | None

    @property
    def total(self) -> float:
        """dT in seconds."""
        return self.parts.total


def difference(first: RunParts, second: RunParts) -> Difference:
    """Returns dT = dU + dLat + dBw + dSync + dRest of two launches, of the means over ranks."""
    parts = first.mean - second.mean
    unexplained = abs(parts.rest) + abs(parts.undivided)
    return Difference(parts, 1 - unexplained / abs(parts.total) if parts.total else None)
