# SPDX-License-Identifier: Apache-2.0
"""Findings on campaigns with slow nodes and links, and on healthy ones."""

import numpy as np
import polars as pl
import pytest

from fabricbench.verdict.compare import compare
from fabricbench.verdict.nodes import matrices
from fabricbench.verdict.propose import propose
from fabricbench.verdict.survey import as_frame, survey
from verdict.synthetic_node_pairs import ALONE, rows, sums
from verdict.synthetic_table import table_of


def findings_of(table: pl.DataFrame) -> set[tuple[str, str, str, str]]:
    return set(as_frame(survey(table)).select("kind", "node", "other", "role").iter_rows())


@pytest.mark.parametrize("nodes", [3, 4, 12])
def test_a_node_at_half_rate_is_named_and_no_other(nodes: int) -> None:
    rng = np.random.default_rng(1)
    slow = {3: 2.0}
    table = table_of(rows(nodes, rng, slow=slow), rows(nodes, rng, metric="latency"))
    assert findings_of(table) == {("node", "n3", "", "sending"), ("node", "n3", "", "receiving")}
    result = as_frame(survey(table))
    assert result["slowdown"].to_list() == pytest.approx([2, 2], rel=0.15)
    assert set(result["case"]) == {ALONE}
    assert result["seen"].to_list() == [6, 6]


def test_a_node_that_is_slow_at_receiving() -> None:
    table = table_of(rows(6, np.random.default_rng(2), metric="latency", slow={2: 1.5}))
    assert findings_of(table) == {("node", "n2", "", "either way")}


def test_a_slow_link_is_a_finding_of_the_node_pair_and_not_of_a_node() -> None:
    links = {(2, 5): 2.0, (5, 2): 2.0}
    table = table_of(rows(8, np.random.default_rng(3), links=links))
    assert findings_of(table) == {("pair", "n2", "n5", "one way"), ("pair", "n5", "n2", "one way")}


def test_two_nodes_can_only_differ_by_direction() -> None:
    rng = np.random.default_rng(4)
    table = table_of(rows(2, rng, links={(2, 1): 2.0}), rows(2, rng, metric="latency", slow={1: 3.0}))
    assert findings_of(table) == {("direction", "n2", "n1", "one way")}
    assert survey(table).notes == ["mpich@gige: two nodes show which direction is slow, not which node"]
    assert findings_of(table_of(rows(2, rng, slow={1: 2.0}))) == set()


def test_fewer_blocks_than_the_least_give_no_findings() -> None:
    table = table_of(rows(4, np.random.default_rng(5), slow={1: 2.0}, blocks=5))
    assert findings_of(table) == set()
    assert survey(table).notes == ["mpich@gige: no node or pair is named before 6 blocks; this campaign has 5"]


def test_intermittent_load_is_not_a_finding() -> None:
    rng = np.random.default_rng(6)
    quiet, loaded = rows(8, rng), rows(8, rng, slow={1: 3.0})
    table = table_of([row for row in quiet if row["block"] > 2], [row for row in loaded if row["block"] <= 2])
    assert findings_of(table) == set()


def test_many_slow_links_are_reported_as_one_property_of_the_network() -> None:
    links = {(one, (one + step - 1) % 12 + 1): 2.0 for one in range(1, 13) for step in (1, 6, 11)}
    table = table_of(rows(12, np.random.default_rng(7), links=links))
    assert findings_of(table) == set()
    (note,) = survey(table).notes
    assert note.startswith(f"mpich@gige: 36 of 132 pairs are slower than their nodes explain (bandwidth {ALONE}")


def test_launches_that_are_not_attested_are_ignored() -> None:
    table = table_of(rows(4, np.random.default_rng(8), slow={1: 2.0})).with_columns(state=pl.lit("refuted"))
    assert matrices(table) == []


def test_single_node_pairs_are_neither_compared_nor_proposed() -> None:
    rng = np.random.default_rng(10)
    both = [table_of(rows(4, rng), sums(200.0, ALONE)).with_columns(stack=pl.lit(name)) for name in ("a", "b")]
    table = pl.concat(both)
    assert set(compare(table, "a@gige", "b@gige")["metric"]) == {"bisection_bandwidth"}
    assert "from=" not in propose(table)
    assert propose(table).count("- id:") == 2


def test_names_in_natural_order_and_pairs_of_latency_without_direction() -> None:
    rng = np.random.default_rng(9)
    table = table_of(rows(11, rng, metric="latency", blocks=1))
    swapped = table.with_columns(
        case=pl.col("case").str.replace("from=(.*) to=(.*)", "from=$2 to=$1"), block=pl.lit(1, pl.Int64)
    )
    (matrix,) = matrices(pl.concat([table, swapped]))
    assert matrix.names == tuple(f"n{at}" for at in range(1, 12))
    assert len(matrix.effects.first) == 55
    assert matrix.blocks == 2
