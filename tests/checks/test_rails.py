# SPDX-License-Identifier: Apache-2.0
"""Rail policies: the variables of each policy reach the launch; a policy without settings is skipped."""

from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Campaign
from fabricbench.site.stacks import ONE_PORT, RAIL_POLICIES, site_stacks
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

ONE_PAIR = r"Pingpong(?=.*%pairs=1(%|$))"
SETTINGS = {
    "1": {"FAKE_PORTS": "{port}", "FAKE_RAILS": "1"},
    "striped": {"FAKE_PORTS": "{ports}", "FAKE_RAILS": "{rails}"},
}


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def with_rails(site: FakeSite, fabric: str) -> None:
    """Gives the stack ``one`` two rail policies, and the fabric the fields ``fabric``."""
    site.change_fabric(fabric)
    stacks = site.root / "site/stacks.py"
    stacks.write_text(
        "from dataclasses import replace\n"
        + stacks.read_text()
        + f"SETTINGS = {SETTINGS!r}\n"
        + 'STACKS["one"] = replace(STACKS["one"], rails={"shm": SETTINGS})\n'
    )


def run(site: FakeSite, which: str = "", *options: str) -> Campaign:
    environ = {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign")}
    result = site.reframe("-c", "reframe_checks", "-n", f"^Rails{which}", "-r", *options, **environ)
    assert result.returncode == 0, result.stdout + result.stderr
    return read_campaign(site.root / "campaign")


def skips(campaign: Campaign) -> set[tuple[str, str, str]]:
    return {(skip.lane, skip.benchmark, skip.reason) for skip in campaign.skips}


def test_one_port_is_one_skip_per_lane(site: FakeSite) -> None:
    campaign = run(site)
    assert skips(campaign) == {(f"{stack}@shm", "rails", "the fabric has one port") for stack in ("one", "two")}
    assert len(campaign.skips) == 2


def test_each_rail_policy_sets_its_variables_and_its_case(site: FakeSite) -> None:
    with_rails(site, 'rails=2, ports=["p0", "p1"], variables={"FAKE_RAILS": "of the site"}')
    campaign = run(site, ONE_PAIR)
    launches = [(r.launch, r) for r in campaign.records if r.launch and r.launch.mode == "timed"]
    assert {launch.lane for launch, _ in launches} == {"one@shm"}
    environments = {(str(launch.case["rails"]), launch.messages): launch.environment for launch, _ in launches}
    assert set(environments) == {(policy, messages) for policy in ("1", "striped") for messages in ("small", "large")}
    for (policy, _), environment in environments.items():
        expected = {"1": ("p0", "1"), "striped": ("p0,p1", "2")}[policy]
        assert (environment["FAKE_PORTS"], environment["FAKE_RAILS"]) == expected
    for launch, record in launches:
        assert record.state == "ok"
        assert (launch.port, record.binding.problem) == ("", ""), "on one node no counter shows the port"
        assert {row.case for row in record.rows} == {f"rails={launch.case['rails']}"}


def test_a_rail_policy_without_settings_is_skipped(site: FakeSite) -> None:
    with_rails(site, 'rails=2, ports=["p0", "p1"]')
    reasons = skips(run(site, ONE_PAIR))
    assert ("one@shm", "pingpong rails=bound", "no settings for rails=bound with one") in reasons
    assert {lane for lane, _, reason in reasons if reason.startswith("no settings")} == {"one@shm", "two@shm"}


def test_ports_without_names(site: FakeSite) -> None:
    with_rails(site, "rails=2")
    reasons = skips(run(site, f"(?=.*%rails=striped){ONE_PAIR}"))
    assert ("one@shm", "pingpong rails=striped", "one needs the ports' names") in reasons


def test_a_selected_port_and_a_rail_policy_exclude_each_other(site: FakeSite) -> None:
    with_rails(site, 'rails=2, ports=["p0", "p1"]')
    reasons = skips(run(site, f"(?=.*%rails=striped){ONE_PAIR}", "-S", "RailsPingpong.port=p1"))
    assert ("one@shm", "pingpong port=p1 rails=striped", "the rail policy rails=striped selects the ports") in reasons


def test_a_rank_pair_for_each_port(site: FakeSite) -> None:
    with_rails(site, "ports=[str(port) for port in range(4096)]")
    result = site.reframe("-c", "reframe_checks", "-n", "^Rails", "-L")
    assert "%pairs=1 " in result.stdout
    assert "%pairs=4096 " in result.stdout
    reasons = {reason for lane, _, reason in skips(run(site, ".*%pairs=4096")) if lane == "one@shm"}
    assert any(reason.startswith("8192 ranks on ") for reason in reasons)


def test_several_rank_pairs_are_on_the_same_two_nodes(site: FakeSite) -> None:
    """Only the chosen nodes are tested: the fake stack prints the output of one pair, so the launch is unreadable."""
    with_rails(site, 'rails=2, ports=["p0", "p1"], nodes=Nodes(count=4, cores=8)')
    which = "^RailsPingpong(?=.*%rails=1)(?=.*%pairs=2)(?=.*%messages=small)"
    campaign = str(site.root / "campaign")
    site.reframe("-c", "reframe_checks", "-n", which, "-p", "^one$", "-r", FABRICBENCH_CAMPAIGN=campaign)
    timed = [one.launch for one in read_campaign(site.root / "campaign").records if one.launch]
    assert {(launch.ranks, launch.nodes) for launch in timed if launch.mode == "timed"} == {(4, 2)}


def test_the_stacks_of_this_repository() -> None:
    stacks = site_stacks(REPOSITORY / "site")
    with_rails = {name: stack for name, stack in stacks.items() if stack.rails}
    assert {"impi", "mpich", "openmpi", "mvapich2"} <= with_rails.keys()
    for stack in with_rails.values():
        assert set(stack.rails) <= set(stack.transports)
        for settings in stack.rails.values():
            assert ONE_PORT in settings
            assert set(settings) <= set(RAIL_POLICIES)
            policies = [tuple(sorted(variables.items())) for variables in settings.values()]
            assert len(set(policies)) == len(policies), "two policies have the same variables"
