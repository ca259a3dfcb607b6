# SPDX-License-Identifier: Apache-2.0
"""A JSON file is written completely or not at all, and reaches the disk unless the caller says otherwise."""

import json
import os
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_synced_unless_it_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool) -> None:
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    write_json(tmp_path / "file", {"b": 1, "a": [2]}, sync=sync)
    assert json.loads((tmp_path / "file").read_text()) == {"a": [2], "b": 1}
    assert len(calls) == sync
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_keeps_the_earlier_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    write_json(tmp_path / "file", 1)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(BadInput, match="cannot be written: No space left on device"):
        write_json(tmp_path / "file", 2)
    with pytest.raises(TypeError):
        write_json(tmp_path / "file", object())
    assert json.loads((tmp_path / "file").read_text()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
