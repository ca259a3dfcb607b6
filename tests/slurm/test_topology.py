# SPDX-License-Identifier: Apache-2.0
"""The switches in the answers of a real Slurm (tests/data/machines/slurm-22.05), and without any."""

from pathlib import Path

import pytest

from discovery.machines import CLUSTER
from fabricbench.runner.plan import Plan
from fabricbench.slurm import state
from fabricbench.slurm.state import NoAnswer
from fabricbench.slurm.topology import leaf_switches, parsed


def test_the_leaf_switches_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "topology", (CLUSTER / "topology").read_text)
    assert leaf_switches() == ("leaf1=n[1-2]", "leaf2=n[3-4]")


@pytest.mark.parametrize(
    ("variable", "switches"),
    [("MicroBarrier.distance=near", ("leaf1=n[1-2]", "leaf2=n[3-4]")), ("MicroBarrier.placement=cyclic", ())],
)
def test_a_plan_reads_them_only_for_a_distance(
    monkeypatch: pytest.MonkeyPatch, variable: str, switches: tuple[str, ...]
) -> None:
    monkeypatch.setattr(state, "topology", (CLUSTER / "topology").read_text)
    plan = Plan(
        path=Path("campaign"), system="local", tier="quick", seed=0, lanes=(), checks=(), variables=(variable,),
        budget_seconds=None, decided=lambda path: False,
    )  # fmt: skip
    assert plan.switches == switches


def test_a_cluster_without_a_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm 22.05 prints nothing then, apart from an error message, and exits with 0."""
    monkeypatch.setattr(state, "topology", lambda: "")
    assert leaf_switches() == ()


def test_a_machine_without_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise NoAnswer("no scontrol on PATH")

    monkeypatch.setattr(state, "topology", refuse)
    assert leaf_switches() == ()


def test_blocks_count_as_switches() -> None:
    """The form of topology/block, by Slurm's documentation of scontrol."""
    lines = ["BlockName=b1 BlockIndex=0 Nodes=n[01-18] BlockSize=18", "AggregatedBlock=b[1-2] BlockSize=36"]
    assert parsed(lines) == ("b1=n[01-18]",)
