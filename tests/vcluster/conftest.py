# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a real Slurm of virtual nodes (``site/vcluster``). The tests of this folder run one at a time."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY
from support.vcluster import Cluster, Site, impossible


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Returns the cluster before its start. Removes it after all tests and asserts that nothing remains."""
    if why := impossible():
        pytest.skip(why)
    cluster = Cluster()
    yield cluster
    cluster.down()
    assert cluster.left_over() == []


@pytest.fixture
def site(tmp_path: Path, cluster: Cluster) -> Site:
    """Returns a copy of the sites that a test may change."""
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    return Site(tmp_path)
