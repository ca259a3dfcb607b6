# SPDX-License-Identifier: Apache-2.0
"""Tests the node pair benchmarks: skipped on one node, attested for all pairs of four ranks, and a slow node named."""

import json
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.facts import case_parts
from fabricbench.launch.record import Campaign
from support import fake_site
from support.fake_site import FakeSite
from support.micro import stack


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def run(site: FakeSite, *arguments: str, check: str = "^Pair") -> Campaign:
    environ = {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign")}
    process = site.reframe("-c", "reframe_checks", "-n", check, *arguments, "-r", **environ)
    assert process.returncode == 0, process.stdout + process.stderr
    return read_campaign(site.root / "campaign")


def test_one_node_skips_once_per_lane(site: FakeSite) -> None:
    campaign = run(site)
    assert [(skip.lane, skip.benchmark, skip.reason) for skip in campaign.skips] == [
        (f"{name}@shm", "pairs", "the fabric has a single node, so no node pairs") for name in ("one", "two")
    ]


def test_every_node_pair_of_four_is_measured_and_attested(site: FakeSite) -> None:
    """Four real ranks on this machine represent four nodes."""
    real = stack("mpich")
    for name, program in (("apps", "fabricbench-micro"), ("prefix", "mpirun")):
        fake = site.stack("one") / name / "bin" / program
        fake.write_text(f'#!/bin/sh\nexec {getattr(real, name)}/bin/{program} "$@"\n')
    # By default UCX opens every network interface, also those of virtual clusters that other tests remove.
    site.change_fabric("nodes=Nodes(count=4), variables={'UCX_TLS': 'shm,self'}")
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
        names = [case for case in cases if "from" in case]
        assert len(names) == pairs
        ranks = {case[end].rpartition(".")[2] for case in names for end in ("from", "to")}
        assert ranks == {"0", "1", "2", "3"}, "on one node a rank is identified by node name and rank number"
    rounds = [case_parts(r.case)["round"] for r in records["pair_bandwidth"].rows if "round" in case_parts(r.case)]
    assert sorted(rounds) == ["0", "0", "1", "1", "2", "2"]


def output(slow: str) -> str:
    """Returns the program's output for four nodes in three rounds, with the node pairs of ``slow`` at half rate."""
    nodes = ("n1", "n2", "n3", "n4")
    rounds = (((0, 3), (1, 2)), ((0, 1), (2, 3)), ((0, 2), (1, 3)))
    lines = ["#@ranks=4", "#@reporting_ranks=1", "#@directions=2", "#@pairs_per_round=2", "#@rounds=0,1,2"]
    lines.append("benchmark,case,msg_size_bytes,rank,sample,value,metric")
    for how in ("alone", "at-once"):
        for played, pairs in enumerate(rounds):
            for ends in (end for pair in pairs for end in (pair, pair[::-1])):
                one, other = (nodes[end] for end in ends)
                case = f"concurrency={how} from={one} round={played} to={other} window=4"
                key = case.replace("=", ":").replace(" ", ",")
                lines += [f"#@iterations.{key}.1048576=1", f"#@bytes_per_run.{key}.1048576=4194304"]
                lines.append(f"#@messages_per_run.{key}.1048576=4")
                time_us = 80000 if slow in (one, other) else 40000
                lines.append(f"pair_bandwidth,{case},1048576,{ends[0]},0,{time_us},window_us")
    return "\n".join([*lines, "#@verified=yes", "#@payload_bytes=1", "#@payload_messages=1", "#@end=ok", ""])


def test_a_node_at_half_rate_is_reported_from_six_blocks_on(site: FakeSite) -> None:
    program = site.stack("one") / "apps/bin/fabricbench-micro"
    (site.root / "output").write_text(output("n3"))
    answer = f'[ "$1" != pair_bandwidth ] || {{ [ "$PMI_RANK" != 0 ] || cat {site.root}/output; exit 0; }}\n'
    program.write_text(program.read_text().replace("\n", f"\n{answer}", 1))
    site.change_fabric("nodes=Nodes(count=4)")
    run(site, "-p", "^one$", check="^PairBandwidth")
    campaign = site.root / "campaign"
    process = site.inside("nodes", str(campaign))
    assert (process.returncode, process.stdout.splitlines()) == (
        0, ["one@shm: no node or pair is named before 6 blocks; this campaign has 1"],
    )  # fmt: skip
    for block in range(1, 6):
        copy = campaign / f"launches/b{block:03d}.s00"
        shutil.copytree(campaign / "launches/b000.s00", copy)
        for facts in copy.rglob("launch.json"):
            facts.write_text(json.dumps(json.loads(facts.read_bytes()) | {"block": block}))
    process = site.inside("nodes", str(campaign), "-f", "json")
    assert process.returncode == 1
    assert {(f["kind"], f["node"], f["other"], f["role"], f["slowdown"]) for f in json.loads(process.stdout)} == {
        ("node", "n3", "", "sending", 2.0), ("node", "n3", "", "receiving", 2.0),
    }  # fmt: skip


def test_a_campaign_without_node_pairs_prints_one_line(site: FakeSite) -> None:
    run(site)
    process = site.inside("nodes", str(site.root / "campaign"))
    assert process.returncode == 2
    assert "no node pairs were measured" in process.stderr
    assert process.stderr.count("\n") == 1
