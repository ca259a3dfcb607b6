# SPDX-License-Identifier: Apache-2.0
"""Comparisons name the lanes whose NAS kernels were built for different processors."""

from pathlib import Path

import pytest

from fabricbench.launch.record import Record
from fabricbench.site.targets import LEVELS, Target
from fabricbench.verdict.built_for import different_targets
from fabricbench.verdict.judge import judge
from fabricbench.verdict.result import CampaignContext
from support.launches import launch_of
from verdict.synthetic_table import entry, facts, lane_rows, requirements, table_of

V2, V3 = (Target(name=name, instructions=LEVELS[name]) for name in ("x86-64-v2", "x86-64-v3"))


def record(stack: str, target: Target | None, *, nasa: bool = False) -> Record:
    name = "mpich-tcp-nasa-cg" if nasa else "mpich-tcp-npb-cg"
    launch = launch_of(name, stack=stack, target=target)
    return Record(directory=stack, launch=launch, state="ok")


@pytest.mark.parametrize(
    "records",
    [
        [record("a", V3), record("b", V3)],
        [record("a", V3), record("b", None)],
        [record("a", V3), record("c", V2)],
        [record("a", V3), record("b", V3), record("a", V2, nasa=True), record("b", V2, nasa=True)],
    ],
)
def test_lanes_that_may_be_compared(records: list[Record]) -> None:
    assert different_targets(records, "a@tcp", "b@tcp") == ""


def test_lanes_of_different_targets() -> None:
    text = different_targets([record("a", V3), record("b", V2)], "a@tcp", "b@tcp")
    assert text.startswith("built for different processors: own kernels of b@tcp for x86-64-v2; own kernels of a@tcp f")
    assert text.endswith("their computation times differ for that reason too")


def test_a_verdict_about_both_lanes_has_a_note(tmp_path: Path) -> None:
    place = {"tool": "npb", "benchmark": "cg.A", "metric": "mops", "msg_size_bytes": None, "case": "code=own"}
    table = table_of(lane_rows("a@tcp", [2.0] * 8, **place), lane_rows("b@tcp", [1.0] * 8, **place))
    npb = {"tool": "npb", "benchmark": "cg.A", "metric": "mops", "stack": "a"}
    rules = requirements(tmp_path, entry("ratio", "at_least: 1", "stack: b", **npb))
    names = {lane: [f"launches/b{block:02d}-npb-cg.A-{lane}" for block in range(8)] for lane in ("a@tcp", "b@tcp")}
    note = "built for different processors: x86-64-v2 and x86-64-v3"
    for other, notes in (("x86-64-v2", (note,)), ("x86-64-v3", ())):
        targets = dict.fromkeys(names["a@tcp"], "x86-64-v3") | dict.fromkeys(names["b@tcp"], other)
        (cell,) = judge(table, rules, facts(8), CampaignContext(targets=targets)).cells
        assert cell.notes == notes


def test_both_codes_of_a_campaign() -> None:
    text = different_targets([record("a", V3), record("a", V2, nasa=True)])
    assert "NASA's programs of a@tcp for x86-64-v2; own kernels of a@tcp for x86-64-v3" in text
