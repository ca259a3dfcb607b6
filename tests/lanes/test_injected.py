# SPDX-License-Identifier: Apache-2.0
"""Tests a short campaign with injected delays on a real stack: its launches, its records, and the slope of CG."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.facts import Injection
from fabricbench.launch.table import table, usable
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import read_installed
from support.command import inside
from support.processes import clean_environment

LEVELS = ("latency=1000us", "latency=2000us", "overhead=500us")


def test_kernels_run_at_each_level(tmp_path: Path) -> None:
    if read_installed(build_root() / "stacks/openmpi/stack.json") is None:
        pytest.skip("openmpi is not set up")
    campaign = tmp_path / "campaign"
    environment = {**clean_environment(), "FABRICBENCH_NPB_RANKS": "2"}
    options = [*("--lane", "openmpi@tcp", "--check", "NasQuick"), "--budget", "0"]
    options += ["--set", "problem_class=S", "--inject", "latency=1000us,2000us", "--inject", "overhead=500us"]
    foreseen = inside("run", str(campaign), *options, "--dry-run", "--format", "json", environment=environment)
    launches = {row["check"]: row["launches"] for row in json.loads(foreseen.stdout)["launches"]}
    assert launches["NasQuickInjected"] == 3 * len(LEVELS)
    done = inside("run", str(campaign), *options, environment=environment)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]  # 1: a launch failed
    measured = read_campaign(campaign)
    assert measured.facts.injected == LEVELS
    injected = [r for r in measured.records if r.launch and r.launch.mode == "injected"]
    assert [r.reason for r in injected if r.state != "ok"] == []
    assert len(injected) == 3 * len(LEVELS)
    delays = {r.launch.injected for r in injected if r.launch}
    assert delays == {Injection(latency_us=1000), Injection(latency_us=2000), Injection(overhead_us=500)}
    rows = table(measured.records)
    assert not [case for case in usable(rows)["case"] if "latency" in case or "overhead" in case]
    shown = inside("attribute", str(campaign), "--sensitivity", "--format", "json", environment=environment)
    assert shown.returncode == 0, shown.stderr
    found = {(row["benchmark"], row["delay"]): row for row in json.loads(shown.stdout)}
    assert set(found) == {(f"{name}.S", delay) for name in ("is", "cg", "ft") for delay in ("latency", "overhead")}
    # CG.S: 15 timed iterations, each with 26 products of a matrix and a vector and two sums for each, and one more sum.
    # The base may be slow on a busy machine, which lowers the slope.
    assert found["cg.S", "latency"]["slope"] > 0.5 * 15 * (26 * 3 + 1)
