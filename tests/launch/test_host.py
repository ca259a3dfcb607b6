# SPDX-License-Identifier: Apache-2.0
"""The foreign load of machines on which daemons started the ranks."""

from typing import Any

import pytest

from fabricbench.launch.host import Host, foreign_cpu_share
from fabricbench.launch.witness import Report


def host(name: str, boot_id: str | None, **values: Any) -> Host:
    return Host(**{"host": name, "boot_id": boot_id, "cores": 4, "seconds": 10, "busy_cpu_seconds": 12, **values})


def report(where: str, rank: int, cpu_seconds: float | None, **values: Any) -> Report:
    fields: dict[str, Any] = {"pid": 1, "forked": False, "exe": "x", "sockets": ()}
    return Report(**{**fields, "host": where, "rank": rank, "cpu_seconds": cpu_seconds, **values})


def test_the_machine_with_the_largest_load_counts() -> None:
    hosts = [host("a", "1"), host("b", "2", busy_cpu_seconds=20)]
    assert foreign_cpu_share(hosts, [report("a", 0, 10), report("b", 1, 8)], 2) == pytest.approx(12 / 40)


def test_nodes_of_one_boot_are_one_machine() -> None:
    hosts = [host("a", "1"), host("b", "1")]
    assert foreign_cpu_share(hosts, [report("a", 0, 5), report("b", 1, 5)], 2) == pytest.approx(2 / 40)


def test_clock_ticks_give_no_negative_load() -> None:
    assert foreign_cpu_share([host("a", "1")], [report("a", 0, 12.1)], 1) == 0


def test_helpers_and_fork_children_belong_to_the_launch() -> None:
    reports = [report("a", 0, 5), report("a", 0, 4, pid=2), report("a", 0, 3, forked=True)]
    assert foreign_cpu_share([host("a", "1")], reports, 1) == 0


def test_the_share_recorded_by_the_wrapper_has_priority() -> None:
    assert foreign_cpu_share([host("a", "1", foreign_cpu_share=0.25)], [report("a", 0, 0)], 1) == 0.25


@pytest.mark.parametrize(
    ("hosts", "reports"),
    [
        ([], []),
        ([host("a", "1")], [report("a", 0, 5)]),  # rank 1 was killed
        ([host("a", "1")], [report("a", 0, 5), report("a", 1, None)]),  # a report without the CPU time
        ([host("a", "1", busy_cpu_seconds=None)], [report("a", 0, 5), report("a", 1, 5)]),  # the node died
        ([host("a", "1", seconds=0)], [report("a", 0, 5), report("a", 1, 5)]),
        ([host("a", None)], [report("a", 0, 5), report("a", 1, 5)]),
    ],
)
def test_the_share_is_unknown_without_the_facts(hosts: list[Host], reports: list[Report]) -> None:
    assert foreign_cpu_share(hosts, reports, 2) is None
