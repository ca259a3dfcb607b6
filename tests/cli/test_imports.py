# SPDX-License-Identifier: Apache-2.0
"""Each command imports only the libraries that it needs: imports are most of the time of a short command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.hostile import make_campaign
from support.processes import clean_environment

LIBRARIES = {"jinja2", "jsonschema", "matplotlib", "numpy", "polars", "pydantic", "reframe", "ruamel", "scipy"}
"""Every library whose import takes more than a few milliseconds, except rich, which prints ``--help``."""

ROOMS = (
    "attestation",
    "campaign",
    "launch",
    "parsers",
    "discovery",
    "doctor",
    "inputs",
    "report",
    "runner",
    "setup",
    "site",
    "slurm",
    "stats",
    "verdict",
)

CODE = """\
import contextlib, io, json, sys
sys.argv = ["fabricbench", *sys.argv[1:]]
with contextlib.redirect_stdout(io.StringIO()):
    from fabricbench.cli import main
    try:
        main()
    except SystemExit as end:
        status = end.code
    else:
        status = 0
print(json.dumps([status, sorted(sys.modules)]))
"""


def modules(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    result = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], env=clean_environment(), capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    status, names = json.loads(result.stdout)
    assert status in (0, 1, 3, 4), result.stderr
    return set(names)


@pytest.mark.parametrize("command", ["", "run", "judge", "report", "doctor", "inputs"])
def test_help_imports_no_library_and_no_room(command: str) -> None:
    imported = modules(*command.split(), "--help")
    of_typer = {"pydantic"} if command else set()  # Typer converts the options of a command with it
    assert imported & LIBRARIES <= of_typer
    assert imported & {f"fabricbench.{room}" for room in ROOMS} == set()


def test_doctor() -> None:
    imported = modules("doctor")
    assert imported & {"jinja2", "jsonschema", "matplotlib", "polars", "reframe", "rich", "scipy"} == set()
    assert imported & {"fabricbench.report", "fabricbench.runner", "fabricbench.verdict"} == set()


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("table", {"jinja2", "jsonschema", "matplotlib", "numpy", "reframe", "rich", "scipy"}),
        ("judge", {"jinja2", "jsonschema", "matplotlib", "reframe", "rich"}),
        ("provenance", {"jinja2", "jsonschema", "matplotlib", "reframe", "rich", "scipy"}),
        ("report", {"jsonschema", "reframe", "rich"}),
    ],
)
def test_commands_on_a_campaign(command: str, unneeded: set[str], tmp_path: Path) -> None:
    campaign = make_campaign(tmp_path / "campaign")
    assert modules(command, str(campaign)) & unneeded == set()
