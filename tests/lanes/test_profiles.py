# SPDX-License-Identifier: Apache-2.0
"""Tests that profiled launches run on real stacks, are attested, and agree with the bytes on the sockets."""

import os
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.site.profilers import TAU
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import read_installed
from support.command import reframe_inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment

SETTINGS = REPOSITORY / "site/local/settings.py"


@pytest.mark.parametrize("stack", ["impi", "mpich", "openmpi"])
@pytest.mark.parametrize("profiler", ["own", "tau"])
def test_kernels_are_profiled(tmp_path: Path, stack: str, profiler: str) -> None:
    if read_installed(build_root() / "stacks" / stack / "stack.json") is None:
        pytest.skip(f"{stack} is not set up")
    tau = os.environ.get(TAU, "")
    if profiler == "tau" and not Path(tau, stack).is_dir():
        pytest.skip(f"{TAU} names no directory with TAU for {stack}")
    process = reframe_inside(
        *("-c", "reframe_checks", "-n", "^NasProfile", "-r", "-p", f"^{stack}$", "-S", f"profiler={profiler}"),
        *("-S", "NasProfile.problem_class=S", "-S", "limit_seconds=300"),
        environment={
            **clean_environment(),
            "RFM_CONFIG_FILES": str(SETTINGS),
            "RFM_SYSTEM": "local:tcp",
            "FABRICBENCH_CAMPAIGN": str(tmp_path / "campaign"),
            "FABRICBENCH_NPB_RANKS": "2",
            **({TAU: tau} if tau else {}),
        },
    )
    assert process.returncode == 0, process.stdout[-3000:]
    records = [r for r in read_campaign(tmp_path / "campaign").records if r.launch and r.launch.mode == "profiled"]
    assert {r.launch.benchmark for r in records if r.launch} == {"is.S", "cg.S", "ft.S"}
    assert {r.launch.profiler for r in records if r.launch} == {profiler}
    assert {r.state for r in records} == {"ok"}
    for record in records:
        share = [row.value for row in record.rows if row.metric == "mpi_share"]
        assert len(share) == 1, record.skips
        assert 0 < share[0] <= 1
        witnesses = {one.witness: one for one in record.agreements}
        assert "timers" in witnesses
        if profiler == "own":
            assert witnesses["sockets"].agrees, witnesses["sockets"]
