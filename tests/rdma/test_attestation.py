# SPDX-License-Identifier: Apache-2.0
"""Real launches over RoCE and iWARP are attested; launches that only pretend to use them are not, with the reason."""

import pytest

from fabricbench.launch.record import Campaign, Record
from fabricbench.launch.table import table
from fabricbench.report.page import report
from rdma.lanes import LANES, SIZES


def launches(campaign: Campaign, fabric: str, stack: str = "") -> list[Record]:
    """Returns the timed launches of a fabric of one stack or of all."""
    return [
        record
        for record in campaign.records
        if record.launch
        and record.launch.mode == "timed"
        and record.launch.fabric == fabric
        and stack in ("", record.launch.stack)
    ]


@pytest.mark.parametrize("lane", LANES)
def test_a_lane_is_attested(campaign: Campaign, lane: str) -> None:
    stack, _, fabric = lane.partition("@")
    records = launches(campaign, fabric, stack)
    assert len(records) == 2
    assert [(record.state, record.reason) for record in records] == [("ok", "")] * 2
    assert {row.msg_size_bytes for record in records for row in record.rows} == {*SIZES}


@pytest.mark.parametrize(
    ("fabric", "state", "reason"),
    [
        ("not-rdma", "refuted", "more than wire-up accounts for"),
        ("not-iwarp", "refuted", "which the fabric does not declare"),
        ("other-adapter", "refuted", "only 0.0% of the payload was on the ports of the fabric: eth1"),
        ("no-counters", "unknown", "ports=['eth2'] in the site's settings.py"),
        ("one-node", "unknown", "rxe0:1 sent "),
        ("adapters-open", "unknown", "UCX_MODULES=^ib,rdmacm"),
    ],
)
def test_wrong_settings_are_reported(controls: Campaign, fabric: str, state: str, reason: str) -> None:
    (record,) = launches(controls, fabric)
    assert record.state == state, record.reason
    assert reason in record.reason


def test_the_report_shows_function_and_no_timing(campaign: Campaign) -> None:
    page = report(campaign, table(campaign.records), None)
    assert page.count("function, no timing (all lanes)") > page.count("<figure")
