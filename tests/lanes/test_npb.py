# SPDX-License-Identifier: Apache-2.0
"""Tests that the NAS kernels are verified and attested on real stacks."""

import os
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import read_installed
from support.command import reframe_inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment


@pytest.mark.parametrize(("stack", "numbers"), [("impi", (2,)), ("mpich", (2,)), ("openmpi", (1, 2, 4))])
def test_kernels_verify_and_are_attested(tmp_path: Path, stack: str, numbers: tuple[int, ...]) -> None:
    """Every stack runs two ranks. One stack, whose oversubscribed ranks yield, also runs one rank and four.

    CTest verifies the kernels on 1, 2 and 4 ranks of each stack (tests/apps/test_ctest.py).
    """
    installed = read_installed(build_root() / "stacks" / stack / "stack.json")
    if installed is None:
        pytest.skip(f"{stack} is not set up")
    programs = Path(installed.apps, "bin")
    kernels = [kernel for kernel in ("is", "cg", "ft") if (programs / f"fabricbench-{kernel}").exists()]
    settings = REPOSITORY / "site/local/settings.py"
    for fabric in ("shm", "tcp"):
        system = {"RFM_CONFIG_FILES": str(settings), "RFM_SYSTEM": f"local:{fabric}"}
        environ = {
            "FABRICBENCH_CAMPAIGN": str(tmp_path / fabric),
            "FABRICBENCH_NPB_RANKS": ",".join(map(str, numbers)),
        }
        process = reframe_inside(
            *("-c", "reframe_checks", "-n", "^NPB", "-r", "-p", f"^{stack}$"),
            *("-S", "NPB.problem_class=S", "-S", "limit_seconds=300"),
            environment={**clean_environment(), **system, **environ},
        )
        assert process.returncode == 0, process.stdout[-3000:]
        records = [r for r in read_campaign(tmp_path / fabric).records if r.launch and r.launch.tool == "npb"]
        assert {r.launch.benchmark for r in records if r.launch} == {f"{kernel}.S" for kernel in kernels}
        assert {r.state for r in records} == {"ok"}
        assert {r.launch.limit_seconds for r in records if r.launch} == {300.0}, "the limit set with -S"
        cores = len(os.sched_getaffinity(0))
        modes = {(r.launch.ranks, r.launch.mode) for r in records if r.launch}
        assert modes == {(ranks, "timed" if ranks <= cores else "checked") for ranks in numbers}
