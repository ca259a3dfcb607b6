# SPDX-License-Identifier: Apache-2.0
"""Every check says in its gap which rows it would have measured, whatever is missing."""

import json
from pathlib import Path

import pytest

from fabricbench.launch.facts import Gap
from fabricbench.site.settings import FORECAST
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

CHECKS = ("-c", str(REPOSITORY / "reframe_checks"))


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def gaps(site: FakeSite, *arguments: str) -> list[Gap]:
    """The gaps of a dry run, which leaves the same facts as a run and is quicker."""
    campaign = site.root / "campaign"
    site.reframe(*CHECKS, "--dry-run", *arguments, FABRICBENCH_CAMPAIGN=str(campaign), **{FORECAST: "1"})
    files = campaign.glob("launches/*/*/*/*/*/gap.json")
    return [Gap.model_validate(json.loads(file.read_text())) for file in files]


def test_on_a_stack_that_is_not_set_up_every_check_names_its_rows(site: FakeSite) -> None:
    (site.stack("two") / "stack.json").unlink()
    found = gaps(site, "-p", "two")
    assert len(found) > 200
    assert {gap.reason for gap in found} == {"the stack two is not set up on this machine"}
    for gap in found:
        assert gap.expected or gap.benchmark.startswith(("gromacs", "wireup")), gap.id
        assert gap.ranks, gap.id
        assert all(row.case is not None for row in gap.expected or ()), gap.id
    pingpong = [gap for gap in found if (gap.tool, gap.benchmark, gap.messages) == ("micro", "pingpong", "small")]
    (gap,) = pingpong
    rows = {(row.benchmark, row.metric): row.msg_sizes_bytes for row in gap.expected or ()}
    assert rows["pingpong", "latency"] is not None
    assert rows["pingpong", "latency"][:3] == (0, 1, 2)
    assert (gap.ranks, gap.nodes, gap.applies) == (2, 1, True)


def test_a_fabric_of_one_port_has_nothing_for_several(site: FakeSite) -> None:
    found = gaps(site, "-p", "one", "-n", "^RailsPingpong|^PairLatency|^ImbBarrier")
    assert {(gap.tool, gap.benchmark): gap.applies for gap in found} == {
        ("micro", "rails"): False,
        ("micro", "pairs"): False,
        ("imb", "barrier"): True,
    }
    assert {row.benchmark for gap in found for row in gap.expected or ()} == {"pingpong", "pair_latency", "barrier"}


def test_sizes_that_no_node_holds_are_rows_of_the_gap(site: FakeSite) -> None:
    settings = site.settings
    settings.write_text(settings.read_text().replace('transport="shm",', 'transport="shm", memory_bytes=1,'))
    found = gaps(site, "-p", "one", "-n", "^MicroCollective")
    sizes = {gap.messages: row.msg_sizes_bytes for gap in found for row in gap.expected or () if row.metric == "time"}
    assert sizes["large"] == tuple(2**power for power in range(15, 21))
    assert sizes["small"] is not None
    assert set(sizes["small"]) == {0, *(2**power for power in range(2, 15))}
