# SPDX-License-Identifier: Apache-2.0
"""For the tests of campaigns: a launch directory to change."""

import shutil
from pathlib import Path

import pytest

from support.launches import LAUNCHES, PT2PT


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of a launch that is ok."""
    return Path(shutil.copytree(LAUNCHES / PT2PT, tmp_path / "launch"))
