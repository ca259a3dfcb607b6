# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: their own cache, lock and loaded ReFrame, the fake site, and a check of the checkout."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from fabricbench.campaign.cache import CACHE
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite
from support.processes import LOCK
from support.warm import warm_reframe


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of records and a lock of launches for the tests alone.

    The user's cache stays as it is, and no launch of a test waits for a launch outside the tests.
    """
    root = tmp_path_factory.mktemp("cache")
    with patch.dict(os.environ, {CACHE: str(root / "fabricbench"), LOCK: str(root / "lock")}):
        yield root / "fabricbench"


@pytest.fixture(autouse=True, scope="session")
def loaded_reframe(tmp_path_factory: pytest.TempPathFactory, own_cache: Path) -> Iterator[None]:
    """ReFrame without the time of its imports, wherever this process starts it."""
    with warm_reframe(tmp_path_factory.mktemp("reframe")):
        yield


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cache of records, which does not exist yet."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_campaign_in_the_checkout() -> Iterator[None]:
    """Fails a test that leaves a campaign in the checkout."""

    def names() -> set[str]:
        return {path.name for path in (REPOSITORY / "campaigns").glob("*")}

    before = names()
    yield
    assert names() == before
