# SPDX-License-Identifier: Apache-2.0
"""The section of nodes and pairs: slow nodes and pairs, maps of few and of many nodes, the bisection."""

import re

import numpy as np
import polars as pl
import pytest

from fabricbench.report.nodes import nodes
from fabricbench.report.page import report
from report.html_page import Page
from report.synthetic import Shape, campaign
from verdict.synthetic_node_pairs import ALONE, AT_ONCE, rows, sums
from verdict.synthetic_table import table_of

SMALL = campaign(Shape(blocks=1, collectives=(), tools=("micro",)))


def table(count: int, *, blocks: int = 6, name: str = "n") -> pl.DataFrame:
    """A table with a slow node, a slow link, and the sums of two rounds."""
    rng = np.random.default_rng(count)
    slow, links = {3: 2.0}, {(4, 1): 3.0}
    result = table_of(
        rows(count, rng, slow=slow, links=links, blocks=blocks),
        rows(count, rng, case=AT_ONCE, slow=slow, blocks=blocks),
        rows(count, rng, metric="latency", blocks=blocks),
        *(sums(value, f"{case} round={at}", blocks) for at in (0, 1) for value, case in ((200, ALONE), (150, AT_ONCE))),
        *(sums(value, case, blocks) for value, case in ((200, ALONE), (150 + count, AT_ONCE))),
    )
    return result.with_columns(case=pl.col("case").str.replace_all("=n", f"={name}"))


def test_slow_nodes_and_node_pairs() -> None:
    view = nodes(table(6), 0.95)
    assert [one.name for one in view.nodes] == ["n3"]
    assert {(e.role, e.what) for e in view.nodes[0].evidence} == {
        (role, f"bandwidth, {how}, 1\u202fMiB")
        for role in ("sending", "receiving")
        for how in ("one pair at a time", "all pairs at once")
    }
    assert [(one.name, one.evidence[0].blocks) for one in view.pairs] == [("n4 → n1", "6 of 6 blocks")]


def test_stalls_and_nodes_that_stall_more_often() -> None:
    rng = np.random.default_rng(1)
    result = table_of(rows(6, rng, metric="latency", blocks=12))
    often, seldom = (pl.Series(rng.random(len(result)) < share) for share in (0.6, 0.05))
    of_n3 = pl.col("case").str.contains(r"=n3\b")
    stalled = pl.when(of_n3).then(often).otherwise(seldom)
    view = nodes(result.with_columns(value=pl.when(stalled).then(8000.0).otherwise("value")), 0.95)
    assert [one.name for one in view.stalls] == ["n3"]
    assert view.nodes == view.pairs == ()
    assert "of the values stall (latency at 8 bytes): two modes, with medians" in view.notes[0]


def test_too_few_blocks_are_not_reported_as_no_slow_node() -> None:
    few = table_of(rows(4, np.random.default_rng(2), blocks=3))
    assert "No slow node or node pair was detected" not in Page(report(SMALL, few, None)).text
    enough = table_of(rows(4, np.random.default_rng(2), blocks=6))
    assert "No slow node or node pair was detected" in Page(report(SMALL, enough, None)).text


def test_a_map_for_each_metric() -> None:
    (lane,) = nodes(table(6), 0.95).lanes
    assert [", ".join(map_.caption.split(":")[0].split(", ")[:2]) for map_ in lane.maps] == [
        "Bandwidth, one pair at a time", "Bandwidth, all pairs at once", "Latency, 8\u202fB",
    ]  # fmt: skip
    first = lane.maps[0]
    assert first.columns == ("sending", "receiving")
    assert first.nodes[0][0] == "n3"
    assert [float(factor) for factor in first.nodes[0][1]] == pytest.approx([2, 2], rel=0.15)
    assert "30 pairs of 6 nodes; slowest: n4 to n1" in first.svg


def test_the_bisection_is_a_share() -> None:
    (lane,) = nodes(table(6), 0.95).lanes
    assert [b.round for b in lane.bisection] == [
        "all rounds, mean; window=4 1\u202fMiB", "round 0; window=4 1\u202fMiB", "round 1; window=4 1\u202fMiB",
    ]  # fmt: skip
    assert [b.share.estimate for b in lane.bisection] == ["0.7800", "0.7500", "0.7500"]
    assert lane.bisection[0].share.n == 6


@pytest.mark.parametrize("count", [2, 3, 13, 64])
def test_the_page_with_maps(count: int) -> None:
    blocks = 6 if count < 64 else 1
    html = report(SMALL, table(count, blocks=blocks), None)
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert "Nodes and pairs" in page.text
    assert len(html) < 3e6
    assert ("two nodes show which direction is slow" in page.text) is (count == 2)


def test_too_many_nodes_for_a_map_are_a_table() -> None:
    (lane,) = nodes(table(66, blocks=1), 0.95).lanes
    assert [bool(map_.svg) for map_ in lane.maps] == [False] * 3
    assert [(len(map_.nodes), map_.left_out) for map_ in lane.maps] == [(16, 50)] * 3


def test_hostile_names_are_text() -> None:
    html = report(SMALL, table(4, name="<script>alert(1)</script>&$\\\\frac$"), None)
    assert "<script>alert(1)" not in html
    assert re.search(r"&lt;script&gt;alert\(1\)", html)
    Page(html)


def test_without_node_pairs_there_is_no_section() -> None:
    html = report(SMALL, table_of(), None)
    assert 'id="nodes"' not in html
    assert "#nodes" not in html
