# SPDX-License-Identifier: Apache-2.0
"""The pages agree with the repository: links and named files exist, references are complete."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from fabricbench.inputs import cache
from fabricbench.launch.facts import Begin, End, Launch, SkippedLaunch
from fabricbench.launch.host import Host, Nic
from fabricbench.launch.node_witness import NodeReport
from fabricbench.launch.record import CampaignFacts, Record
from fabricbench.launch.table import SCHEMA
from fabricbench.launch.witness import Report
from fabricbench.site.stacks import Installed
from support.command import inside
from support.fake_site import REPOSITORY

NOT_OURS = {"build", "campaigns", ".venv", ".pytest_cache", "stage", "output"}
PAGES = sorted(
    path.relative_to(REPOSITORY)
    for path in REPOSITORY.rglob("*.md")
    if not NOT_OURS & set(path.relative_to(REPOSITORY).parts)
)
PACKAGE = REPOSITORY / "analysis/fabricbench"
ROOTS = (REPOSITORY, PACKAGE, REPOSITORY / "tests")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:\w+/)+\w+\.(?:py|cpp|hpp|[ch]|sh|csv))`")


def prose(page: Path) -> str:
    """Returns the text of a page without blocks of code."""
    return re.sub(r"^```.*?^```$|^    [^\n]*$", "", (REPOSITORY / page).read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub derives from the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_point_to_existing_files_and_headings(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (REPOSITORY / page).parent / name if name else REPOSITORY / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", [page for page in PAGES if not page.name.startswith("add-a-")], ids=str)
def test_files_that_a_page_names_exist(page: Path) -> None:
    """Except on pages whose reader makes the files."""
    names = [name for name in FILE.findall(prose(page)) if not name.startswith("build/")]
    assert [name for name in names if not any((root / name).exists() for root in ROOTS)] == []


@pytest.mark.parametrize(
    "model",
    [
        CampaignFacts,
        Launch,
        SkippedLaunch,
        Begin,
        End,
        Host,
        Nic,
        Report,
        NodeReport,
        Record,
        Installed,
        cache.InputRecord,
    ],
)
def test_formats_lists_every_field(model: type[BaseModel]) -> None:
    page = (REPOSITORY / "docs/formats.md").read_text()
    assert [name for name in model.model_fields if f"`{name}`" not in page] == []


def test_formats_lists_every_column() -> None:
    page = (REPOSITORY / "docs/formats.md").read_text()
    assert [name for name in SCHEMA if f"`{name}`" not in page] == []


def test_commands_lists_every_command_and_target() -> None:
    page = (REPOSITORY / "docs/commands.md").read_text()
    commands = re.findall(r"^│ ([a-z]+) ", inside("--help").stdout, re.MULTILINE)
    assert "judge" in commands
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert [name for name in commands if not re.search(rf"^\| `{name}[ `]", page, re.MULTILINE)] == []
    assert [name for name in targets if name != "help" and f"`make {name}`" not in page] == []


def test_commands_lists_every_environment_variable() -> None:
    page = (REPOSITORY / "docs/commands.md").read_text()
    folders = [REPOSITORY / name for name in ("analysis", "reframe_checks", "site")]
    code = "".join(file.read_text() for folder in folders for file in folder.rglob("*.py"))
    of_cmake = "".join(file.read_text() for file in (REPOSITORY / "apps").rglob("CMakeLists.txt"))
    names = set(re.findall(r"FABRICBENCH_[A-Z_]*[A-Z]", code)) - set(re.findall(r"FABRICBENCH_[A-Z_]*[A-Z]", of_cmake))
    assert "FABRICBENCH_CACHE" in names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_overview_lists_every_room() -> None:
    page = (REPOSITORY / "docs/overview.md").read_text()
    rooms = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {
        "__init__",
        "__pycache__",
    }
    assert [room for room in sorted(rooms) if f"| `{room}` |" not in page] == []
