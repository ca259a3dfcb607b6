# SPDX-License-Identifier: Apache-2.0
"""The fake site, and a watch over the checkout."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import fake_site
from support.fake_site import REPOSITORY, FakeSite


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
