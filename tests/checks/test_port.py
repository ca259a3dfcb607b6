# SPDX-License-Identifier: Apache-2.0
"""The variable ``port`` of a check, on the fake site: it reaches the launch, or the launch is skipped."""

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
    """A site whose stack ``one`` supports the selection of a port."""
    fake = fake_site.make(tmp_path)
    stacks = fake.root / "site/stacks.py"
    rails = f'STACKS["one"] = replace(STACKS["one"], rails={RAILS})\n'
    stacks.write_text("from dataclasses import replace\n" + stacks.read_text() + rails)
    return fake


def launch_directory(site: FakeSite, stack: str, port: str, fields: str = "") -> Path:
    """Returns the directory of a launch of ``stack`` with ``port``, on a fabric with further ``fields``."""
    site.change_fabric(fields)
    options_ = ("-p", f"^{stack}$", "-S", f"MicroPingpong.port={port}")
    result = site.reframe(*SMALL, *options_, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert ("WARNING: one@shm: not bound as requested: port p1 was requested" in result.stdout) == (
        stack == "one" and "p1" in fields
    )
    (directory,) = (site.root / "campaign/launches").glob("*/*/*/*/Micro*")
    return directory


def test_the_port_reaches_the_stack_and_the_case(site: FakeSite) -> None:
    """The check overrides the site; on one node no counter shows the port."""
    two = 'rails=2, ports=["p0", "p1"], variables={"FAKE_PORT": "p0", "FAKE_OTHER": "p0"}'
    record = collect(launch_directory(site, "one", "p1", two))
    assert record.launch is not None
    environment = record.launch.environment
    assert [environment[f"FAKE_{name}"] for name in ("PORT", "RAILS", "OTHER")] == ["p1", "1", "p0"]
    assert (record.launch.port, record.launch.case) == ("p1", {"port": "p1"})
    assert record.launch.id.endswith("small port=p1 np=2")
    assert {row.case for row in record.rows} == {"port=p1"}
    assert record.state == "ok"
    assert record.reason == "port p1 was requested, but on one node no counter shows which port was used"


@pytest.mark.parametrize(
    ("stack", "fields", "skip"),
    [
        ("one", "", "the fabric shm has no named ports; name them in the site's settings.py: Fabric(ports=[…])"),
        ("one", 'rails=2, ports=["p0", "p2"]', "the fabric shm has no port 'p1'; choose one of p0, p2"),
        (
            *("two", 'rails=2, ports=["p0", "p1"]'),
            "no settings that restrict two to one port on shm; add them to two in site/stacks.py (rails)",
        ),
    ],
)
def test_a_port_that_cannot_be_used_is_skipped(site: FakeSite, stack: str, fields: str, skip: str) -> None:
    record = json.loads((launch_directory(site, stack, "p1", fields) / "skipped.json").read_text())
    assert f"{record['reason']}; {record['hint']}" == skip
    assert record["benchmark"] == "pingpong port=p1"
