# SPDX-License-Identifier: Apache-2.0
"""The captured launch directories, and changes to copies of them."""

import json
from pathlib import Path
from typing import Any

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Record
from support.fake_site import REPOSITORY

LAUNCHES = REPOSITORY / "tests/data/launches"
PT2PT = "mpich-tcp-imb-pt2pt-small"
"""A launch that is ok."""
HOSTILE = "<script>alert(1)</script>\x1b[2J;rm -rf ~;$(id)`id`\x00\u202e'\"\\\n| é"
"""Text that harms a terminal, a shell or a page that takes it for more than text."""


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
