# SPDX-License-Identifier: Apache-2.0
"""A real Slurm of virtual nodes (``site/vcluster``) for the tests of this folder, which run one after the other."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_site import REPOSITORY
from support.vcluster import Cluster, Site, impossible


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """No cluster yet; whatever a module brings up is gone after it, and leaves nothing."""
    if why := impossible():
        pytest.skip(why)
    cluster = Cluster()
    yield cluster
    cluster.down()
    assert cluster.left_over() == []


@pytest.fixture
def site(tmp_path: Path, cluster: Cluster) -> Site:
    """A copy of the sites that a test may change, and a place for campaigns."""
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    return Site(tmp_path)
