# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes: a gap where there is one node, else all pairs of four ranks, attested."""

from pathlib import Path

import pytest

from fabricbench.core.launch import case_parts
from fabricbench.core.record import Campaign
from fabricbench.parsers.campaign import read_campaign
from support import fake_site
from support.fake_site import FakeSite
from support.micro import stack


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def run(site: FakeSite, *arguments: str) -> Campaign:
    chosen = {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign")}
    done = site.reframe("-c", "reframe_checks", "-n", "^Pair", *arguments, "-r", **chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_campaign(site.root / "campaign")


def test_one_node_is_one_gap_per_lane(site: FakeSite) -> None:
    campaign = run(site)
    assert [(gap.lane, gap.benchmark, gap.reason) for gap in campaign.gaps] == [
        (f"{name}@shm", "pairs", "a single node has no pairs") for name in ("one", "two")
    ]


def test_every_pair_of_four_is_measured_and_attested(site: FakeSite) -> None:
    """Four real ranks on this machine stand for four nodes."""
    real = stack("mpich")
    for name, program in (("apps", "fabricbench-micro"), ("prefix", "mpirun")):
        fake = site.stack("one") / name / "bin" / program
        fake.write_text(f'#!/bin/sh\nexec {getattr(real, name)}/bin/{program} "$@"\n')
    site.settings.write_text(site.settings.read_text().replace("site=SITE)]", "site=SITE, nodes=4)]"))
    campaign = run(site, "-p", "^one$", "-S", "PairBandwidth.msg_size_bytes=65536", "-S", "iterations=3")
    records = {r.launch.benchmark: r for r in campaign.records if r.launch and r.launch.mode == "timed"}
    assert {name: (record.state, record.reason) for name, record in records.items()} == {
        "pair_latency": ("ok", ""), "pair_bandwidth": ("ok", ""),
    }  # fmt: skip
    for name, pairs in (("pair_latency", 6), ("pair_bandwidth", 24)):
        record = records[name]
        assert record.launch is not None
        assert (record.launch.ranks, record.launch.nodes) == (4, 4)
        assert {"--rounds", "3", "--block", "0"} <= set(record.launch.argv)
        cases = [case_parts(row.case) for row in record.rows]
        named = [case for case in cases if "from" in case]
        assert len(named) == pairs
        ranks = {case[end].rpartition(".")[2] for case in named for end in ("from", "to")}
        assert ranks == {"0", "1", "2", "3"}, "ranks on one node have its name and their number"
    rounds = [case_parts(r.case)["round"] for r in records["pair_bandwidth"].rows if "round" in case_parts(r.case)]
    assert sorted(rounds) == ["0", "0", "1", "1", "2", "2"]
