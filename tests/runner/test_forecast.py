# SPDX-License-Identifier: Apache-2.0
"""The dry run of a campaign counts its launches, hours and skips, and writes nothing."""

import csv
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fabricbench.runner.reference import read_reference
from support import large_site
from support.fake_site import FakeSite

CHOICE = ("--system", "fake", "--check", "MicroPingpong")


def dry_run(site: FakeSite, campaign: Path, *options: str) -> dict[str, Any]:
    """The output of the dry run as JSON."""
    result = site.inside("run", str(campaign), *CHOICE, "--dry-run", "--format", "json", *options)
    assert result.returncode == 0, result.stderr
    forecast: dict[str, Any] = json.loads(result.stdout)
    return forecast


def test_launches_are_counted_and_nothing_is_written(
    site: FakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_campaign_in_the_checkout: None
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = sorted(tmp_path.rglob("*"))
    forecast = dry_run(site, tmp_path / "campaign", "--tier", "standard")
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == []
    block = sum(row["launches"] for row in forecast["launches"] if not row["once"])
    once = sum(row["launches"] for row in forecast["launches"] if row["once"])
    assert (block, once) == (4, 2)
    assert [(row["blocks"], row["launches"]) for row in forecast["totals"]] == [(n, 4 * n + 2) for n in (8, 15, 30)]
    last = forecast["totals"][-1]
    assert last["hours_at_most"] == pytest.approx((30 * 4 * 120 + 2 * 30) / 3600, abs=0.05)
    assert last["node_hours_at_most"] == math.ceil((30 * 4 * 120 + 2 * 30) / 3600)
    assert forecast["allocations"] == []


def test_a_stack_that_is_not_set_up_is_skipped(site: FakeSite, tmp_path: Path) -> None:
    (site.stack("two") / "stack.json").unlink()
    result = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run")
    assert result.returncode == 0, result.stderr
    launches, _, skips = result.stdout.partition("skips:")
    assert "MicroPingpong" in launches
    assert "two" not in launches
    (skip, warning) = [line.split() for line in skips.splitlines() if "two@shm" in line]
    assert skip[:3] == ["micro", "2", "two@shm"]
    assert warning[0] == "warning:"
    assert skips.count("fabricbench setup two") == 2


def test_problems_that_run_refuses_are_reported(site: FakeSite, tmp_path: Path) -> None:
    for stack in ("one", "two"):
        (site.stack(stack) / "stack.json").unlink()
    result = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run", "--format", "csv")
    assert result.returncode == 2
    assert "no lane can run here; fabricbench doctor shows the reasons" in result.stderr
    assert "will be skipped" in result.stderr
    blanks = site.inside("run", str(tmp_path / "a b"), *CHOICE, "--dry-run")
    assert (blanks.returncode, blanks.stdout) == (2, "")
    assert "blanks in a campaign's path" in blanks.stderr


def test_finished_launches_are_subtracted_and_predict_the_rest(site: FakeSite, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert result.returncode == 0, result.stderr
    assert [row["launches"] for row in dry_run(site, campaign)["totals"]] == [0]
    (campaign / "complete.json").unlink()
    forecast = dry_run(site, campaign, "--reference", str(campaign))
    assert [row["launches"] for row in forecast["totals"]] == [4 * 5]
    assert all(0 < row["seconds_expected"] < row["seconds_at_most"] for row in forecast["launches"])
    reference = read_reference(campaign)
    assert reference.between > 0
    assert all(seconds > 0 for seconds in reference.seconds.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reference", "."), "--reference and --format belong to a dry run; expected --dry-run"),
        (("--dry-run", "--format", "cvs"), "unknown format 'cvs'; expected csv"),
        (("--dry-run", "--reference", "none"), "none: no campaign here"),
        (("--dry-run", "--check", "MicroPingpnog"), "no check matches; expected MicroPingpong"),
    ],
)
def test_wrong_use(site: FakeSite, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = site.inside("run", str(tmp_path / "campaign"), "--system", "fake", *options)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_launches_as_csv(site: FakeSite, tmp_path: Path) -> None:
    result = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert {row["check"] for row in rows} == {"MicroPingpong", "WireUpLaunch"}


def test_messages_larger_than_a_node_are_skipped(tmp_path: Path) -> None:
    site = large_site.make(tmp_path, nodes=2, cores=2, memory_bytes=4 * 2**20)
    words = ("run", str(tmp_path / "campaign"), "--system", "large", "--tier", "standard", "--lane", "mpich@gige")
    checks = ("--check", "MicroCollective", "--check", "MicroFurtherCollective", "--scale", "2x1")
    result = site.inside(*words, *checks, "--dry-run", "--format", "json")
    assert result.returncode == 0, result.stderr
    forecast = json.loads(result.stdout)
    assert sum(row["launches"] for row in forecast["launches"] if not row["once"]) == 16
    (skip,) = forecast["skips"]  # alltoall allocates four buffers, the others at most three
    assert skip["reason"] == "1048576 B for 2 ranks take 4 MB of a node, which has 4 MB"
