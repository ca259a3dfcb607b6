# SPDX-License-Identifier: Apache-2.0
"""``fabricbench run`` repeats a lost launch once in its block, and does not repeat a failed one."""

import json
from collections import Counter
from pathlib import Path

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from support.fake_site import FakeSite
from support.running import CHOICE, LAUNCHES_PER_BLOCK

QUICKLY = (*CHOICE, "--budget", "0", "--set", "MicroPingpong.limit_seconds=3")


def timed(campaign: Path) -> list[Record]:
    return [r for r in read_campaign(campaign).records if r.launch and r.launch.mode == "timed"]


def attempts(campaign: Path) -> dict[str, list[str]]:
    """The states of all attempts of each timed launch that has several."""
    by_launch: dict[str, list[str]] = {}
    for record in timed(campaign):
        assert record.launch is not None
        by_launch.setdefault(record.launch.id, []).append(record.state)
    return {name: states for name, states in by_launch.items() if len(states) > 1}


def test_a_launch_that_hung_at_its_end_is_repeated_and_both_are_recorded(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "hang-at-end").write_text("1")
    result = site.inside("run", str(campaign), *QUICKLY)
    assert result.returncode == 0, result.stdout + result.stderr
    assert list(attempts(campaign).values()) == [["lost", "ok"]]
    assert len(timed(campaign)) == LAUNCHES_PER_BLOCK + 1
    sessions = {record.directory.partition("/")[0] for record in timed(campaign)}
    assert sessions == {"b000.s00", "b000.s01"}
    assert "hung at its end after a complete output" in (campaign / "run.log").read_text()
    assert "1 launch was lost and repeated" in result.stdout
    judgement = site.inside("judge", str(campaign), "--explain", "one-latency/one@shm/8")
    if "small" in next(iter(attempts(campaign))):
        assert "launches that were lost, and their repeats:" in judgement.stdout
    again = site.inside("run", str(campaign), *QUICKLY)
    assert again.returncode == 0
    assert len(timed(campaign)) == LAUNCHES_PER_BLOCK + 1


def test_a_launch_that_is_lost_twice_stays_lost(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "hang-at-end").write_text("1000")
    result = site.inside("run", str(campaign), *QUICKLY, "--lane", "one@shm")
    assert result.returncode == 1, result.stdout + result.stderr
    assert list(attempts(campaign).values()) == [["lost", "lost"]] * 2
    judgement = site.inside("judge", str(campaign))
    assert judgement.returncode == 4, judgement.stdout


def test_a_failed_launch_is_not_repeated(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "break-exit").touch()
    (site.stack("two") / "break-hang").touch()
    result = site.inside("run", str(campaign), *QUICKLY)
    assert result.returncode == 1, result.stdout + result.stderr
    assert attempts(campaign) == {}
    assert Counter(record.state for record in timed(campaign)) == {"failed": LAUNCHES_PER_BLOCK}


def test_a_wire_up_that_hung_at_its_end_is_repeated_before_the_benchmarks(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    (site.stack("one") / "hang-wireup").touch()
    result = site.inside("run", str(campaign), *CHOICE, "--budget", "0")
    assert result.returncode == 0, result.stdout + result.stderr
    states = [r.state for r in read_campaign(campaign).records if r.launch and r.launch.stack == "one"]
    assert states == ["lost", "ok", "ok", "ok"]


def test_a_campaign_lists_the_cases_of_a_block(site: FakeSite) -> None:
    campaign = site.root / "campaign"
    assert site.inside("run", str(campaign), *CHOICE, "--budget", "0").returncode == 0
    cases = json.loads((campaign / "planned.json").read_text())["cases"]
    assert len(cases) == LAUNCHES_PER_BLOCK
    launches = {tuple(record.directory.split("/")[2:]) for record in timed(campaign)}
    assert {(fabric, stack, check) for check, fabric, stack in cases} == launches
