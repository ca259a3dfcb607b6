# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a real Slurm of emulated machines with RDMA devices (``site/rdma``), and a campaign on it."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Campaign
from rdma.lanes import CONTROLS, LANES, ONE_BLOCK, PINGPONGS, REQUESTED, SHORT, USER_LEVEL, WRONG_LANES
from support.fake_site import REPOSITORY
from support.rdma import CAMPAIGNS, Site, impossible, left_over, script


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """Starts the cluster. Removes it at the end and asserts that nothing remains."""
    if why := impossible():
        pytest.skip(why)
    shutil.rmtree(CAMPAIGNS, ignore_errors=True)
    started = script("up")
    assert started.returncode == 0, started.stdout + started.stderr
    yield
    stopped = script("down")
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    assert left_over() == []


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, cluster: None) -> Site:
    """Returns a copy of the sites, in which the system has fabrics with wrong settings too."""
    root = tmp_path_factory.mktemp("sites")
    shutil.copytree(REPOSITORY / "site", root / "site")
    settings: Path = root / "site/rdma/settings.py"
    before, mark, after = settings.read_text().partition("\nSYSTEM = ")
    fabrics = "SHARED_MEMORY]"
    assert fabrics in after
    settings.write_text(before + CONTROLS + mark + after.replace(fabrics, "SHARED_MEMORY, *CONTROLS]"))
    return Site(root)


@pytest.fixture(scope="session")
def campaign(site: Site) -> Campaign:
    """Returns one block of a ping-pong on every lane."""
    return measured(site, "right", ["MicroPingpong"], LANES, 0)


@pytest.fixture(scope="session")
def user_level(site: Site) -> Campaign:
    """Returns one block of the ping-pongs of the user-level libraries, small messages only."""
    return measured(site, "user", PINGPONGS, list(USER_LEVEL), 0, "--tier", "standard", *SHORT)


@pytest.fixture(scope="session")
def kernels(site: Site) -> Campaign:
    """Returns one block of IS, CG and FT of class S on the requested lanes."""
    if not REQUESTED:
        pytest.skip("no stack was named: make test-rdma MVAPICH2=PREFIX MPICH_MX=PREFIX OPEN_MX=TREE")
    return measured(site, "kernels", ["NasQuick"], REQUESTED, 0, "--set", "problem_class=S")


@pytest.fixture(scope="session")
def controls(site: Site) -> Campaign:
    """Returns launches of large messages with wrong settings."""
    return measured(site, "wrong", ["MicroPingpong%messages=large"], WRONG_LANES, 1)


def measured(
    site: Site, name: str, checks: Sequence[str], lanes: Sequence[str], status: int, *options: str
) -> Campaign:
    """Runs one block of the checks on these lanes; ``status`` is the exit status, 1 if launches are not attested."""
    chosen = [word for lane in lanes for word in ("--lane", lane)]
    chosen += [word for check in checks for word in ("--check", check)]
    options = (*(options or SHORT), *ONE_BLOCK)
    run = site.fabricbench("run", str(CAMPAIGNS / name), "--system", "rdma", *chosen, *options)
    assert run.returncode == status, run.stdout + run.stderr
    return read_campaign(CAMPAIGNS / name)
