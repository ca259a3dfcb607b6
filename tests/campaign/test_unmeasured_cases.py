# SPDX-License-Identifier: Apache-2.0
"""Lists the planned rows that a campaign did not measure: from skips, skipped sizes and the list of cases."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.campaign.write import create, read_planned, write_planned
from fabricbench.errors import BadInput
from fabricbench.launch.case import Case
from fabricbench.launch.record import Unmeasured
from support.launches import PT2PT, add_launch, add_skip

ROWS = [{"benchmark": "pingpong", "case": "", "metric": "latency", "msg_sizes_bytes": [8, 16]}]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign with one launch: IMB on mpich@tcp."""
    path = tmp_path / "campaign"
    create(path, site=tmp_path / "local", tier="quick", seed=3)
    add_launch(path, PT2PT, "b000.s00/local/tcp/mpich/ImbPointToPoint_0")
    return path


def unmeasured(campaign: Path) -> tuple[Unmeasured, ...]:
    return read_campaign(campaign).unmeasured


def test_a_skip_is_read_once_with_its_rows(campaign: Path) -> None:
    add_skip(campaign, "b000.s00/local/tcp/openmpi/Imb_0", expected=ROWS, ranks=2, nodes=1)
    add_skip(
        campaign, "b001.s00/local/tcp/openmpi/Imb_0", expected=ROWS, ranks=2, nodes=1, block=1, reason="still none"
    )
    (skip,) = unmeasured(campaign)
    assert (skip.stack, skip.ranks, skip.nodes, skip.reason, skip.hint) == ("openmpi", 2, 1, "no IMB", "install it")
    assert skip.expected is not None
    assert skip.expected[0].msg_sizes_bytes == (8, 16)


def test_the_checks_of_a_family_keep_their_rows_in_one_skip(campaign: Path) -> None:
    for number, metric in enumerate(("latency", "bandwidth")):
        rows = [ROWS[0] | {"metric": metric}]
        add_skip(campaign, f"b000.s00/local/tcp/openmpi/Osu_{number}", tool="osu", expected=rows, messages=None)
    assert len(read_campaign(campaign).skips) == 1
    assert {row.metric for skip in unmeasured(campaign) for row in skip.expected or ()} == {"latency", "bandwidth"}


def test_a_skip_recorded_before_skips_had_rows_is_read(campaign: Path) -> None:
    add_skip(campaign, "b000.s00/local/tcp/openmpi/Imb_0")
    (skip,) = unmeasured(campaign)
    assert (skip.benchmark, skip.expected, skip.applies) == ("pt2pt", None, True)


def test_a_size_that_a_launch_left_out_has_the_metrics_of_its_other_sizes(campaign: Path) -> None:
    excluded = {"msg_sizes_bytes": [1 << 30], "reason": "too large"}
    add_launch(
        campaign,
        PT2PT,
        "b000.s00/local/tcp/impi/Micro_0",
        stack="impi",
        left_out=excluded,
        benchmark="pingpong",
        expected=ROWS,
    )
    (skip,) = unmeasured(campaign)
    assert (skip.stack, skip.reason) == ("impi", "too large")
    assert [(row.metric, row.msg_sizes_bytes) for row in skip.expected or ()] == [("latency", (1 << 30,))]


def test_a_planned_case_without_launch_and_skip_has_the_rows_of_its_check_elsewhere(campaign: Path) -> None:
    assert unmeasured(campaign) == ()
    cases = [Case("ImbPointToPoint_0", "tcp", stack) for stack in ("mpich", "openmpi")]
    write_planned(campaign, cases)
    (skip,) = unmeasured(campaign)
    assert (skip.stack, skip.fabric, skip.tool) == ("openmpi", "tcp", "imb")
    assert "neither a launch nor a skip" in skip.reason
    assert "fabricbench run" in skip.hint
    assert {row.benchmark for row in skip.expected or ()} == {"pingpong", "sendrecv", "exchange"}
    write_planned(campaign, [Case("Other_1", "tcp", "mpich")])
    assert [(item.tool, item.expected) for item in unmeasured(campaign)][-1] == ("", None)
    assert len(read_planned(campaign)) == 3


def test_a_launch_that_cannot_be_read_is_known_by_its_place(campaign: Path) -> None:
    damaged = add_launch(campaign, PT2PT, "b000.s00/local/tcp/openmpi/ImbPointToPoint_0")
    (damaged / "launch.json").write_text("{")
    (skip,) = unmeasured(campaign)
    assert (skip.stack, skip.tool, skip.reason) == ("openmpi", "imb", "its launch cannot be read")


def test_a_chosen_lane_without_launches_and_skips(campaign: Path) -> None:
    facts = json.loads((campaign / "campaign.json").read_text())
    (campaign / "campaign.json").write_text(json.dumps(facts | {"lanes": ["mpich@tcp", "impi@tcp"]}))
    (skip,) = unmeasured(campaign)
    assert (skip.stack, skip.fabric, skip.tool, skip.expected) == ("impi", "tcp", "", None)
    assert "impi@tcp" in skip.reason


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cases": [["a", "b"]]}', '{"cases": 5}', "[" * 100_000])
def test_an_invalid_list_of_cases_is_bad_input(campaign: Path, content: str) -> None:
    (campaign / "planned.json").write_text(content)
    with pytest.raises(BadInput, match=r"planned\.json: not a list of test cases"):
        read_campaign(campaign)
