# SPDX-License-Identifier: Apache-2.0
"""Compares the ranks' processors with the requested binding, on two sockets of two cores with two threads each."""

from typing import Any

import pytest

from fabricbench.attestation.binding import check_binding, processors
from fabricbench.launch.facts import Launch
from fabricbench.launch.host import Host, Topology
from fabricbench.launch.record import Attestation, BindingCheck, RankBinding
from fabricbench.launch.witness import Report

TOPOLOGY = Topology(cores=("0,4", "1,5", "2,6", "3,7"), sockets=("0-1,4-5", "2-3,6-7"), numa=("0-1,4-5", "2-3,6-7"))
NODES = [Host(host=name, topology=TOPOLOGY) for name in ("a", "b")]


def launch(binding: str, ranks: int, **values: Any) -> Launch:
    facts = {
        "id": "x", "block": 0, "position": 0, "system": "s", "fabric": "f", "transport": "tcp", "stack": "mpich",
        "tool": "micro", "benchmark": "pingpong", "nodes": 1, "argv": (), "limit_seconds": 1,
    }  # fmt: skip
    return Launch.model_validate(facts | {"ranks": ranks, "binding": binding} | values)


def report(rank: int | None, cpus: str | None, host: str = "a", **values: Any) -> Report:
    defaults: dict[str, Any] = {"pid": 1, "forked": False, "exe": "x", "sockets": (), "cpu_seconds": 1}
    return Report(**{**defaults, "host": host, "rank": rank, "cpus": cpus, **values})


def check(launch: Launch, reports: list[Report], hosts: list[Host]) -> BindingCheck:
    """Returns the check of a launch without a requested port."""
    return check_binding(launch, reports, hosts, Attestation(state="attested", reason=""))


def problem(binding: str, *cpus: str, hosts: tuple[str, ...] = ("a",)) -> str:
    """Returns the binding problem of ranks with these processors, placed on the nodes in turn."""
    reports = [report(rank, text, hosts[rank % len(hosts)]) for rank, text in enumerate(cpus)]
    return check(launch(binding, len(cpus)), reports, NODES).problem


def test_lists_of_processors() -> None:
    assert processors("0-3,8") == {0, 1, 2, 3, 8}
    assert processors("") == frozenset()


@pytest.mark.parametrize(
    ("binding", "cpus"),
    [
        ("none", ("0-7", "0-7")),
        ("none", ("0", "0")),
        ("core", ("0,4", "1,5", "2,6", "3,7")),
        ("core", ("0", "1")),  # one thread of a core that has two
        ("socket", ("0-1,4-5", "2-3,6-7")),
        ("socket", ("0-1,4-5", "0-1,4-5")),
        ("numa", ("0", "1")),  # fewer processors than requested
    ],
)
def test_the_binding_equals_the_request(binding: str, cpus: tuple[str, ...]) -> None:
    assert problem(binding, *cpus) == ""


def test_each_node_is_checked_separately() -> None:
    assert problem("core", "0,4", "0,4", hosts=("a", "b")) == ""


@pytest.mark.parametrize(
    ("binding", "cpus", "text"),
    [
        ("core", ("0-7", "0-7"), "rank 0 on a could run on 8 processors; so could 1 more"),
        ("core", ("0,4", "1,6"), "rank 1 on a could run on 2 processors"),
        ("socket", ("0-3", "2-3"), "rank 0 on a could run on 4 processors"),
        ("numa", ("",), "rank 0 on a could run on 0 processors"),
        ("core", ("0", "0"), "ranks 0, 1 on a shared 1 core"),
        ("core", ("0", "4"), "ranks 0, 1 on a shared 1 core"),  # two threads of one core
        ("socket", ("0-1,4-5",) * 3, "ranks 0, 1, 2 on a shared 2 cores"),
        ("numa", ("3", "3", "0"), "ranks 0, 1 on a shared 1 core"),
    ],
)
def test_the_binding_differs_from_the_request(binding: str, cpus: tuple[str, ...], text: str) -> None:
    name = {"numa": "NUMA node"}.get(binding, binding)
    assert problem(binding, *cpus) == f"a {name} was requested for each rank, but {text}"


def test_missing_facts_are_reported() -> None:
    reports = [report(0, "0"), report(1, None)]
    assert "1 of 2 ranks did not report where they ran" in check(launch("core", 2), reports, NODES).problem
    elsewhere = [report(0, "0"), report(1, "1", host="c")]
    assert "c did not report its processor topology" in check(launch("core", 2), elsewhere, NODES).problem


def test_the_busiest_process_counts_with_its_processors_at_the_end() -> None:
    reports = [
        report(0, "0-7", pid=1, cpu_seconds=0.1),
        report(0, "0-7", pid=2, cpu_seconds=5, cpus_at_end="2,6"),
        report(None, "0-7"),
    ]
    result = check(launch("core", 1), reports, NODES)
    assert (result.problem, result.ranks) == ("", (RankBinding(host="a", rank=0, cpus="2,6"),))
