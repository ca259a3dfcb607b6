# SPDX-License-Identifier: Apache-2.0
"""The captured launch directories, and changes to copies of them."""

import json
import shutil
from pathlib import Path
from typing import Any

from fabricbench.attestation import physics
from fabricbench.campaign.collect import collect
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Record
from fabricbench.parsers.registry import half_round_trips
from support.fake_site import REPOSITORY

LAUNCHES = REPOSITORY / "tests/data/launches"
PT2PT = "mpich-tcp-imb-pt2pt-small"
"""A launch that is ok."""
HOSTILE = "<script>alert(1)</script>\x1b[2J;rm -rf ~;$(id)`id`\x00\u202e'\"\\\n| é"
"""Text that harms a terminal, a shell or a page that takes it for more than text."""


SKIPPED = {
    **{"schema_version": 1, "id": "g", "block": 0, "system": "local", "fabric": "tcp", "stack": "openmpi"},
    **{"tool": "imb", "benchmark": "pt2pt", "messages": "small", "reason": "no IMB", "hint": "install it"},
}


def launch_of(name: str, **changes: object) -> Launch:
    """Returns the facts of a captured launch."""
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes()).model_copy(update=changes)


def text_of(name: str) -> str:
    """Returns the output of a captured launch."""
    return (LAUNCHES / name / "stdout").read_text()


def add_launch(campaign: Path, name: str, place: str, **values: Any) -> Path:
    """Copies a captured launch to ``place`` below the campaign's launches and changes some of its facts."""
    directory = campaign / "launches" / place
    shutil.copytree(LAUNCHES / name, directory)
    change(directory / "launch.json", **values)
    return directory


def add_skip(campaign: Path, place: str, **values: Any) -> None:
    """Adds a skip at ``place`` below the campaign's launches."""
    directory = campaign / "launches" / place
    directory.mkdir(parents=True)
    (directory / "skipped.json").write_text(json.dumps(SKIPPED | values))


def refute_beyond_physics(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """Returns the records of a campaign as ``read_campaign`` judges them."""
    return physics.refute_beyond_physics(records, half_round_trips())


def change(file: Path, **values: Any) -> None:
    """Sets keys of a JSON file; a key whose value is ... is removed."""
    facts = json.loads(file.read_text()) | values
    file.write_text(json.dumps({key: value for key, value in facts.items() if value is not ...}))


def assert_unreadable(directory: Path, *words: str) -> Record:
    """The record of an unreadable launch without rows, whose reason has all ``words``."""
    record = collect(directory)
    assert record.state == "unreadable", record.reason
    assert not record.rows
    for word in words:
        assert word in record.reason
    return record
