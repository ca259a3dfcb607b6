# SPDX-License-Identifier: Apache-2.0
"""The worked example of docs/attribution.md: its commands print what the page shows."""

import re
import tarfile
from pathlib import Path

import pytest

from support.command import inside
from support.documents import document
from support.fake_site import REPOSITORY

ARCHIVE = REPOSITORY / "tests/data/campaigns/attribution.tar.xz"
TEXT = document("attribution.md").text
BLOCKS = re.findall(r"^```console\n\$ (fabricbench [^\n]*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("attribution")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")
    return directory


@pytest.mark.parametrize(("command", "printed"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_commands_print_what_the_page_shows(command: str, printed: str, campaign: Path) -> None:
    """The lines of the page follow each other in the output; ``…`` stands for lines that the page leaves out."""
    _, *arguments = command.replace("CAMPAIGN", str(campaign)).split()
    result = inside(*arguments)
    assert result.returncode == 0, result.stderr
    lines = [line.rstrip() for line in (result.stdout + result.stderr).splitlines()]
    shown = [line.rstrip() for line in printed.splitlines() if line.strip() != "…"]
    at = 0
    for line in shown:
        assert line in lines[at:], line
        at = lines.index(line, at) + 1


def test_the_page_has_an_example_of_each_command() -> None:
    commands = " ".join(command for command, _ in BLOCKS)
    assert all(part in commands for part in ("attribute CAMPAIGN", "--explain", "--why"))


def test_the_report_of_the_example_has_the_section(campaign: Path) -> None:
    result = inside("report", str(campaign), "-o", str(campaign / "page.html"))
    assert result.returncode == 0, result.stderr
    page = (campaign / "page.html").read_text()
    assert 'id="attribution"' in page
    assert "Efficiencies" in page


def test_the_archive_is_small_and_names_no_directory_of_a_machine(campaign: Path) -> None:
    assert ARCHIVE.stat().st_size < 300_000
    files = [file for file in (campaign / "launches").rglob("*") if file.is_file()]
    assert len(files) > 50
    assert [file for file in files if re.search(r"/(home|work|tmp/[^o])", file.read_text())] == []
