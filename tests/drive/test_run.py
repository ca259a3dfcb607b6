# SPDX-License-Identifier: Apache-2.0
"""A campaign is resumed wherever it was killed, repeats nothing that is finished, and loses nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from fabricbench.core.campaign import came_back
from fabricbench.parsers.campaign import read_campaign
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

CHOICE = ("--system", "fake", "--check", "MicroPingpong")
LAUNCHES_PER_BLOCK = 4
BLOCKS = 6


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def start(site: FakeSite, campaign: Path) -> subprocess.Popen[str]:
    """``fabricbench run`` in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "fabricbench.cli", "run", str(campaign), *CHOICE],
        env=site.environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(campaign: Path) -> Counter[str]:
    """How often each launch came back, by id; wire-ups too."""
    found: Counter[str] = Counter()
    for file in (campaign / "launches").rglob("launch.json"):
        if came_back(file.parent):
            found[json.loads(file.read_text())["id"]] += 1
    return found


def left_over(campaign: Path) -> list[str]:
    """Processes that still belong to a run of ``campaign``."""
    mark = f"FABRICBENCH_CAMPAIGN={campaign.resolve()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(entry.name)
        except OSError:
            continue
    return found


def wait_for_launch(campaign: Path) -> None:
    """Wait until a launch has begun that has not ended."""
    deadline = time.monotonic() + 60
    while not any(not (begin.parent / "end").exists() for begin in campaign.rglob("begin")):
        assert time.monotonic() < deadline, "no launch began"
        time.sleep(0.02)


