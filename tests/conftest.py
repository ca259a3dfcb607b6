# SPDX-License-Identifier: Apache-2.0
"""For all tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from fabricbench.parsers.cache import CACHE


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of records for the tests alone: that of the user stays as it is."""
    root = tmp_path_factory.mktemp("cache") / "fabricbench"
    with patch.dict(os.environ, {CACHE: str(root)}):
        yield root
