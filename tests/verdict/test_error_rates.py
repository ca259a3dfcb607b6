# SPDX-License-Identifier: Apache-2.0
"""Error rates of verdicts on equal lanes, and the power to detect a known change."""

from pathlib import Path

import numpy as np
import polars as pl

from fabricbench.site.requirements import Requirements
from fabricbench.verdict.judge import judge
from verdict.synthetic_table import entry, facts, lane_rows, latencies, requirements, table_of

LOOKS = (8, 15, 30)


def _campaign(rng: np.random.Generator, factor: float, sizes: int) -> pl.DataFrame:
    return table_of(
        *(
            lane_rows(f"mpich@{fabric}", latencies(rng, LOOKS[-1], median), msg_size_bytes=8 << size)
            for fabric, median in (("shm", factor), ("tcp", 1.0))
            for size in range(sizes)
        )
    )


def _until_decided(table: pl.DataFrame, requirement_set: Requirements) -> set[str]:
    """The verdicts at the look that decides all cells, else at the last: what a campaign would report."""
    for look in LOOKS:
        cells = judge(table.filter(pl.col("block") < look), requirement_set, facts(*LOOKS)).cells
        result = {cell.verdict for cell in cells}
        if "INCONCLUSIVE" not in result:
            break
    return set(result)


def _requirements(folder: Path) -> Requirements:
    return requirements(folder, entry("equal", "at_most: 1.0", "fabric: tcp", fabric="shm"))


def _false_alarm_rate(rng: np.random.Generator, requirement_set: Requirements, sizes: int, campaigns: int) -> float:
    verdicts = [_until_decided(_campaign(rng, 1.0, sizes), requirement_set) for _ in range(campaigns)]
    return sum("PASS" in result or "FAIL" in result for result in verdicts) / campaigns


def test_false_alarms_on_equal_lanes_over_three_looks(tmp_path: Path) -> None:
    rate = _false_alarm_rate(np.random.default_rng(20), _requirements(tmp_path), 1, 400)
    assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_false_alarms_among_six_equal_cells(tmp_path: Path) -> None:
    rate = _false_alarm_rate(np.random.default_rng(21), _requirements(tmp_path), 6, 100)
    assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


def test_a_known_slow_down_is_found(tmp_path: Path) -> None:
    rng, requirement_set = np.random.default_rng(22), _requirements(tmp_path)
    result = [_until_decided(_campaign(rng, 1.08, 3), requirement_set) for _ in range(30)]
    assert sum(verdicts == {"FAIL"} for verdicts in result) >= 27
    assert not any("PASS" in verdicts for verdicts in result)


def test_six_blocks_see_a_large_slow_down(tmp_path: Path) -> None:
    rng, requirement_set = np.random.default_rng(23), _requirements(tmp_path)
    tables = (_campaign(rng, 1.2, 3).filter(pl.col("block") < 6) for _ in range(30))
    result = [{cell.verdict for cell in judge(table, requirement_set, facts(6)).cells} for table in tables]
    assert sum(verdicts == {"FAIL"} for verdicts in result) >= 28
