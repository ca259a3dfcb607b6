# SPDX-License-Identifier: Apache-2.0
"""Launches and campaigns that a test may change."""

import shutil
from pathlib import Path

import pytest

from campaign.cached_campaign import campaign, derived
from support.launches import LAUNCHES, PT2PT

__all__ = ["campaign", "derived", "directory"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of a launch in state ok."""
    return Path(shutil.copytree(LAUNCHES / PT2PT, tmp_path / "launch"))
