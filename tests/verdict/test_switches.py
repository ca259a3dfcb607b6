# SPDX-License-Identifier: Apache-2.0
"""Node pairs across switches against node pairs on one switch, of known ratio."""

import numpy as np
import pytest

from fabricbench.report.nodes import nodes
from fabricbench.verdict.nodes import matrices
from fabricbench.verdict.switches import switch_ratios
from verdict.synthetic_node_pairs import rows
from verdict.synthetic_table import table_of

ADDRESSES = {f"n{number}": f"core.leaf{1 + (number > 3)}.n{number}" for number in range(1, 7)}
ACROSS = {
    (one, other): 1.5 for one in range(1, 7) for other in range(1, 7) if one != other and (one > 3) != (other > 3)
}


@pytest.mark.parametrize(("metric", "within", "across"), [("latency", 6, 9), ("bandwidth", 12, 18)])
def test_pairs_across_switches_are_slower_by_the_factor_of_their_links(metric: str, within: int, across: int) -> None:
    table = table_of(rows(6, np.random.default_rng(3), metric=metric, links=ACROSS, noise=0.01))
    (ratio,) = switch_ratios(matrices(table), ADDRESSES, 0.95)
    assert (ratio.within, ratio.across, ratio.interval.n) == (within, across, 6)
    assert ratio.interval.estimate == pytest.approx(1.5, rel=0.03)
    assert ratio.line.startswith(f"mpich@gige, {metric}")
    assert "node pairs across switches take 1.4" in ratio.line or "take 1.5" in ratio.line


def test_nodes_without_a_known_switch_are_left_out() -> None:
    table = table_of(rows(6, np.random.default_rng(3), metric="latency", links=ACROSS))
    (ratio,) = switch_ratios(matrices(table), ADDRESSES | {"n6": None}, 0.95)
    assert (ratio.within, ratio.across) == (4, 6)


@pytest.mark.parametrize("addresses", [{}, {"n1": "n1"}, {f"n{number}": f"leaf.n{number}" for number in range(1, 7)}])
def test_no_ratio_without_pairs_of_both_kinds(addresses: dict[str, str | None]) -> None:
    table = table_of(rows(6, np.random.default_rng(3), metric="latency"))
    assert switch_ratios(matrices(table), addresses, 0.95) == []


def test_the_section_of_the_report_has_the_ratio() -> None:
    table = table_of(rows(6, np.random.default_rng(3), metric="latency", links=ACROSS))
    (line,) = nodes(table, 0.95, ADDRESSES).switches
    assert "(9 and 6 pairs, 6 blocks)" in line
    assert nodes(table, 0.95).switches == ()
