# SPDX-License-Identifier: Apache-2.0
"""For all tests: a cache of their own, the fake site, and a watch over the checkout."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from fabricbench.campaign.cache import CACHE
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of records for the tests alone: that of the user stays as it is."""
    root = tmp_path_factory.mktemp("cache") / "fabricbench"
    with patch.dict(os.environ, {CACHE: str(root)}):
        yield root


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


@pytest.fixture
def no_campaign_in_the_checkout() -> Iterator[None]:
    """Demands that a test makes no campaign but where it says."""

    def names() -> set[str]:
        return {path.name for path in (REPOSITORY / "campaigns").glob("*")}

    before = names()
    yield
    assert names() == before
