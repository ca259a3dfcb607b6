# SPDX-License-Identifier: Apache-2.0
"""The dry run of a campaign: what it counts, and that it leaves nothing."""

import csv
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fabricbench.runner.forecast import read_reference
from support import large_site
from support.fake_site import FakeSite

CHOICE = ("--system", "fake", "--check", "MicroPingpong")


def dry_run(site: FakeSite, campaign: Path, *options: str) -> dict[str, Any]:
    """What the dry run says as JSON."""
    done = site.inside("run", str(campaign), *CHOICE, "--dry-run", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_launches_of_the_looks_and_nothing_is_left(
    site: FakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_campaign_in_the_checkout: None
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = sorted(tmp_path.rglob("*"))
    found = dry_run(site, tmp_path / "campaign", "--tier", "standard")
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == []
    block = sum(row["launches"] for row in found["launches"] if not row["once"])
    once = sum(row["launches"] for row in found["launches"] if row["once"])
    assert (block, once) == (4, 2)
    assert [(row["blocks"], row["launches"]) for row in found["totals"]] == [(n, 4 * n + 2) for n in (8, 15, 30)]
    last = found["totals"][-1]
    assert last["hours_at_most"] == pytest.approx((30 * 4 * 120 + 2 * 30) / 3600, abs=0.05)
    assert last["node_hours_at_most"] == math.ceil((30 * 4 * 120 + 2 * 30) / 3600)
    assert found["allocations"] == []


def test_a_stack_that_is_not_set_up_is_a_skip(site: FakeSite, tmp_path: Path) -> None:
    (site.stack("two") / "stack.json").unlink()
    done = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run")
    assert done.returncode == 0, done.stderr
    launches, _, skips = done.stdout.partition("skips:")
    assert "MicroPingpong" in launches
    assert "two" not in launches
    (skip, warning) = [line.split() for line in skips.splitlines() if "two@shm" in line]
    assert skip[:3] == ["micro", "2", "two@shm"]
    assert warning[0] == "warning:"
    assert skips.count("fabricbench setup") == 2


def test_what_run_would_refuse_is_said(site: FakeSite, tmp_path: Path) -> None:
    for stack in ("one", "two"):
        (site.stack(stack) / "stack.json").unlink()
    done = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run", "--format", "csv")
    assert done.returncode == 2
    assert "no lane can run here; fabricbench doctor says why" in done.stderr
    assert "will be skipped" in done.stderr
    blanks = site.inside("run", str(tmp_path / "a b"), *CHOICE, "--dry-run")
    assert (blanks.returncode, blanks.stdout) == (2, "")
    assert "blanks in a campaign's path" in blanks.stderr


def test_what_was_run_is_counted_off_and_says_how_long_the_rest_takes(site: FakeSite, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    done = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert done.returncode == 0, done.stderr
    assert [row["launches"] for row in dry_run(site, campaign)["totals"]] == [0]
    (campaign / "complete.json").unlink()
    found = dry_run(site, campaign, "--reference", str(campaign))
    assert [row["launches"] for row in found["totals"]] == [4 * 5]
    assert all(0 < row["seconds_expected"] < row["seconds_at_most"] for row in found["launches"])
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
    done = site.inside("run", str(tmp_path / "campaign"), "--system", "fake", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_launches_as_csv(site: FakeSite, tmp_path: Path) -> None:
    done = site.inside("run", str(tmp_path / "campaign"), *CHOICE, "--dry-run", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["check"] for row in rows} == {"MicroPingpong", "WireUpLaunch"}


def test_messages_that_do_not_fit_a_node_are_skips(tmp_path: Path) -> None:
    site = large_site.make(tmp_path, nodes=2, cores=2, memory_bytes=4 * 2**20)
    words = ("run", str(tmp_path / "campaign"), "--system", "large", "--tier", "standard", "--lane", "mpich@gige")
    done = site.inside(*words, "--check", "MicroCollective", "--dry-run", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(row["launches"] for row in found["launches"] if not row["once"]) == 16
    (skip,) = found["skips"]  # alltoall holds four blocks, the others three and fewer
    assert skip["reason"] == "1048576 B for 2 ranks take 4 MB of a node, which has 4 MB"
