# SPDX-License-Identifier: Apache-2.0
"""The section of attributions: parts, efficiencies and differences of synthetic runs, in a well-formed page."""

import re
from functools import cache

import numpy as np
import pytest

from fabricbench.launch.table import table
from fabricbench.report.attribution import AttributionView, attribution_views
from fabricbench.report.attribution_changes import Waterfall, waterfall_svg
from fabricbench.report.attribution_figures import MOST_RANKS, ShareBar, Strip, extent, ranks_svg, shares_svg, stacked
from fabricbench.report.page import _figures, report
from fabricbench.stats.interval import Interval
from fabricbench.verdict.attribution_pairs import first_pairs
from fabricbench.verdict.curves import FOR_ATTRIBUTION
from report.html_page import Page
from report.test_profiles import campaign_of
from verdict.synthetic_attributions import Attributed, attributions_of
from verdict.synthetic_profiles import Profiled
from verdict.synthetic_table import lane_rows, table_of

OVERLAP = {"computation": 0.8, "latency": 0.05, "bandwidth": 0.3, "waiting": 0.05, "rest": -0.2}
UNDIVIDED = OVERLAP | {"waiting": 0.0, "undivided": 0.05}
SHM = Attributed("openmpi@shm", seconds=(1.0, 1.01, 0.99, 1.02, 0.98, 1.0), shares=OVERLAP, label="compute")
TCP = Attributed("openmpi@tcp", notes=("extrapolated beyond the largest measured size: up to 6 % of the time",))
LACKING = Attributed(
    "mpich@shm",
    missing=(
        ("alltoall", "fabricbench run --check CurveCollective"),
        ("bcast", "fabricbench run --check CurveCollective"),
    ),
)
MANY = tuple(
    Attributed(
        f"{stack}@{fabric}", "cg.A", 64, skew=0.5, label="", shares=OVERLAP | {"waiting": 0.0, "undivided": 0.05}
    )
    for fabric in ("shm", "tcp")
    for stack in ("impi", "mpich", "openmpi")
)
REFUSED = {"mpich@tcp": "not used: dilation above 10 %"}


def views_of(*runs: Attributed, refused: dict[str, str] | None = None) -> list[AttributionView]:
    return attribution_views(attributions_of(*runs, refused=refused), 0.95)


def html_of(*runs: Attributed, refused: dict[str, str] | None = None) -> str:
    campaign = campaign_of(Profiled())
    found = attributions_of(*runs, refused=refused)
    return report(campaign, table(campaign.records), None, attributions=found)


@cache
def page() -> str:
    return html_of(SHM, TCP, LACKING, *MANY, refused=REFUSED)


def test_the_section_is_well_formed_and_accessible() -> None:
    parsed = Page(page())
    names = {"attribution", "attribution-is.b-2-ranks-on-1-node", "attribution-cg.a-64-ranks-on-1-node"}
    assert names <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert all(b - a <= 1 for a, b in zip(parsed.headings, parsed.headings[1:], strict=False))
    for picture in parsed.all("svg"):
        labels = picture.get("aria-labelledby", "").split()
        assert picture.get("aria-hidden") == "true" or (labels and set(labels) <= set(parsed.ids))
    assert {"href": "#attribution"} in parsed.all("a")
    assert not re.search(r"\b(NaN|nan|inf)\b|>None<|https?://", page())


def test_the_same_attributions_give_the_same_bytes() -> None:
    assert html_of(SHM, TCP, LACKING, *MANY, refused=REFUSED) == page()


def test_a_campaign_without_attributions_has_no_section() -> None:
    assert 'id="attribution"' not in html_of()


def test_the_numbers_of_a_lane() -> None:
    (view,) = views_of(TCP)
    (row,) = view.rows
    assert (row.seconds.estimate, row.seconds.interval) == ("2.00\u202fs", "1.98\u202fs to 2.02\u202fs")
    assert row.mpi.estimate == "61.0\u202f%"
    assert row.closing_error.interval == "0.400\u202f% to 0.900\u202f%"
    assert row.dilation.estimate == "1.01"
    assert (row.label, row.blocks, row.agreement) == ("bandwidth", 6, "timers 6 of 6")
    assert "61 % of the run is MPI" in row.sentence
    assert TCP.notes[0] in Page(page()).text


def test_too_few_blocks_have_no_interval() -> None:
    (view,) = views_of(Attributed(seconds=(1.0,) * 5))
    assert (view.rows[0].mpi.estimate, view.rows[0].mpi.interval) == ("61.0\u202f%", "")
    assert all(cell is not None and not cell.number.interval for _, cells in view.efficiencies for cell in cells)


def test_lacking_curves_are_named_once_with_their_command() -> None:
    view = views_of(TCP, LACKING)[0]
    (missing,) = view.missing
    assert (missing.lanes, missing.curves) == ("mpich@shm", "alltoall and bcast")
    assert missing.command == "fabricbench run --check CurveCollective"
    assert [row.lane for row in view.rows] == ["openmpi@tcp"]


