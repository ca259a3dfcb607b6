# SPDX-License-Identifier: Apache-2.0
"""Curves over ranks, heat maps of scale x size, and the cost of sharing a node, on up to 16 scales."""

from functools import cache

import polars as pl
import pytest

from fabricbench.report.applications import RunView, applications
from fabricbench.report.collectives import ScalesView, scales_view
from fabricbench.report.facets import Point, ends_of_scales, lanes, panels
from fabricbench.report.figures import common_line
from fabricbench.report.over_ranks import lines_of
from fabricbench.report.page import report
from fabricbench.report.scale_map import scale_map
from fabricbench.report.style import lane_styles
from fabricbench.verdict.scaling import strong_scaling
from fabricbench.verdict.series import all_series
from fabricbench.verdict.sharing import sharing_costs
from report.html_page import Page
from report.synthetic import Shape, campaign
from report.synthetic_scales import LANE, SHARED, application, collectives, plogp
from verdict.synthetic_table import lane_rows, table_of

FEW_SIZES = (8, 1024, 2**20)
SMALL_TABLE = table_of(*plogp(), *collectives("allreduce", 4, FEW_SIZES), *collectives("alltoall", 4, FEW_SIZES))


def section(table: pl.DataFrame) -> ScalesView:
    return scales_view(all_series(table), lane_styles(lanes(table)), 0.95)


def run_of(table: pl.DataFrame) -> RunView:
    (one,) = applications(panels(table, 0.95), lane_styles(lanes(table)), all_series(table), 0.95)
    (run,) = one.runs
    return run


def test_the_ideal_speed_up_of_all_lanes_is_one_line() -> None:
    ideal, longer, other = (
        tuple(Point(ranks, factor * ranks, None, None, 0) for ranks in counts)
        for counts, factor in (((1, 2, 4), 1.0), ((2, 8), 1.0), ((1, 2), 1.5))
    )
    assert [point.size for point in common_line([ideal, longer])] == [1, 2, 4, 8]
    assert common_line([ideal, other]) == ()
    assert common_line([]) == ()


@pytest.mark.parametrize(
    ("scales", "lines"),
    [
        ({(1, 1), (1, 4), (1, 8)}, {(1, 1): 0, (1, 4): 0, (1, 8): 0}),
        ({(1, 8), (2, 2), (2, 16)}, {(1, 8): 8, (2, 2): 1, (2, 16): 8}),
        ({(2, 3), (2, 2)}, {(2, 3): 2, (2, 2): 1}),
    ],
)
def test_a_line_has_equally_many_ranks_on_each_node(
    scales: set[tuple[int, int]], lines: dict[tuple[int, int], int]
) -> None:
    assert lines_of(scales) == lines


def test_a_collective_has_a_panel_for_each_size_and_number_of_ranks_on_a_node() -> None:
    allreduce, alltoall = section(SMALL_TABLE).collectives
    assert (allreduce.group.title, alltoall.group.title) == ("allreduce, micro", "alltoall, micro")
    sizes = ("8\u202fB", "1\u202fKiB", "1\u202fMiB")
    assert [figure.caption for figure in allreduce.group.figures] == [
        f"Time in µs: {size}, {line}" for line in ("1 rank on each node", "8 ranks on each node") for size in sizes
    ]


def test_a_curve_stands_beside_the_time_that_loggp_gives() -> None:
    (allreduce, _) = section(SMALL_TABLE).collectives
    alone, *_, shared = allreduce.group.figures
    assert alone.numbers.columns == (LANE, f"{LANE}, model")
    assert [(ranks, [one.estimate for one in row]) for ranks, row in alone.numbers.rows] == [
        ("2", ["18.00", "12.00"]),
        ("4", ["36.00", "24.00"]),
    ]
    assert shared.numbers.columns == (LANE, SHARED, f"{LANE}, model")
    assert [ranks for ranks, _ in shared.numbers.rows] == ["8", "16", "32"]


def test_the_maps_are_relative_to_the_model_or_to_the_smallest_scale() -> None:
    (allreduce, _) = section(SMALL_TABLE).collectives
    assert [one.caption for one in allreduce.maps] == [
        f"{LANE}: time over the model’s",
        f"{SHARED}: time over that on 1x8",
        f"{LANE} over {SHARED}: cost of sharing a node",
    ]
    over_model, _, sharing = allreduce.maps
    assert "2x1: 1.50 to 1.50; 4x1: 1.50 to 1.50; 1x8: 1.50 to 1.50" in over_model.svg
    assert "1x8: 2.00 to 2.00; 2x8: 2.00 to 2.00; 4x8: 2.00 to 2.00" in sharing.svg


def test_a_map_of_many_sizes_keeps_the_largest() -> None:
    one = scale_map({(1, 2, "2x1", 2**power): float(power) for power in range(23)})
    assert one.columns == tuple(4**power for power in range(12))
    assert [square.value for square in one.squares] == [2.0 * power for power in range(12)]


