# SPDX-License-Identifier: Apache-2.0
"""The section of sensitivities: slopes of synthetic applications, in a well-formed page."""

import re
from dataclasses import dataclass

import pytest

from fabricbench.launch.table import table
from fabricbench.report.page import report
from fabricbench.report.sensitivity import SensitivityView, sensitivity_views
from fabricbench.stats.interval import Interval
from fabricbench.verdict.series import CellKey
from report.html_page import Page
from report.test_profiles import campaign_of
from verdict.synthetic_profiles import Profiled

NONE = Interval(None, None, None, None, 0)


def around(value: float) -> Interval:
    return Interval(value, 0.9 * value, 1.1 * value, 0.97, 6, 1)


SECONDS, MESSAGES, PERCENT, EFFICIENCY = around(1.5), around(13500.0), around(0.9), around(0.8)


@dataclass(frozen=True)
class Known:
    """What the report needs of a sensitivity."""

    key: CellKey
    kind: str = "latency"
    levels: tuple[float, ...] = (0.0, 5.0, 10.0, 20.0)
    run_time: Interval = SECONDS
    slope: Interval = MESSAGES
    relative: Interval = PERCENT
    transfer_efficiency: Interval = EFFICIENCY
    reason: str = ""
    notes: tuple[str, ...] = ()


def key_of(stack: str = "openmpi", fabric: str = "tcp", benchmark: str = "villin") -> CellKey:
    return CellKey("local", stack, fabric, "", "gromacs", benchmark, "", "run_time", None, 2, 1)


def view_of(*found: Known) -> SensitivityView:
    (view,) = sensitivity_views(found, 0.95)
    return view


def html_of(*found: Known) -> str:
    campaign = campaign_of(Profiled())
    return report(campaign, table(campaign.records), None, sensitivities=found)


def test_the_loss_per_microsecond_is_a_sentence_and_a_row() -> None:
    view = view_of(Known(key_of()), Known(key_of(fabric="shm"), relative=around(0.02)))
    row, other = view.rows
    assert row.sentence == "openmpi@tcp loses 0.90 % per added µs"
    assert (row.relative.estimate, row.relative.interval) == ("0.900", "0.810 to 0.990")
    assert (row.slope.estimate, row.levels) == ("13\u202f500", "0, 5, 10, 20")
    assert other.sentence == "openmpi@shm loses 0.020 % per added µs"
    assert "openmpi@shm: 0.0200 % of the run time per µs" in view.svg


def test_without_a_slope_the_reason_is_given() -> None:
    reason = "61 % of the time in MPI is in collectives, in which nothing is injected: delay the link"
    view = view_of(Known(key_of(), slope=NONE, relative=NONE, transfer_efficiency=NONE, reason=reason))
    assert (view.svg, view.rows[0].sentence, view.rows[0].notes) == ("", "", (reason,))


@pytest.mark.parametrize(("kind", "unit"), [("latency", "µs"), ("per_byte", "ns per byte"), ("overhead", "µs")])
def test_each_kind_of_delay_has_a_unit_and_a_view(kind: str, unit: str) -> None:
    views = sensitivity_views([Known(key_of(), kind=kind), Known(key_of(benchmark="lzm"), kind=kind)], 0.95)
    assert [view.unit for view in views] == [unit, unit]
    assert len({view.anchor for view in views}) == 2


def test_the_section_is_well_formed() -> None:
    html = html_of(Known(key_of()), Known(key_of("mpich"), notes=("no profile",)), Known(key_of(), kind="per_byte"))
    parsed = Page(html)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {"href": "#sensitivity"} in parsed.all("a")
    assert "mpich@tcp: no profile" in parsed.text
    assert not re.search(r"\b(NaN|nan|inf)\b|>None<", html)


def test_a_campaign_without_injected_launches_has_no_section() -> None:
    assert 'id="sensitivity"' not in html_of()


def test_names_are_escaped() -> None:
    html = html_of(Known(key_of("<b>", benchmark="<i>"), notes=("<s>",), reason="<u>"))
    assert not re.search(r"<b>@|<i>|<s>|<u>", html)
    Page(html)
