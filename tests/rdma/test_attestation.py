# SPDX-License-Identifier: Apache-2.0
"""Real launches over RoCE and iWARP are attested; launches that only pretend to use them are not, with the reason."""

import pytest

from fabricbench.launch.record import Campaign, Record
from fabricbench.launch.table import table
from fabricbench.report.page import report
from rdma.lanes import LANES, REQUESTED, SIZES, USER_LEVEL


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


@pytest.mark.parametrize("lane", USER_LEVEL)
def test_a_user_level_library_is_attested_between_nodes(user_level: Campaign, lane: str) -> None:
    stack, _, fabric = lane.partition("@")
    records = launches(user_level, fabric, stack)
    assert [(record.state, record.reason) for record in records if record.rows] == [("ok", "")] * len(USER_LEVEL[lane])
    found = {(record.launch.tool, record.launch.nodes) for record in records if record.launch and record.rows}
    assert found == {(tool, 2) for tool in USER_LEVEL[lane]}


@pytest.mark.parametrize("lane", REQUESTED)
def test_kernels_of_a_requested_stack_are_attested(kernels: Campaign, lane: str) -> None:
    stack, _, fabric = lane.partition("@")
    records = {record.launch.benchmark: record for record in launches(kernels, fabric, stack) if record.launch}
    assert {name: (record.state, record.reason) for name, record in records.items()} == dict.fromkeys(
        ("is.S", "cg.S", "ft.S"), ("ok", "")
    )


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
