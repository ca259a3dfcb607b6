# SPDX-License-Identifier: Apache-2.0
"""A port that a check asks for, on the fake site: what reaches the launch, and what is a named skip."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

SMALL = ("-c", str(REPOSITORY / "reframe_checks"), "-n", "^MicroPingpong.*messages=small", "-r")
RAILS = """{"shm": {"1": {"FAKE_PORT": "{port}", "FAKE_RAILS": "1"}, "striped": {"FAKE_PORT": "{ports}"}}}"""


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    """Whose stack ``one`` can be told which port to use."""
    made = fake_site.make(tmp_path)
    stacks = made.root / "site/stacks.py"
    told = f'STACKS["one"] = replace(STACKS["one"], rails={RAILS})\n'
    stacks.write_text("from dataclasses import replace\n" + stacks.read_text() + told)
    return made


def launched(site: FakeSite, stack: str, port: str, ports: str = "") -> Path:
    """The directory of a launch of ``stack`` that asks for ``port``, on a fabric with ``ports``."""
    settings = site.settings.read_text()
    site.settings.write_text(settings.replace("site=SITE)]", f"site=SITE, {ports})]"))
    chosen = ("-p", f"^{stack}$", "-S", f"MicroPingpong.port={port}")
    done = site.reframe(*SMALL, *chosen, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("WARNING: one@shm: not bound as asked: asked for the port p1" in done.stdout) == (
        stack == "one" and "p1" in ports
    )
    (directory,) = (site.root / "campaign/launches").glob("*/*/*/*/Micro*")
    return directory


def test_the_port_reaches_the_stack_and_the_case(site: FakeSite) -> None:
    """The check's word wins over the site's; on one node nobody can tell what came of it."""
    two = 'rails=2, ports=["p0", "p1"], env_vars={"FAKE_PORT": "p0", "FAKE_OTHER": "p0"}'
    record = collect(launched(site, "one", "p1", two))
    assert record.launch is not None
    environment = record.launch.environment
    assert [environment[f"FAKE_{name}"] for name in ("PORT", "RAILS", "OTHER")] == ["p1", "1", "p0"]
    assert (record.launch.port, record.launch.case) == ("p1", {"port": "p1"})
    assert record.launch.id.endswith("small port=p1 np=2")
    assert {row.case for row in record.rows} == {"port=p1"}
    assert record.state == "ok"
    assert record.reason == "asked for the port p1, but on one node no counter tells which port was used"


@pytest.mark.parametrize(
    ("stack", "ports", "skip"),
    [
        ("one", "", "the fabric shm names no ports; name them: fabric(…, ports=[…]) in the site's settings.py"),
        ("one", 'rails=2, ports=["p0", "p2"]', "the fabric shm has no port 'p1'; choose one of p0, p2"),
        (
            *("two", 'rails=2, ports=["p0", "p1"]'),
            "no settings that hold two to one port on shm; add them to two in site/stacks.py (rails)",
        ),
    ],
)
def test_what_nobody_can_give_is_a_skip(site: FakeSite, stack: str, ports: str, skip: str) -> None:
    found = json.loads((launched(site, stack, "p1", ports) / "skipped.json").read_text())
    assert f"{found['reason']}; {found['hint']}" == skip
    assert found["benchmark"] == "pingpong port=p1"
