# SPDX-License-Identifier: Apache-2.0
"""The number of invalid cells with 1 % lost launches, with and without the repeat within the block."""

from pathlib import Path

import numpy as np
import pytest

from fabricbench.verdict.judge import judge
from verdict.synthetic_table import Rows, entry, facts, lane_rows, latencies, requirements, table_of

BLOCKS, CELLS, LOST = 30, 1000, 0.01


def _lane(rng: np.random.Generator, lane: str, median: float, size: int, tries: int) -> Rows:
    """The launches of one cell, each started up to ``tries`` times where it is lost."""
    rows: Rows = []
    for block, value in enumerate(latencies(rng, BLOCKS, median)):
        for attempt in range(tries):
            is_lost = bool(rng.random() < LOST)
            columns = {
                "state": "lost" if is_lost else "ok",
                "msg_size_bytes": size,
                "launch": f"{lane} {block}.{attempt}",
            }
            rows += lane_rows(lane, {block: None if is_lost else value}, **columns)
            if not is_lost:
                break
    return rows


@pytest.mark.parametrize(("tries", "invalid"), [(1, 475), (2, 5)])
def test_ratio_cells_of_thirty_blocks_that_one_percent_of_lost_launches_makes_invalid(
    tmp_path: Path, tries: int, invalid: int
) -> None:
    """docs/verdicts.md has both counts; 60 launches lost with a chance of 1 % and of 0.01 % come to 45 % and 0.6 %."""
    rng = np.random.default_rng(31)
    lanes = (("mpich@shm", 0.5), ("mpich@tcp", 1.0))
    table = table_of(*(_lane(rng, *lane, size, tries) for size in range(CELLS) for lane in lanes))
    requirement_set = requirements(tmp_path, entry("half", "at_most: 0.9", "fabric: tcp", fabric="shm"))
    cells = judge(table, requirement_set, facts(8, 15, 30)).cells
    verdicts = [cell.verdict for cell in cells]
    assert len(cells) == CELLS
    assert (verdicts.count("INVALID"), verdicts.count("PASS")) == (invalid, CELLS - invalid)
