# SPDX-License-Identifier: Apache-2.0
"""Bad input gives one line of error with the place, and exit status 2. No file is written."""

import pytest

from support.fake_site import FakeSite
from support.running import CHOICE

pytestmark = pytest.mark.usefixtures("no_campaign_in_the_checkout")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "CAMPAIGN", "--system", "fkae"), "unknown system 'fkae'; expected fake"),
        (("run", "CAMPAIGN", "--system", "fake", "--tier", "quik"), "unknown tier 'quik'; expected quick"),
        (("run", "CAMPAIGN", "--system", "fake", "--lane", "one@smh"), "unknown lane 'one@smh'; expected one@shm"),
        (("run", "CAMPAIGN", "--system", "fake", "--check", "MicroPing_pong"), "MicroPingpong"),
        (("doctor", "--system", "fake", "--lane", "x@shm"), "unknown lane 'x@shm'"),
        (("setup", "thre"), "unknown stack 'thre'"),
        (("table", "CAMPAIGN"), "no campaign here"),
        (("judge", "CAMPAIGN"), "no campaign here"),
    ],
)
def test_bad_input_prints_one_line_and_exits_with_2(site: FakeSite, arguments: tuple[str, ...], message: str) -> None:
    campaign = site.root / "campaign"
    result = site.inside(*(str(campaign) if word == "CAMPAIGN" else word for word in arguments))
    assert result.returncode == 2, result.stdout + result.stderr
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not campaign.exists()


def test_error_message_of_a_process(site: FakeSite) -> None:
    result = site.fabricbench("run", "campaign", "--system", "fkae")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "fabricbench: unknown system 'fkae'; expected fake\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('transport="shm"', 'transport="smh"', "fake/settings.py: fabric shm: unknown transport 'smh'; expected shm"),
        ("SYSTEM = System", "import sys; sys.exit(3)\nSYSTEM = System", "settings.py:5: SystemExit: 3"),
        ('transport="shm"', 'transprt="shm"', "transprt"),
        ('    stacks=["one", "two"]', '    stacks=["one", "tow"]', "unknown stack 'tow'; expected two"),
        ("SYSTEM = System", "SYSTEM == System", "settings.py:"),
        ("SYSTEM = System(", "SYSTEM = System((", "settings.py:"),
    ],
)
def test_a_broken_settings_file_names_the_place(site: FakeSite, old: str, new: str, message: str) -> None:
    text = site.settings.read_text().replace(old, new)
    site.settings.write_text(text)
    result = site.inside("run", str(site.root / "campaign"), *CHOICE)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
