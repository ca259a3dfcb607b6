# SPDX-License-Identifier: Apache-2.0
"""Launches, skips and requirements of the NAS kernels from before the case ``code=own`` read as if they had it."""

from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.facts import Expected, Launch, SkippedLaunch, canonical_case
from fabricbench.site.cases import completed_case
from fabricbench.site.requirements_file import load_requirements
from support.launches import launch_of
from verdict.synthetic_table import entry

SKIP: dict[str, Any] = {
    "id": "b000 one@tcp npb cg.A np=2", "block": 0, "system": "local", "fabric": "tcp", "stack": "one", "tool": "npb",
    "benchmark": "cg.A", "reason": "no program", "expected": [{"benchmark": "cg.A", "case": "", "metric": "mops"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "case", "completed"),
    [
        ("npb", "", "code=own"),
        ("npb", "latency=5us", "code=own latency=5us"),
        ("npb", "call=MPI_Send", "call=MPI_Send code=own"),
        ("npb", "code=nasa", "code=nasa"),
        ("micro", "pairs=2", "pairs=2"),
    ],
)
def test_only_cases_of_npb_without_code_change(tool: str, case: str, completed: str) -> None:
    assert completed_case(tool, case) == completed
    assert completed_case(tool, completed) == completed


def test_launches_and_skips_of_earlier_versions() -> None:
    launch = launch_of("mpich-tcp-npb-cg")
    assert (canonical_case(launch.case), launch.id) == ("code=own", "b000 mpich@tcp npb cg.S np=2")
    assert Launch.model_validate_json(launch.model_dump_json()) == launch
    assert launch_of("mpich-tcp-nasa-cg").case == {"code": "nasa"}
    assert launch_of("mpich-tcp-imb-pt2pt-small").case == {}
    skip = SkippedLaunch.model_validate(SKIP)
    assert skip.expected == (Expected(benchmark="cg.A", case="code=own", metric="mops"),)
    assert SkippedLaunch.model_validate_json(skip.model_dump_json()) == skip


def test_a_malformed_case_stays_an_error() -> None:
    for field, value in (("expected", 3), ("expected", [{"case": 1}])):
        with pytest.raises(ValueError, match=field):
            SkippedLaunch.model_validate(SKIP | {field: value})


def test_requirements_that_name_the_case(tmp_path: Path) -> None:
    npb = {"tool": "npb", "benchmark": "cg.A", "metric": "mops"}
    file = tmp_path / "requirements.yaml"
    ratio = entry("ratio", "at_least: 1", 'case: "code=nasa"', case='""', **npb)
    back = entry("back", "at_most: 1", 'case: ""', case='"code=nasa"', **npb)
    file.write_text(f"schema: 1\nrequirements:\n{ratio}{back}{entry('micro', case='pairs=2')}")
    own, nasa, micro = load_requirements(file).items
    assert (own.many["case"], own.relative_to) == (("code=own",), {"case": "code=nasa"})
    assert (nasa.many["case"], nasa.relative_to) == (("code=nasa",), {"case": "code=own"})
    assert micro.many["case"] == ("pairs=2",)
