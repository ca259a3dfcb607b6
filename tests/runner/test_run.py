# SPDX-License-Identifier: Apache-2.0
"""A campaign completes, or ends with a reason, continues and keeps its finished launches."""

import os
import signal
import subprocess
from collections import Counter

import pytest

from fabricbench.campaign.read import read_campaign
from support.fake_site import FakeSite
from support.running import (
    BLOCKS,
    CHOICE,
    LAUNCHES_PER_BLOCK,
    finished,
    finished_directories,
    left_over,
    start,
    timed,
    wait_for_launch,
)


def test_a_new_campaign_completes(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    result = site.inside("run", str(campaign), *CHOICE, "--report")
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(finished(campaign).values()) == {1}
    finished_campaign = read_campaign(campaign)
    records = [record for record in finished_campaign.records if record.launch and record.launch.mode == "timed"]
    assert len(records) == BLOCKS * LAUNCHES_PER_BLOCK
    assert {record.state for record in finished_campaign.records} == {"ok"}
    assert "one-latency/one@shm/8" in result.stdout
    assert (campaign / "report.html").stat().st_size > 1000
    log = (campaign / "run.log").read_text()
    assert "block 6/6" in log
    orders = {
        tuple(r.launch.id.partition(" ")[2] for r in records if r.launch and r.launch.block == block)
        for block in range(BLOCKS)
    }
    assert len(orders) > 1, "every block ran in the same order"


def test_a_second_run_is_refused(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    try:
        wait_for_launch(campaign)
        second = site.inside("run", str(campaign), *CHOICE)
        assert second.returncode == 2
        assert "another run is working on this campaign" in second.stderr
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize(
    ("number", "status", "why"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "SIGTERM")]
)
def test_a_signal_ends_the_launch_and_the_hint_continues(site: FakeSite, number: int, status: int, why: str) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    wait_for_launch(campaign)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == status
    assert f"{why}; run the same command again to continue {campaign}" in output
    assert "Traceback" not in output
    assert not left_over(campaign)


def test_a_stack_that_vanishes_during_a_run(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    for name in ("one", "two"):
        (site.stack(name) / "seconds").write_text("0.5")
    process = start(site, campaign)
    wait_for_launch(campaign)
    copy = site.root / "kept"
    os.rename(site.stack("two"), copy)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "no longer ready since this run began: two@shm" in output
    os.rename(copy, site.stack("two"))
    result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(timed(campaign).values()) == {1}  # a wire-up without its stack is repeated


def test_a_full_disk_is_reported_and_no_launch_is_lost(site: FakeSite) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a small file system is mounted")
    mount = site.root / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(mount)], check=True)
    try:
        campaign = mount / "campaign"
        result = site.inside("run", str(campaign), *CHOICE)
        assert result.returncode == 2, result.stdout + result.stderr
        assert "No space left" in result.stderr or "disk is full" in result.stderr
        before = {path: (path / "end").read_bytes() for path in finished_directories(campaign)}
        assert before
        subprocess.run(["mount", "-o", "remount,size=64m", str(mount)], check=True)
        result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
        assert result.returncode == 0, result.stdout + result.stderr
        assert {path: (path / "end").read_bytes() for path in before} == before
        assert set(finished(campaign).values()) == {1}
        assert len(timed(campaign)) % LAUNCHES_PER_BLOCK == 0
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_read_only_directory_is_reported(site: FakeSite) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a file system is mounted read-only")
    mount = site.root / "fixed"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(mount)], check=True)
    try:
        result = site.inside("run", str(mount / "campaign"), *CHOICE)
        assert result.returncode == 2
        assert "Read-only file system" in result.stderr
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def test_the_campaign_continues_after_a_failed_launch(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "break-exit").touch()
    result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert result.returncode == 1, result.stdout + result.stderr
    states = Counter(record.state for record in read_campaign(campaign).records)
    assert states == {"failed": 2, "ok": 4}  # ok: both launches of "two", and both wire-ups
    assert "wrong byte at offset 7" in result.stdout
    judgement = site.inside("judge", str(campaign))
    assert judgement.returncode == 4
    assert "INVALID" in judgement.stdout


def test_a_campaign_is_not_continued_by_another_plan(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    result = site.inside("run", str(campaign), *CHOICE, "--lane", "one@shm", "--budget", "0")
    assert result.returncode == 0, result.stdout + result.stderr
    other = site.inside("run", str(campaign), *CHOICE, "--lane", "two@shm")
    assert other.returncode == 2
    assert "was started with lanes ('one@shm',)" in other.stderr


def test_a_copied_campaign_gives_the_same_table_and_verdicts(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    assert site.inside("run", str(campaign), *CHOICE, "--budget", "0").returncode == 0
    copy = site.root / "elsewhere/other-name"
    copy.parent.mkdir()
    subprocess.run(["cp", "-r", str(campaign), str(copy)], check=True)
    # One in a process of its own, where nothing has the same order by chance
    for command in (("table", "-f", "csv"), ("judge",)):
        first = site.fabricbench(command[0], str(campaign), *command[1:])
        second = site.inside(command[0], str(copy), *command[1:], "--recompute")
        assert (first.stdout, first.returncode) == (second.stdout, second.returncode)
        assert len(first.stdout) > 100
