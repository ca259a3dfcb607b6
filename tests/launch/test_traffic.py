# SPDX-License-Identifier: Apache-2.0
"""The traffic between ranks from witness files: every connection counts once."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.record import Traffic
from fabricbench.launch.witness import Report, Socket, interval_traffic, printed_lines, read_reports, traffic

A, B = "10.0.0.1:5000", "10.0.0.2:6000"
_inodes = itertools.count(1)


def end(local: str, peer: str, tx: tuple[int, int], rx: tuple[int, int], inode: int | None = None) -> Socket:
    """One end of a connection; ``tx`` and ``rx`` are (bytes, segments)."""
    return Socket(
        inode=next(_inodes) if inode is None else inode,
        local=local,
        peer=peer,
        tx_bytes=tx[0],
        tx_segs=tx[1],
        rx_bytes=rx[0],
        rx_segs=rx[1],
    )


def report(rank: int | None, *ends: Socket, host: str = "a", **values: Any) -> Report:
    fields: dict[str, Any] = {"pid": 1, "forked": False, "exe": "x"}
    return Report.model_validate({**fields, "host": host, "rank": rank, "sockets": ends, **values})


def traffic_of(*reports: Report) -> Traffic:
    result = traffic(reports)
    assert result is not None
    return result


def counts(*reports: Report) -> tuple[int, int, int]:
    """Returns connections, bytes and segments, which must not depend on the order of the reports."""
    result = {
        (s.connections, s.bytes, s.segments) for s in (traffic_of(*order) for order in itertools.permutations(reports))
    }
    assert len(result) == 1
    return result.pop()


def test_both_ends_of_a_connection_report_equal_counts() -> None:
    one, two = report(0, end(A, B, (100, 2), (30, 1))), report(1, end(B, A, (30, 1), (100, 2)), host="b")
    assert counts(one, two) == (1, 130, 3)
    assert traffic_of(one, two).by_peer == {"10.0.0.1 - 10.0.0.2": 130}


def test_in_each_direction_the_larger_end_counts() -> None:
    # A to B: sent 100 in 2, received 90 in 3. B to A: sent 20 in 1, received 30 in 4.
    one, two = report(0, end(A, B, (100, 2), (30, 4))), report(1, end(B, A, (20, 1), (90, 3)), host="b")
    assert counts(one, two) == (1, 130, 7)


def test_one_end_alone_has_the_count_of_both_directions() -> None:
    assert counts(report(0, end(A, B, (100, 2), (30, 4)))) == (1, 130, 6)
    assert counts(report(0, end(A, B, (100, 2), (30, 4))), report(1, host="b")) == (1, 130, 6)


def test_the_peer_of_a_killed_process_has_its_counts() -> None:
    one, two = report(0, end(A, B, (100, 2), (30, 4))), report(1, end(B, A, (0, 0), (1, 1)), host="b")
    assert counts(one, two) == (1, 130, 6)


def test_a_forked_child_with_the_same_socket_is_not_counted_again() -> None:
    parent = report(0, end(A, B, (100, 2), (30, 4), inode=7))
    child = report(0, end(A, B, (80, 1), (40, 5), inode=7), forked=True, pid=2)
    assert counts(parent, child) == (1, 140, 7)
    assert traffic_of(parent, child).reports == 1


def test_a_forked_child_is_not_a_rank() -> None:
    child = report(0, end(A, B, (100, 2), (30, 4)), forked=True)
    assert traffic([child]) is None
    assert traffic([]) is None
    assert traffic([report(None, end(A, B, (1, 1), (1, 1)))]) is None
    assert traffic_of(report(1, host="b"), child).bytes == 130


def test_ranks_are_distinguished_by_host() -> None:
    assert traffic_of(report(0), report(0, pid=2), report(1), report(0, host="b")).reports == 3


def test_several_connections_between_the_same_ranks() -> None:
    second = ("10.0.0.1:5001", "10.0.0.2:6001")
    one = report(0, end(A, B, (100, 2), (30, 1)), end(*second, (1000, 5), (0, 0)))
    two = report(1, end(B, A, (30, 1), (100, 2)), end(second[1], second[0], (0, 0), (1000, 5)), host="b")
    assert counts(one, two) == (2, 1130, 8)
    assert traffic_of(one, two).by_peer == {"10.0.0.1 - 10.0.0.2": 1130}


def test_a_host_to_itself_by_its_own_address() -> None:
    one, two = "10.0.0.1:5000", "10.0.0.1:6000"
    result = traffic_of(report(0, end(one, two, (9, 1), (4, 1))), report(1, end(two, one, (4, 1), (9, 1))))
    assert result.by_peer == {"10.0.0.1": 13}


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "127.3.0.1:{}", "[::1]:{}"])
def test_loopbacks_of_two_hosts_with_the_same_ports_are_two_connections(address: str) -> None:
    one, two = address.format(5000), address.format(6000)
    reports = [
        report(rank, end(one, two, (10, 1), (20, 1)), end(two, one, (20, 1), (10, 1)), host=host)
        for rank, host in enumerate("ab")
    ]
    assert counts(*reports) == (2, 60, 4)
    assert traffic_of(*reports).by_peer == {"a (loopback)": 30, "b (loopback)": 30}


ELSEWHERE = "192.0.2.9:7000"


def test_bytes_to_addresses_outside_the_ranks_nodes_are_excluded() -> None:
    one = report(0, end(A, B, (100, 2), (30, 1)), end("10.0.0.1:5001", ELSEWHERE, (10**6, 900), (0, 0)))
    two = report(1, end(B, A, (30, 1), (100, 2)), host="b")
    result = traffic((one, two), 2)
    assert result is not None
    assert (result.bytes, result.segments, result.bytes_between, result.bytes_elsewhere) == (130, 3, 130, 10**6)


def test_addresses_of_a_rank_without_a_report_count() -> None:
    result = traffic((report(0, end(A, B, (100, 2), (30, 1))),), 2)
    assert result is not None
    assert (result.bytes, result.bytes_elsewhere) == (130, 0)


def marks(label: str, count: int) -> dict[str, Any]:
    return {"label": label, "same_node": {"bytes": count, "segments": 1}, "other_node": {"bytes": 0, "segments": 0}}


def test_intervals_of_all_ranks_add_up_without_overflow() -> None:
    largest = 2**64 - 1
    result = interval_traffic([report(rank, intervals=[marks("8", largest)]) for rank in range(2)])
    assert (result["8"].ranks, result["8"].same_node.bytes) == (2, 2 * largest)


@pytest.mark.parametrize(
    "reports",
    [
        [report(0, intervals=[marks("8", 1), marks("8", 1)]), report(1)],
        [report(0, intervals=[marks("8", 1)]), report(0, intervals=[marks("8", 2)])],
        [report(0, intervals=[marks("8", 1)], dropped_marks=1), report(1, intervals=[marks("8", 1)])],
    ],
)
def test_repeated_or_lost_marks_are_ignored(reports: list[Report]) -> None:
    assert interval_traffic(reports) == {}


def test_lines_are_those_of_one_process_of_rank_0() -> None:
    one = report(0, lines=[marks("8 5 1.0", 3)])
    assert [line.label for line in printed_lines((one, report(1, lines=[marks("x", 1)])))] == ["8 5 1.0"]
    assert printed_lines((one, report(0, lines=[marks("8 5 1.0", 3)]))) == ()


def test_ipv6_addresses() -> None:
    one, two = "[fe80::1]:5000", "[fe80::2]:6000"
    result = traffic_of(report(0, end(one, two, (1, 1), (2, 1))), report(1, end(two, one, (2, 1), (1, 1)), host="b"))
    assert (result.connections, result.by_peer) == (1, {"[fe80::1] - [fe80::2]": 3})


@pytest.mark.parametrize("end_without_peer", [0, 1])
def test_a_connection_that_was_reset_is_joined_to_its_other_end(end_without_peer: int) -> None:
    one, two = (
        end(A, B if end_without_peer else "", (100, 2), (30, 1)),
        end(B, "" if end_without_peer else A, (30, 1), (100, 2)),
    )
    assert counts(report(0, one), report(1, two, host="b")) == (1, 130, 3)


def test_a_reset_loopback_is_joined_on_its_own_host() -> None:
    # Host b uses the same ports with another partner; the reset end of host a must not be joined to it.
    x, y, z = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
    here = report(0, end(x, "", (100, 1), (10, 1)), end(y, x, (10, 1), (100, 1)))
    there = report(1, end(z, x, (5, 1), (6, 1)), host="b")
    assert counts(here, there) == (2, 121, 4)
    assert traffic_of(here, there).by_peer == {"a (loopback)": 110, "b (loopback)": 11}


def test_reset_loopbacks_of_two_hosts_without_their_other_ends() -> None:
    reports = [report(rank, end("127.0.0.1:1", "", (10, 1), (0, 0)), host=host) for rank, host in enumerate("ab")]
    assert counts(*reports) == (2, 20, 2)


def test_a_connection_with_an_unknown_peer_counts() -> None:
    assert counts(report(0, end(A, "", (100, 2), (30, 1)))) == (1, 130, 3)


def test_ranks_without_sockets_carry_nothing() -> None:
    result = traffic_of(report(0), report(1))
    assert (result.reports, result.connections, result.bytes, result.segments, result.by_peer) == (2, 0, 0, 0, {})


def test_devices_libraries_maps_and_drops_are_collected() -> None:
    one = report(
        0, devices=["/dev/b", "/dev/a"], libraries=["libx.so"], shared_maps={"count": 2}, dropped={"sockets": 3}
    )
    two = report(1, devices=["/dev/a"], libraries=["liba.so"], shared_maps={"count": 5}, dropped={"sockets": 4})
    result = traffic_of(one, two)
    assert (result.devices, result.libraries) == (("/dev/a", "/dev/b"), ("liba.so", "libx.so"))
    assert (result.shared_maps, result.dropped) == (7, 7)


def test_witness_files_are_read_in_order_of_name(tmp_path: Path) -> None:
    for name in ("witness.b.1.json", "witness.a.0.json", "witness.a.0.77.json", "witness.x", ".witness.a.1.2.3.tmp"):
        text = report(0, host=name).model_dump_json() if name.endswith("json") else "no report"
        (tmp_path / name).write_text(text)
    hosts = [each.host for each in read_reports(tmp_path)]
    assert hosts == ["witness.a.0.77.json", "witness.a.0.json", "witness.b.1.json"]
    assert read_reports(tmp_path / "nowhere") == ()


def test_a_node_s_ranks_in_one_file(tmp_path: Path) -> None:
    lines = [report(rank, end(A, B, (rank, 1), (0, 0)), host="a").model_dump_json() for rank in range(100)]
    (tmp_path / "witness.a.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "witness.b.100.json").write_text(report(100, host="b").model_dump_json())
    result = read_reports(tmp_path)
    assert [each.rank for each in result] == list(range(101))
    assert traffic_of(*result).reports == 101
    (tmp_path / "witness.a.jsonl").write_text("\n".join([*lines[:2], lines[2][:-9]]))
    with pytest.raises(ValueError, match=r"^witness\.a\.jsonl, line 3: not a witness report: "):
        read_reports(tmp_path)


@pytest.mark.parametrize("cpus", ["0-", "1,", "a", "12345", "0-1 ", "0" * 9000])
def test_invalid_processor_lists_are_refused(tmp_path: Path, cpus: str) -> None:
    text = json.dumps(json.loads(report(0).model_dump_json()) | {"cpus": cpus})
    (tmp_path / "witness.a.0.json").write_text(text)
    with pytest.raises(ValueError, match="cpus"):
        read_reports(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"host": "a"}', b'{"host": "\\ud800"}'],
)
def test_an_error_names_the_first_invalid_report(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "witness.a.0.json").write_text(report(0).model_dump_json())
    (tmp_path / "witness.a.1.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"^witness\.a\.1\.json: not a witness report: ") as caught:
        read_reports(tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_unknown_keys_of_a_report_are_ignored(tmp_path: Path) -> None:
    facts = json.loads(report(0).model_dump_json()) | {"something_new": 1}
    (tmp_path / "witness.a.0.json").write_text(json.dumps(facts))
    assert read_reports(tmp_path) == (report(0),)
