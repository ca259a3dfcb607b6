# SPDX-License-Identifier: Apache-2.0
"""The sum of a node's witness reports gives the same traffic as the separate reports."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fabricbench.launch.node_witness import (
    MOST_PEERS,
    OTHER_PEERS,
    NodeReport,
    node_intervals,
    node_lines,
    node_traffic,
)
from fabricbench.launch.record import Traffic
from fabricbench.launch.witness import (
    Report,
    interval_traffic,
    printed_lines,
    read_reports,
    report_files,
    traffic,
)
from fabricbench.launch.witness_sums import list_text, summed
from support.launches import LAUNCHES

CAPTURES = sorted(path.name for path in LAUNCHES.iterdir() if report_files(path))
A, B, ELSEWHERE = "10.0.0.1", "10.0.0.2", "192.0.2.9"


def ranks_of(name: str) -> int:
    ranks: int = json.loads((LAUNCHES / name / "launch.json").read_text())["ranks"]
    return ranks


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_reports_have_the_same_sum(name: str) -> None:
    try:
        reports = read_reports(LAUNCHES / name)
    except ValueError:
        return  # a capture with a damaged report
    nodes = {host: NodeReport.model_validate_json(one.model_dump_json()) for host, one in summed(reports).items()}
    assert node_traffic(nodes, ranks_of(name)) == traffic(reports, ranks_of(name))
    assert node_intervals(nodes) == interval_traffic(reports)
    assert [line.label for line in node_lines(nodes)] == [line.label for line in printed_lines(reports)]


def socket(local: str, peer: str, tx: int, rx: int) -> dict[str, Any]:
    segments = {"tx_segs": tx // 10, "rx_segs": rx // 10}
    return {"inode": 1, "local": local, "peer": peer, "tx_bytes": tx, "rx_bytes": rx, **segments}


def report(rank: int, host: str, *sockets: dict[str, Any], **values: Any) -> Report:
    fields = {"pid": 1, "forked": False, "exe": "x", "sockets": sockets, "cpus": "0-3", "cpu_seconds": 0.5}
    return Report.model_validate({**fields, "host": host, "rank": rank, **values})


def sums_of(*reports: Report) -> Traffic:
    result = node_traffic(summed(reports), len(reports))
    assert result is not None
    return result


def test_both_nodes_reported_every_connection() -> None:
    one = report(0, "a", socket(f"{A}:1", f"{B}:2", 100, 30), socket(f"{A}:3", f"{B}:4", 1000, 0))
    two = report(1, "b", socket(f"{B}:2", f"{A}:1", 30, 100), socket(f"{B}:4", f"{A}:3", 0, 1000))
    assert sums_of(one, two) == traffic((one, two), 2)
    assert sums_of(one, two).bytes_between == sums_of(one, two).bytes == 1130


def test_of_the_two_sums_of_a_direction_the_larger_one_counts() -> None:
    """By connection it would be 100 + 1000; a sum over connections can only be less."""
    one = report(0, "a", socket(f"{A}:1", f"{B}:2", 100, 0), socket(f"{A}:3", f"{B}:4", 900, 0))
    two = report(1, "b", socket(f"{B}:2", f"{A}:1", 0, 50), socket(f"{B}:4", f"{A}:3", 0, 1000))
    assert sums_of(one, two).bytes == 1050
    assert sums_of(one, report(1, "b")).bytes_elsewhere == 1000
    assert sums_of(one, report(1, "b")).bytes == 0


def test_a_node_without_a_report_is_not_elsewhere() -> None:
    one = report(0, "a", socket(f"{A}:1", f"{B}:2", 100, 30))
    result = node_traffic(summed([one]), 2)
    assert result is not None
    assert (result.bytes, result.bytes_elsewhere, result.reports) == (130, 0, 1)


def test_loopbacks_of_two_nodes_are_two_connections() -> None:
    ends = [socket("127.0.0.1:1", "127.0.0.1:2", 10, 20), socket("127.0.0.1:2", "127.0.0.1:1", 20, 10)]
    result = sums_of(report(0, "a", *ends), report(1, "b", *ends))
    assert (result.connections, result.bytes, result.bytes_between) == (2, 60, 0)
    assert result.by_peer == {"a (loopback)": 30, "b (loopback)": 30}


def test_only_the_largest_pairs_of_addresses_are_listed() -> None:
    count = MOST_PEERS + 10
    peers = [[A, f"10.1.{at // 250}.{at % 250}", 1, 1, at, 0, 1, 0] for at in range(count)]
    facts = {"reports": 1, "main_processes": 1, "cpu_microseconds": 1, "sockets": peers}
    facts["ranks"] = [{"cpus": "0", "ranks": "0", "count": 1}]
    result = node_traffic({"a": NodeReport.model_validate(facts)}, 2)
    assert result is not None
    assert len(result.by_peer) == MOST_PEERS + 1
    assert result.by_peer[OTHER_PEERS] == sum(range(10))
    assert sum(result.by_peer.values()) == result.bytes == sum(range(count))


def test_lost_or_repeated_marks_are_ignored() -> None:
    interval = {"label": "8", "same_node": {"bytes": 1, "segments": 1}, "other_node": {"bytes": 2, "segments": 1}}
    one = report(0, "a", intervals=[interval])
    (traffic_of_both,) = node_intervals(summed([one, report(1, "b", intervals=[interval])])).values()
    assert (traffic_of_both.ranks, traffic_of_both.other_node.bytes) == (2, 4)
    assert node_intervals(summed([one, report(0, "a", intervals=[interval], pid=2)])) == {}
    assert node_intervals(summed([one, report(1, "b", dropped_marks=1)])) == {}


def test_lists_of_ranks() -> None:
    assert list_text([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert list_text([]) == ""


@pytest.mark.parametrize("ranks", ["", "0-", "a", "0-99999999999", "1,,2", "-1"])
def test_a_wrong_list_of_ranks_is_refused(ranks: str) -> None:
    facts = {"reports": 1, "main_processes": 1, "cpu_microseconds": 1}
    with pytest.raises(ValidationError):
        NodeReport.model_validate({**facts, "ranks": [{"cpus": "0", "ranks": ranks, "count": 1}]})


def test_some_nodes_may_report_by_rank(tmp_path: Path) -> None:
    """A node without a safe directory for the gathering has a report of each rank."""
    one, two = (report(rank, "ab"[rank], socket(f"10.0.0.{rank + 1}:1", ELSEWHERE + ":2", 9, 0)) for rank in range(2))
    mixed = {**summed([one]), **{"b": NodeReport.model_validate_json(summed([two])["b"].model_dump_json())}}
    assert node_traffic(mixed, 2) == traffic((one, two), 2)