def test_the_cost_of_sharing_a_node_is_paired_and_shown_on_the_largest_scale() -> None:
    table = table_of(
        *collectives("allreduce", 4, (8,)), *application(4), *application(4, SHARED, faster=1.25),
        lane_rows(LANE, [1.0] * 6, benchmark="allreduce", metric="time", msg_size_bytes=16, ranks=8),
    )  # fmt: skip
    rows = section(table).sharing
    assert [(row.what, row.lane, row.variant, row.scale, row.ratio.estimate) for row in rows] == [
        ("micro allreduce 8\u202fB", LANE, SHARED, "4x8", "2.000"),
        ("npb ft.C", LANE, SHARED, "4x8", "1.250"),
    ]
    costs = sharing_costs(all_series(table), 0.95)
    assert {cost.scale for cost in costs} == {"1x8", "2x8", "4x8"}


def test_speed_up_and_efficiency_are_against_the_smallest_scale() -> None:
    run = run_of(table_of(*application(4)))
    ((lane, rows),) = run.rows
    assert (lane, run.scaled) == (LANE, True)
    by_scale = {row.scale: (row.speed_up.estimate, row.efficiency.estimate) for row in rows}
    assert by_scale["1x1"] == ("–", "–")
    assert by_scale["2x1"] == ("1.800", "90.0\u202f%")
    assert by_scale["1x8"] == ("5.832", "72.9\u202f%")
    assert by_scale["4x8"] == ("18.90", "59.0\u202f%")
    assert run.limits == (f"{LANE}: efficiency at least 70 % up to 1x8, first below 70 % on 2x8.",)
    assert run.curves is not None
    assert [figure.caption for figure in run.curves.figures] == [
        f"{what}: {line}"
        for line in ("1 rank on each node", "8 ranks on each node")
        for what in ("Mop/s", "Speed-up", "Efficiency in %")
    ]
    assert run.curves.figures[1].numbers.columns == (LANE, f"{LANE}, ideal")


def test_scales_with_equally_many_ranks_are_separate_rows() -> None:
    columns = {"tool": "npb", "benchmark": "ft.C", "metric": "mops", "msg_size_bytes": None, "ranks": 8}
    rates = [lane_rows(LANE, [rate] * 6, nodes=nodes, **columns) for nodes, rate in ((1, 500.0), (8, 800.0))]
    ((_, rows),) = run_of(table_of(*rates)).rows
    assert [(row.scale, row.rate.estimate) for row in rows] == [("1x8", "500.0"), ("8x1", "800.0")]


def test_two_scales_have_no_curves() -> None:
    columns = {"tool": "npb", "benchmark": "ft.C", "metric": "mops", "msg_size_bytes": None}
    run = run_of(table_of(*(lane_rows(LANE, [rate] * 6, ranks=rate, **columns) for rate in (1, 2))))
    assert (run.curves, run.limits, run.scaled) == (None, (), True)


def test_figures_over_the_message_size_show_two_of_many_scales() -> None:
    """The smallest scale between nodes, and the largest."""
    measured = [panel for panel in panels(SMALL_TABLE, 0.95) if panel.facet.benchmark == "allreduce"]
    assert len(measured) == 5
    assert [(one.facet.nodes, one.facet.ranks) for one in ends_of_scales(measured)] == [(2, 2), (4, 32)]


@cache
def page_of_16_scales() -> tuple[str, Page]:
    table = table_of(
        *plogp(), *collectives("allreduce"), *collectives("alltoall"), *application(), *application(128, SHARED, 1.25),
    )  # fmt: skip
    assert len(strong_scaling(all_series(table), 0.95)) == 16 + 8
    html = report(campaign(Shape(blocks=0), skips=()), table, None)
    return html, Page(html)


def test_the_page_of_16_scales_is_readable() -> None:
    """Each section has a bounded number of figures, whatever the number of scales."""
    html, page = page_of_16_scales()
    assert len(page.ids) == len(set(page.ids))
    assert len(html) < 1_500_000
    figures = [one for one in page.ids if one.startswith("scales-") and "-map-" not in one and one[-1].isdigit()]
    assert len([one for one in figures if one.count("-") == 3]) == 2 * 6
    assert len([one for one in page.ids if one.startswith("family-collectives-") and one[-1].isdigit()]) >= 2 * 2
    assert "mpich@tcp over mpich@tcp:local-shm: cost of sharing a node" in page.text
    assert "efficiency at least 70 % up to 8x1" in page.text


def test_a_page_without_scales_has_no_section() -> None:
    html = report(campaign(Shape(blocks=1, collectives=("bcast",), faults=False)), table_of(), None)
    assert 'id="scales"' not in html
