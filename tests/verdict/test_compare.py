# SPDX-License-Identifier: Apache-2.0
"""Comparison of lanes and of tools, explanation and proposal."""

from pathlib import Path

import numpy as np
import pytest

from fabricbench.errors import BadInput
from fabricbench.site.requirements_file import load_requirements
from fabricbench.verdict.alike import like_against_like
from fabricbench.verdict.compare import compare, compare_tools
from fabricbench.verdict.explain import explain
from fabricbench.verdict.judge import judge
from fabricbench.verdict.propose import propose
from verdict.synthetic_table import entry, facts, lane_rows, latencies, requirements, table_of

FASTER = [8.0, 8.1, 8.2, 8.3, 8.4, 8.5]
SLOWER = [12.0, 12.1, 12.2, 12.3, 12.4, 12.5]
NOISY = [7.0, 9.0, 8.4, 8.1, 7.9, 8.9]


def test_findings_of_a_whole_curve() -> None:
    refuted = lane_rows("mpich@shm", FASTER, msg_size_bytes=256, state="refuted")
    table = table_of(
        *(lane_rows("mpich@shm", FASTER, msg_size_bytes=size) for size in (8, 16, 64, 128)),
        *(lane_rows("mpich@tcp", SLOWER, msg_size_bytes=size) for size in (8, 16)),
        lane_rows("mpich@tcp", [1.01 * v for v in reversed(FASTER)], msg_size_bytes=64),
        lane_rows("mpich@tcp", {0: 1.0, 1: 1.0}, msg_size_bytes=128),
        lane_rows("mpich@tcp", SLOWER, msg_size_bytes=256),
        lane_rows("mpich@tcp", SLOWER, benchmark="barrier", tool="imb", metric="time", msg_size_bytes=None),
        refuted,
    )
    result = compare(table.sample(fraction=1.0, shuffle=True, seed=1), "mpich@shm", "mpich@tcp")
    assert result["msg_size_bytes"].to_list() == [8, 16, 64, 128, 256, None]
    findings = result["finding"].to_list()
    assert findings[5] == "too few: mpich@shm was not measured"
    assert findings[0] == findings[1] == "mpich@shm lower by 33 %"
    assert findings[2].startswith("no difference detected (a difference of ")
    assert findings[3] == "too few: 2 block(s) with both sides"
    assert findings[4].startswith("invalid: 6 launch(es)")
    assert result["ratio"][0] == pytest.approx(0.6736, abs=1e-3)
    assert result["q"][0] == pytest.approx(3 / 64)
    with pytest.raises(BadInput, match="unknown lane 'mpich@tpc'; expected mpich@tcp"):
        compare(table, "mpich@shm", "mpich@tpc")
    with pytest.raises(BadInput, match="both lanes are 'mpich@shm'"):
        compare(table, "mpich@shm", "mpich@shm")


def test_lanes_with_a_variant() -> None:
    table = table_of(lane_rows("m@ib", SLOWER), lane_rows("m@ib:two-rails", FASTER))
    assert compare(table, "m@ib:two-rails", "m@ib")["finding"].to_list() == ["m@ib:two-rails lower by 33 %"]


def test_tools_are_compared_mean_against_mean() -> None:
    rng = np.random.default_rng(9)
    lanes = ("impi@tcp", "mpich@tcp")
    table = table_of(
        *(
            lane_rows(lane, latencies(rng, 8, 10.0), metric="latency_mean", msg_size_bytes=s)
            for lane in lanes
            for s in (8, 16)
        ),
        *(lane_rows(lane, latencies(rng, 8, 11.5), tool="imb", msg_size_bytes=s) for lane in lanes for s in (8, 16)),
        *(lane_rows(lane, latencies(rng, 8, 1.0), msg_size_bytes=8) for lane in lanes),
    )
    result = compare_tools(table)
    assert result["lane"].to_list() == ["impi@tcp"] * 2 + ["mpich@tcp"] * 2
    assert set(result["a"]) == {"micro latency_mean"}
    assert result["ratio"].to_list() == pytest.approx([0.87] * 4, rel=0.05)
    assert compare_tools(table, "mpich@tcp").height == 2
    assert compare_tools(table_of(lane_rows("a@b", FASTER))).height == 0
    with pytest.raises(BadInput, match="unknown lane"):
        compare_tools(table, "openmpi@tcp")
    assert all(alike.own.metric in ("latency_mean", "bandwidth_mean") for alike in like_against_like())


def test_osu_is_compared_like_imb_and_only_in_the_same_case() -> None:
    table = table_of(
        *(lane_rows("a@tcp", SLOWER, metric="latency_mean", case=case) for case in ("", "rails=striped")),
        *(lane_rows("a@tcp", FASTER, tool=tool, case="") for tool in ("imb", "osu")),
    )
    result = compare_tools(table)
    assert sorted(result["b"]) == ["imb latency", "osu latency"]
    assert result["case"].to_list() == ["", ""]