def test_a_campaign_from_nothing(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    done = site.fabricbench("run", str(campaign), *CHOICE, "--report")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(finished(campaign).values()) == {1}
    found = read_campaign(campaign)
    timed = [record for record in found.records if record.launch and record.launch.mode == "timed"]
    assert len(timed) == BLOCKS * LAUNCHES_PER_BLOCK
    assert {record.state for record in found.records} == {"ok"}
    assert "one-latency/one@shm/8" in done.stdout
    assert (campaign / "report.html").stat().st_size > 1000
    log = (campaign / "run.log").read_text()
    assert "block 6/6" in log
    orders = {
        tuple(r.launch.id.partition(" ")[2] for r in timed if r.launch and r.launch.block == block)
        for block in range(BLOCKS)
    }
    assert len(orders) > 1, "every block ran in the same order"


def test_ten_kills_repeat_nothing_and_leave_nothing(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    for name in ("one", "two"):
        (site.stack(name) / "seconds").write_text("0.3")
    chance = random.Random(7)
    killed = 0
    for _ in range(10):
        process = start(site, campaign)
        try:
            process.wait(timeout=chance.uniform(0.5, 6.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        assert process.stdout is not None
        process.stdout.close()
    assert killed >= 5
    done = site.fabricbench("run", str(campaign), *CHOICE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    times = finished(campaign)
    assert set(times.values()) == {1}
    timed = [name for name in times if name.startswith("b")]
    assert len(timed) == BLOCKS * LAUNCHES_PER_BLOCK
    assert not left_over(campaign)


def test_a_kill_leaves_no_process_even_before_the_next_run(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    wait_for_launch(campaign)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while left_over(campaign):
        assert time.monotonic() < deadline, "processes are left over"
        time.sleep(0.1)


def test_a_second_run_is_refused(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    try:
        wait_for_launch(campaign)
        second = site.fabricbench("run", str(campaign), *CHOICE)
        assert second.returncode == 2
        assert "another run is working on this campaign" in second.stderr
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_an_interrupt_ends_the_launch_and_says_how_to_go_on(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    wait_for_launch(campaign)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in output
    assert not left_over(campaign)


def test_a_stack_that_vanishes_half_way(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    for name in ("one", "two"):
        (site.stack(name) / "seconds").write_text("0.5")
    process = start(site, campaign)
    wait_for_launch(campaign)
    kept = site.root / "kept"
    os.rename(site.stack("two"), kept)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "two@shm vanished" in output
    os.rename(kept, site.stack("two"))
    done = site.fabricbench("run", str(campaign), *CHOICE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(finished(campaign).values()) == {1}


def test_a_full_disk_says_so_and_loses_nothing(site: FakeSite) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a small file system is mounted")
    mount = site.root / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(mount)], check=True)
    try:
        campaign = mount / "campaign"
        done = site.fabricbench("run", str(campaign), *CHOICE)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "No space left" in done.stderr or "disk is full" in done.stderr
        before = finished(campaign)
        subprocess.run(["mount", "-o", "remount,size=64m", str(mount)], check=True)
        done = site.fabricbench("run", str(campaign), *CHOICE)
        after = finished(campaign)
        assert all(after[name] == count for name, count in before.items())
        assert set(after.values()) == {1}
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_read_only_place_says_so(site: FakeSite) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a file system is mounted read-only")
    mount = site.root / "fixed"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(mount)], check=True)
    try:
        done = site.fabricbench("run", str(mount / "campaign"), *CHOICE)
        assert done.returncode == 2
        assert "Read-only file system" in done.stderr
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_failing_benchmark_is_a_failed_launch_and_the_campaign_goes_on(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "break-exit").touch()
    done = site.fabricbench("run", str(campaign), *CHOICE)
    assert done.returncode == 1, done.stdout + done.stderr
    states = Counter(record.state for record in read_campaign(campaign).records)
    assert states["failed"] == BLOCKS * 2
    assert "wrong byte at offset 7" in done.stdout
    judged = site.fabricbench("judge", str(campaign))
    assert judged.returncode == 4
    assert "INVALID" in judged.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--system", "fkae"), "unknown system 'fkae'; expected fake"),
        (("run", "--system", "fake", "--tier", "quik"), "unknown tier 'quik'; expected quick"),
        (("run", "--system", "fake", "--lane", "one@smh"), "unknown lane 'one@smh'; expected one@shm"),
        (("run", "--system", "fake", "--check", "MicroPing_pong"), "MicroPingpong"),
        (("doctor", "--system", "fake", "--lane", "x@shm"), "unknown lane 'x@shm'"),
        (("setup", "thre"), "unknown stack 'thre'"),
        (("table", "no-such-campaign"), "no campaign here"),
        (("judge", "no-such-campaign"), "no campaign here"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(site: FakeSite, arguments: tuple[str, ...], message: str) -> None:
    done = site.fabricbench(*arguments, FABRICBENCH_CAMPAIGN="")
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('transport="shm"', 'transport="smh"', "unknown transport 'smh'; expected shm"),
        ('transport="shm"', 'transprt="shm"', "transprt"),
        ('in ("one", "two")', 'in ("one", "tow")', "unknown stack 'tow'; expected two"),
        ("SITE = Path", "SITE == Path", "settings.py:"),
        ("SITE = Path(", "SITE = Path((", "settings.py:"),
    ],
)
def test_a_broken_settings_file_names_the_place(site: FakeSite, old: str, new: str, message: str) -> None:
    text = site.settings.read_text().replace(old, new)
    site.settings.write_text(text)
    done = site.fabricbench("run", str(site.root / "campaign"), *CHOICE)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_campaign_is_not_continued_as_another(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    site.stack("one")
    done = site.fabricbench("run", str(campaign), *CHOICE, "--lane", "one@shm")
    assert done.returncode == 0, done.stdout + done.stderr
    other = site.fabricbench("run", str(campaign), *CHOICE, "--lane", "two@shm")
    assert other.returncode == 2
    assert "was made with lanes ('one@shm',)" in other.stderr


def test_a_copied_campaign_gives_the_same_table_and_verdicts(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    assert site.fabricbench("run", str(campaign), *CHOICE).returncode == 0
    copy = site.root / "elsewhere/other-name"
    copy.parent.mkdir()
    subprocess.run(["cp", "-r", str(campaign), str(copy)], check=True)
    subprocess.run(["find", str(copy), "-name", "record.json", "-delete"], check=True)
    for command in (("table", "-f", "csv"), ("table", "-f", "json"), ("judge",)):
        first = site.fabricbench(command[0], str(campaign), *command[1:])
        second = site.fabricbench(command[0], str(copy), *command[1:])
        assert (first.stdout, first.returncode) == (second.stdout, second.returncode)
        assert len(first.stdout) > 100
