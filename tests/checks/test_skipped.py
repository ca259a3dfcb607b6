# SPDX-License-Identifier: Apache-2.0
"""The record of a skip lists the rows that the launch would have measured."""

import json
from pathlib import Path

import pytest

from fabricbench.launch.facts import SkippedLaunch
from fabricbench.launch.session import FORECAST
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

CHECKS = ("-c", str(REPOSITORY / "reframe_checks"))


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def skips(site: FakeSite, *arguments: str) -> list[SkippedLaunch]:
    """Returns the skips of a dry run, which writes the same facts as a run and is quicker."""
    campaign = site.root / "campaign"
    site.reframe(*CHECKS, "--dry-run", *arguments, FABRICBENCH_CAMPAIGN=str(campaign), **{FORECAST: "1"})
    files = campaign.glob("launches/*/*/*/*/*/skipped.json")
    return [SkippedLaunch.model_validate(json.loads(file.read_text())) for file in files]


def test_every_check_lists_its_rows_for_a_stack_that_is_not_set_up(site: FakeSite) -> None:
    (site.stack("two") / "stack.json").unlink()
    records = skips(site, "-p", "two")
    assert len(records) > 200
    assert {skip.reason for skip in records} == {"the stack two is not set up on this machine"}
    for skip in records:
        assert skip.expected or skip.benchmark.startswith(("gromacs", "wireup")), skip.id
        assert skip.ranks, skip.id
        assert all(row.case is not None for row in skip.expected or ()), skip.id
    pingpong = [
        skip for skip in records if (skip.tool, skip.benchmark, skip.messages) == ("micro", "pingpong", "small")
    ]
    (skip,) = pingpong
    rows = {(row.benchmark, row.metric): row.msg_sizes_bytes for row in skip.expected or ()}
    assert rows["pingpong", "latency"] is not None
    assert rows["pingpong", "latency"][:3] == (0, 1, 2)
    assert (skip.ranks, skip.nodes, skip.applies) == (2, 1, True)


def test_checks_of_several_ports_do_not_apply_to_a_fabric_with_one(site: FakeSite) -> None:
    records = skips(site, "-p", "one", "-n", "^RailsPingpong|^PairLatency|^ImbBarrier")
    assert {(skip.tool, skip.benchmark): skip.applies for skip in records} == {
        ("micro", "rails"): False,
        ("micro", "pairs"): False,
        ("imb", "barrier"): True,
    }
    assert {row.benchmark for skip in records for row in skip.expected or ()} == {"pingpong", "pair_latency", "barrier"}


def test_a_launch_without_message_sizes_is_skipped(site: FakeSite) -> None:
    checks = "^(MicroPingpong|MicroCollective%.*collective=bcast|ImbPointToPoint|FiPingpong)"
    records = skips(site, "-p", "one|libfabric", "-n", checks, "-S", "largest_bytes=1024")
    reason = "no message size above 16384 B from {} to 1024 B"
    large = {(skip.benchmark, skip.reason) for skip in records if skip.messages == "large"}
    assert ("pingpong", reason.format(1)) in large
    assert ("bcast", reason.format(4)) in large
    assert {skip.messages for skip in records if skip.reason.startswith("no message size")} == {"large"}
    assert all(row.msg_sizes_bytes == () for skip in records for row in skip.expected or () if skip.messages == "large")


def test_sizes_that_do_not_fit_are_rows_of_the_skip(site: FakeSite) -> None:
    site.change_fabric("nodes=Nodes(memory_bytes=1)")
    records = skips(site, "-p", "one", "-n", "^MicroCollective")
    sizes = {
        skip.messages: row.msg_sizes_bytes for skip in records for row in skip.expected or () if row.metric == "time"
    }
    assert sizes["large"] == tuple(2**power for power in range(15, 21))
    assert sizes["small"] is not None
    assert set(sizes["small"]) == {0, *(2**power for power in range(2, 15))}