def test_refused_profiles_are_named_with_their_reason() -> None:
    view = views_of(refused=REFUSED)[0]
    assert view.refused == (("mpich@tcp", "not used: dilation above 10 %"),)
    text = Page(html_of(refused=REFUSED)).text
    assert "mpich@tcp: not attributed: not used: dilation above 10 %" in text
    assert "Efficiencies" not in text


def test_an_efficiency_is_marked_only_if_its_whole_interval_is_below_the_limit() -> None:
    views = views_of(SHM, TCP)
    cells = {lane: cells[0] for lane, cells in views[0].efficiencies}
    below = {lane: cell.below for lane, cell in cells.items() if cell}
    assert below == {"openmpi@shm": False, "openmpi@tcp": True}
    assert page().count('class="below"') >= 1


def test_a_negative_part_is_drawn_left_of_zero_in_full() -> None:
    assert list(stacked(OVERLAP))[-1] == ("rest", 0.0, -0.2)
    assert [start for _, start, _ in stacked(OVERLAP)][:4] == pytest.approx([0.0, 0.8, 0.85, 1.15])
    low, high = extent([list(OVERLAP.values())])
    assert low <= -0.2
    assert high == pytest.approx(1.2)
    drawn = shares_svg([ShareBar("openmpi@shm", 1.0, OVERLAP)], "k", "title")
    assert "\u221220" in drawn
    assert "rest \u221220.0\u202f%" in drawn


@pytest.mark.parametrize("count", [1, 2, 64, MOST_RANKS, 1024])
def test_strips_of_any_number_of_ranks(count: int) -> None:
    shares = {**OVERLAP, "undivided": 0.0}
    strip = Strip("openmpi@tcp", {name: np.full(count, share) for name, share in shares.items()})
    drawn = ranks_svg([strip, strip], "k", "title")
    assert ("% of the ranks" in drawn) == (count > MOST_RANKS)
    assert len(drawn) < 120_000


def test_a_waterfall_has_every_part_and_both_lanes() -> None:
    view = views_of(SHM, TCP)[0]
    (figure,) = view.waterfalls
    assert figure.caption.startswith("openmpi@tcp minus openmpi@shm: ")
    assert figure.caption.endswith("of the difference is explained")
    for name in ("computation", "latency", "bandwidth", "waiting", "rest"):
        assert f">{name}<" in figure.svg or f"\u200b{name}<" in figure.svg
    assert "openmpi@shm: 1.00 s; computation \u22120.0" in figure.svg


def test_a_waterfall_writes_signs_and_intervals() -> None:
    steps = (("latency", Interval(0.25, 0.2, 0.3, 0.97, 6)), ("rest", Interval(-0.1, None, None, None, 1)))
    drawn = waterfall_svg(Waterfall("a", "b", 1.0, 1.15, steps), "k", "title")
    assert "+0.250 [+0.200, +0.300]" in drawn
    assert ">\u22120.100<" in drawn


def test_pairs_are_the_fabrics_of_a_stack_with_the_largest_ratio_first() -> None:
    slow = Attributed("mpich@tcp", seconds=(5.0,) * 6)
    fast = Attributed("mpich@shm", seconds=(1.0,) * 6)
    pairs = first_pairs([one.attribution for one in (SHM, TCP, slow, fast)])
    names = [(one.key.lane.name, other.key.lane.name) for one, other in pairs]
    assert names == [("mpich@tcp", "mpich@shm"), ("openmpi@tcp", "openmpi@shm")]


def test_pairs_of_stacks_on_one_fabric_start_from_the_fastest() -> None:
    runs = [Attributed(f"{stack}@tcp", seconds=(time,) * 6) for stack, time in (("a", 2.0), ("b", 1.0), ("c", 3.0))]
    names = [(one.key.stack, other.key.stack) for one, other in first_pairs([one.attribution for one in runs])]
    assert names == [("c", "b"), ("a", "b")]
    assert first_pairs([TCP.attribution]) == []


def test_at_most_three_differences_are_drawn() -> None:
    assert len(views_of(*MANY)[0].waterfalls) <= 3


def test_names_and_texts_are_escaped() -> None:
    hostile = Attributed("<b>&@tcp", "<i>", notes=("<script>alert(1)</script>",))
    lacking = Attributed("<u>@tcp", "<i>", missing=(("<s>", "<em>rm"),))
    html = html_of(hostile, lacking, Attributed("<b>&@shm\x1b[1m\x00", "<i>"), refused={"<q>@x": "<del>"})
    assert not re.search(r"<b>&@|<i>|<s>|<u>|<script>alert|<em>rm|<q>|<del>", html)
    Page(html)


def test_curves_for_attributions_are_in_no_figure() -> None:
    rows = table_of(
        lane_rows("mpich@tcp", [5.0] * 6, benchmark="allreduce", metric="time", msg_size_bytes=8),
        lane_rows("mpich@tcp", [7.0] * 6, benchmark="allreduce", metric="time", msg_size_bytes=8, case=FOR_ATTRIBUTION),
    )
    shown = str(_figures(rows, 0.05))
    assert "5.00" in shown or "5 us" in shown
    assert FOR_ATTRIBUTION not in shown
