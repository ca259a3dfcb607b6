# SPDX-License-Identifier: Apache-2.0
"""A copy of a launch directory that the tests of campaigns may change."""

import shutil
from pathlib import Path

import pytest

from support.launches import LAUNCHES, PT2PT


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of a launch in state ok."""
    return Path(shutil.copytree(LAUNCHES / PT2PT, tmp_path / "launch"))
