# SPDX-License-Identifier: Apache-2.0
"""What a judgement is made of: one cell per requirement, lane and size."""

from dataclasses import dataclass
from typing import Literal

from fabricbench.verdict.series import CellKey

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "INVALID"]

EXIT_STATUS: dict[Verdict, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}
"""Exit status of ``judge``; a FAIL comes before an INVALID before an INCONCLUSIVE."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One verdict.

    ``name`` is stable and unique ("shm-latency/mpich@shm/8"); ``estimate``, ``low``, ``high`` are in ``unit``
    (ratios: unit "ratio"), None where nothing could be estimated; ``n`` is the number of launches, or of
    blocks that pair two lanes; ``confidence`` is the interval's own coverage; ``p_value`` one-sided against
    the bound, over all planned looks; ``q_value`` after Benjamini-Hochberg over all cells that have one;
    ``mde`` the smallest relative effect that n launches would have shown with power 0.8; ``launches`` names
    the launches used. ``measured`` and ``reference`` are the table's cells behind it (numerator and
    denominator).
    """

    name: str
    requirement: str
    text: str
    lane: str
    against: str | None
    tool: str
    benchmark: str
    metric: str
    msg_size_bytes: int | None
    verdict: Verdict
    reason: str
    bound: str
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float | None
    p_value: float | None
    q_value: float | None
    mde: float | None
    launches: tuple[str, ...]
    measured: CellKey | None = None
    reference: CellKey | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """All cells of a campaign, in the order of the requirements; ``exit_status`` as in EXIT_STATUS."""

    cells: tuple[Cell, ...]
    looks: tuple[int, ...]
    blocks: int
    alpha: float
    exit_status: int
