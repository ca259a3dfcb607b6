# SPDX-License-Identifier: Apache-2.0
"""A campaign whose processes are killed at random moments can be completed, and leaves no process behind."""

import random
import signal
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY, FakeSite
from support.long_form import is_long
from support.processes import clean_environment, wait_until
from support.running import (
    BLOCKS,
    CHOICE,
    LAUNCHES_PER_BLOCK,
    PARTS,
    finished,
    kill,
    kill_and_resume,
    left_over,
    start,
    start_run,
    timed,
    wait_for_launch,
)


def test_after_kills_of_each_part_no_launch_is_repeated_and_no_process_left(site: FakeSite) -> None:
    """The short form runs one block; test_a_full_disk… of test_run.py continues a campaign in a later block."""
    campaign = site.root / "campaign"
    for name in ("one", "two"):
        (site.stack(name) / "seconds").write_text("0.5")
    times, options, blocks = (3, (), BLOCKS) if is_long() else (1, ("--budget", "0"), 1)
    killed = kill_and_resume(
        lambda: start(site, campaign, *options), campaign, times * PARTS, random.Random(8), longest_s=1.5 + times
    )
    assert killed.total() >= 2
    assert set(finished(campaign).values()) == {1}
    assert len(timed(campaign)) == blocks * LAUNCHES_PER_BLOCK
    assert not left_over(campaign)


def test_a_wrapper_killed_during_the_wire_up_costs_no_launch(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    for name in ("one", "two"):
        (site.stack(name) / "wireup-seconds").write_text("3")
    run = start(site, campaign)
    wait_for_launch(campaign)
    assert kill("wrapper", run, campaign)
    result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert result.returncode == 0, result.stdout + result.stderr
    assert list(timed(campaign).values()) == [1] * LAUNCHES_PER_BLOCK


def test_a_run_killed_on_a_real_stack_completes(tmp_path: Path) -> None:
    if not (REPOSITORY / "build/stacks/mpich/stack.json").exists():
        pytest.skip("the stack mpich is not set up: run `make setup`")
    campaign = tmp_path / "campaign"
    environment = clean_environment()
    short = ("--budget", "0", "--set", "iterations=100")
    choice = ("--system", "local", "--lane", "mpich@shm", "--check", "MicroPingpong", *short)
    small_and_large = 2
    killed = kill_and_resume(
        lambda: start_run(campaign, choice, environment), campaign, ["wrapper"], random.Random(2), longest_s=1.0
    )
    assert killed.total() >= 1
    assert set(finished(campaign).values()) == {1}
    assert len(timed(campaign)) == small_and_large
    assert not left_over(campaign)


def test_a_killed_run_leaves_no_process(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "seconds").write_text("60")
    process = start(site, campaign)
    wait_for_launch(campaign)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not left_over(campaign), "the end of every process")
