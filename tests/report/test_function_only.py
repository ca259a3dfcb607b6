# SPDX-License-Identifier: Apache-2.0
"""Every figure of a report shows which lanes show function and no timing."""

import re
from dataclasses import replace

from fabricbench.launch.record import Campaign
from fabricbench.launch.table import table
from fabricbench.report.lane_curves import lane_curves_svg
from fabricbench.report.page import report
from report.synthetic import Shape, campaign

SHAPE = Shape(lanes=(("impi", "shm", ""), ("mpich", "tcp", "")), collectives=("bcast",))
REASON = "the machines are emulated"


def function_only(*fabrics: str) -> Campaign:
    """A campaign whose lanes on these fabrics show function only."""
    example = campaign(replace(SHAPE))
    records = tuple(
        record.model_copy(update={"launch": record.launch.model_copy(update={"function_only": REASON})})
        if record.launch and record.launch.fabric in fabrics
        else record
        for record in example.records
    )
    return example.model_copy(update={"records": records})


def page(example: Campaign) -> str:
    return report(example, table(example.records), None)


def test_every_figure_shows_it() -> None:
    for fabrics, names in ((("tcp",), "mpich@tcp"), (("shm", "tcp"), "all lanes")):
        html = page(function_only(*fabrics))
        figures = re.findall(r"<figure.*?</figure>", html, re.S)
        assert len(figures) > 4
        assert [figure for figure in figures if f"function, no timing ({names})" not in figure] == []
        assert f"This campaign shows function, no timing ({names}): {REASON}." in html


def test_other_campaigns_do_not_show_it() -> None:
    assert "no timing" not in page(function_only())


def test_the_picture_has_a_note() -> None:
    frame = table(function_only("tcp").records)
    assert lane_curves_svg(frame, note="function, no timing") != lane_curves_svg(frame)
