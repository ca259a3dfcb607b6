# SPDX-License-Identifier: Apache-2.0
"""The checks of the NAS kernels: their skips, and the numbers of ranks of each tier."""

import json
import os
from pathlib import Path

import pytest

from support import fake_site
from support.fake_site import FakeSite


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def skips(site: FakeSite, *options: str, **environment: str) -> dict[str, set[str]]:
    """Returns the reasons of the skips by benchmark."""
    campaign = site.root / "campaign"
    arguments = ("-c", "reframe_checks", "-n", "^NPB", *options, "-r")
    site.reframe(*arguments, FABRICBENCH_CAMPAIGN=str(campaign), **environment)
    reasons: dict[str, set[str]] = {}
    for file in campaign.rglob("skipped.json"):
        skip = json.loads(file.read_text())
        reasons.setdefault(skip["benchmark"], set()).add(skip["reason"])
    return reasons


def test_a_stack_without_the_programs(site: FakeSite) -> None:
    skipped = skips(site)
    assert skipped["is.A"] == {f"{stack} was set up without fabricbench-is" for stack in ("one", "two")}
    for kernel in ("CG", "FT"):
        assert skipped[f"{kernel.lower()}.A"] == {
            f"{kernel} is written in Fortran, and {stack} was set up without" for stack in ("one", "two")
        }


def test_a_class_that_does_not_exist(site: FakeSite) -> None:
    skipped = skips(site, "-S", "NPB.problem_class=Q")
    assert set(skipped) == {"is.Q", "cg.Q", "ft.Q"}
    assert all(reasons == {"NPB has no class 'Q'"} for reasons in skipped.values())


def test_a_class_that_does_not_fit_into_memory(site: FakeSite) -> None:
    """FT of class D needs 120 GB."""
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") > 150e9:
        pytest.skip("this machine has memory for class D")
    skipped = skips(site, "-S", "NPB.problem_class=D")
    (reason,) = skipped["ft.D"]
    assert reason.startswith("ft.D needs 120.3 GB on the node, which has ")
    assert "is.D runs on 4 to 1024 ranks, not on 1" in skipped["is.D"]


@pytest.mark.parametrize("in_allocation", [False, True])
def test_a_memory_limit_counts_as_the_memory_of_the_node(site: FakeSite, in_allocation: bool) -> None:
    """FT of class A needs 0.5 GB. The declared memory of the node counts if no limit is lower."""
    site.change_fabric("nodes=Nodes(memory_bytes=10**10)")
    job = {"SLURM_JOB_ID": "7"} if in_allocation else {}
    skipped = skips(site, SLURM_MEM_PER_NODE="200", **job)
    (reason,) = skipped["ft.A"]
    assert reason == "ft.A needs 0.5 GB on the node, which has 0.2 GB (limit in SLURM_MEM_PER_NODE)"


def test_nodes_without_the_instructions_of_the_kernels(site: FakeSite) -> None:
    for name, target in (("one", {"name": "x86-64-v3", "instructions": ["avx2", "fma", "pni"]}), ("two", None)):
        facts = json.loads((site.stack(name) / "stack.json").read_text())
        (site.stack(name) / "stack.json").write_text(json.dumps(facts | {"target": target}))
        (site.stack(name) / "apps/bin/fabricbench-is").touch()
    site.change_fabric("nodes=Nodes(processor='x86-64-v2')")
    arguments = ("-c", "reframe_checks", "-n", "^NPB", "-r", "-p", "one")
    site.reframe(*arguments, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"), FABRICBENCH_NPB_RANKS="1")
    files = [json.loads(file.read_text()) for file in (site.root / "campaign").rglob("skipped.json")]
    (skip,) = (one for one in files if one["benchmark"] == "is.A")
    lacks = "fabricbench-is was built for x86-64-v3, and the processors of the nodes lack avx2, fma"
    assert (skip["reason"], skip["hint"]) == (lacks, "run: fabricbench setup --target x86-64-v2")
    assert skip["expected"][0]["case"] == "code=own"


def test_tiers_choose_the_ranks(site: FakeSite) -> None:
    """The quick tier has one number of ranks and a small class, the others every power of two."""

    def count_of(check: str, tier: str) -> int:
        result = site.reframe("-c", "reframe_checks", "-n", f"^{check}", "-t", f"^{tier}$", "-L")
        return result.stdout.count(f"- {check} %")

    assert [count_of("NasQuick", tier) for tier in ("quick", "standard", "acceptance")] == [3, 3, 3]
    assert count_of("NPB", "quick") == 0
    assert count_of("NPB", "standard") == count_of("NPB", "acceptance") == 3 * len(os.sched_getaffinity(0)).bit_length()


@pytest.mark.parametrize("ranks", ["3", "two", "2,", "0"])
def test_a_number_of_ranks_that_is_not_a_power_of_two(site: FakeSite, ranks: str) -> None:
    result = site.reframe("-c", "reframe_checks", "-n", "^NPB", "-r", FABRICBENCH_NPB_RANKS=ranks)
    assert result.returncode == 2
    assert f"FABRICBENCH_NPB_RANKS: '{ranks}'; expected powers of two, as in 1,2,4" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
