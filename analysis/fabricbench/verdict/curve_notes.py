# SPDX-License-Identifier: Apache-2.0
"""Says in words what limits the curves on which an attribution or a prediction rests."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fabricbench.models.attribution import CurveUse, extrapolated_share


def curve_notes(uses: Sequence[CurveUse]) -> Iterator[str]:
    """Yields a note for sizes beyond the largest measured one, and for curves of another number of ranks."""
    if (share := extrapolated_share(uses)) > 0:
        yield f"extrapolated beyond the largest measured size: up to {100 * share:.2g} % of the time"
    names: dict[tuple[int, int], set[str]] = defaultdict(set)
    for use in uses:
        for name, measured, needed in use.substituted:
            names[measured, needed].add(name)
    for (measured, needed), collectives in sorted(names.items()):
        yield f"collectives on {needed} ranks have the curves of {measured} ranks: {', '.join(sorted(collectives))}"