def test_explanation_follows_the_chain_from_the_launches(tmp_path: Path) -> None:
    table = table_of(
        lane_rows("mpich@shm", [*FASTER, 8.6]),
        lane_rows("mpich@tcp", [*SLOWER, 12.6]),
        lane_rows("impi@tcp", {0: None}, state="failed"),
    )
    requirement_set = requirements(
        tmp_path,
        entry("pair", "at_most: 0.7", "fabric: tcp", fabric="shm"),
        entry("i", stack="impi"),
        entry("ib", fabric="ib"),
    )
    result = judge(table, requirement_set, facts(6))
    text = "\n".join(explain("pair/mpich@shm/8", result, table))
    for part in (
        "pair/mpich@shm/8: PASS",
        "micro pingpong latency on mpich@tcp, us:",
        "block   0  8  launches/b00-micro-pingpong-mpich@shm",
        "block   6  8.6  launches/b06-micro-pingpong-mpich@shm  (after the last completed look)",
        "interval: values 1 and 6 in order, 0.6667 to 0.68, which contain the median with 96.9%",
        "p = 0.01562",
        "Benjamini-Hochberg over 1 cell(s)",
    ):
        assert part in text
    assert "impi@tcp: failed" in "\n".join(explain("i/impi@tcp/8", result, table))
    assert "nothing measured" in "\n".join(explain("ib/*@ib", result, table))
    with pytest.raises(BadInput, match="unknown cell 'pair/mpich@shm/9'; expected pair/mpich@shm/8"):
        explain("pair/mpich@shm/9", result, table)


def test_a_proposal_loads_and_passes_on_its_own_campaign(tmp_path: Path) -> None:
    table = table_of(
        lane_rows("mpich@tcp", NOISY),
        lane_rows("mpich@tcp", NOISY, ranks=4),
        lane_rows("mpich@tcp", NOISY, msg_size_bytes=32),
        lane_rows("mpich@ib:two-rails", [850.0, 900.0], metric="bandwidth", msg_size_bytes=1 << 20),
        lane_rows(
            "mpich@tcp",
            NOISY,
            tool="imb",
            benchmark="barrier",
            metric="time",
            msg_size_bytes=None,
            case='x="1"',
        ),
        lane_rows("mpich@tcp", [0.0] * 6, metric="bandwidth"),
        lane_rows("impi@tcp", NOISY, state="refuted"),
    )
    file = tmp_path / "requirements.yaml"
    file.write_text(propose(table, margin=0.25))
    requirement_set = load_requirements(file)
    assert [item.id for item in requirement_set.items] == [
        "micro-pingpong-bandwidth-mpich-ib-two-rails-1048576",
        "imb-barrier-time-mpich-tcp",
        "micro-pingpong-latency-mpich-tcp-8",
        "micro-pingpong-latency-mpich-tcp-8.2",
    ]
    assert [item.bound for item in requirement_set.items] == ["at least 637 MB/s"] + ["at most 11.3 us"] * 3
    result = judge(table, requirement_set, facts(6))
    assert [cell.verdict for cell in result.cells] == ["INVALID", "PASS", "PASS", "PASS"]
    with pytest.raises(BadInput, match="margin"):
        propose(table, margin=1.5)
    with pytest.raises(BadInput, match="no value"):
        propose(table.head(0))


def test_only_main_metrics_are_tested() -> None:
    """What tells the same once more would only dilute the claims."""
    lanes = (("mpich@shm", FASTER), ("mpich@tcp", SLOWER))
    table = table_of(
        *(lane_rows(lane, values) for lane, values in lanes),
        *(lane_rows(lane, values, metric="latency_mean", msg_size_bytes=s) for lane, values in lanes for s in (1, 2)),
    )
    result = compare(table, "mpich@shm", "mpich@tcp")
    claims = dict(zip(result["metric"], result["finding"], strict=True))
    assert claims["latency"] == "mpich@shm lower by 33 %"
    assert claims["latency_mean"] == "not tested: only the benchmark's main metric is tested"
    assert result.filter(metric="latency")["q"].to_list() == [pytest.approx(2 / 64)]


def test_an_interval_that_excludes_1_is_not_significant_among_many_tests() -> None:
    equal = [v * 1.001 for v in reversed(FASTER)]
    table = table_of(
        *(lane_rows("a@tcp", FASTER, msg_size_bytes=2**k) for k in range(12)),
        lane_rows("b@tcp", SLOWER, msg_size_bytes=1),
        *(lane_rows("b@tcp", equal, msg_size_bytes=2**k) for k in range(1, 12)),
    )
    findings = compare(table, "a@tcp", "b@tcp")["finding"].to_list()
    claim = "the interval excludes 1, but the difference is not significant among the 12 tests of this curve"
    assert findings[0] == claim
    assert all(finding.startswith("no difference detected") for finding in findings[1:])
