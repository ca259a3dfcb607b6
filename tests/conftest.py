# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: own cache, own lock, loaded ReFrame, the fake site, a box of water, the checkout. Order."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from fabricbench.campaign.cache import CACHE
from fabricbench.site.stacks import STACK_FILE, read_installed
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite
from support.processes import LOCK
from support.warm import warm_reframe

SLOWEST_FIRST = (
    "runner/test_kills.py",
    "runner/test_lost_launches.py",
    "runner/test_run.py",
    "docs/test_examples.py",
    "runner/test_large_site.py",
    "checks/test_reframe_traps.py",
    "cli/test_any_file.py",
    "cli/test_surroundings.py",
    "checks/test_imb.py",
    "checks/test_rails.py",
)
"""Files whose tests take longest together. They start first, so that no process ends long after the others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the slowest files to the beginning and keeps the order otherwise."""
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


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


@pytest.fixture(scope="session")
def water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ``water.tpr``, its reference, and the files to run grompp again. Tests do not change it."""
    installed = read_installed(REPOSITORY / "build/stacks/openmpi" / STACK_FILE)
    if installed is None or installed.gromacs is None or installed.gromacs.problem:
        pytest.skip("no GROMACS on openmpi: run `make setup` as root on Debian")
    if not all(map(shutil.which, ("gmx", "gmx_d"))):
        pytest.skip("no gmx and gmx_d: Debian's package gromacs has both")
    from support import toy_input  # takes a while, and few tests need it

    return toy_input.water_inputs(tmp_path_factory.mktemp("water"))


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
