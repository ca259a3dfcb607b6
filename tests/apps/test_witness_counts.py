# SPDX-License-Identifier: Apache-2.0
"""Tests that the witness counts each socket once, with small programs that communicate over the loopback interface."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.witnessed import Json, Run, by_tx, environment, reports


def counts(entry: Json) -> tuple[int, int, int, int]:
    """Returns bytes and segments of one socket."""
    return entry["tx_bytes"], entry["rx_bytes"], entry["tx_segs"], entry["rx_segs"]


@pytest.mark.parametrize(
    ("what", "status", "ended"),
    [
        ("once", 0, "exit"),
        ("dup2", 0, "exit"),
        ("close_range", 0, "exit"),
        ("close", 42, "exit"),
        ("_exit", 7, "_exit"),
        ("_Exit", 7, "_exit"),
        ("quick_exit", 7, "_exit"),
        ("reset", 0, "exit"),
    ],
)
def test_each_socket_counts_once_however_it_ends(run: Run, what: str, status: int, ended: str) -> None:
    (report,) = run(what, status)
    sender, receiver = by_tx(report)
    assert report["ended"] == ended
    assert counts(sender) == (1000, 0, 1, 0)
    assert counts(receiver) == (0, 1000, 0, 1)
    assert (sender["local"], sender["peer"]) == (receiver["peer"], receiver["local"])
    assert sender["local"].startswith("127.0.0.1:")
    assert sender["inode"] != receiver["inode"]


def same_node(intervals: list[Json]) -> list[tuple[str, int, int]]:
    """Returns label, bytes and segments of each interval. Asserts that no traffic went to other nodes."""
    assert {entry["other_node"]["bytes"] for entry in intervals} <= {0}
    return [(entry["label"], entry["same_node"]["bytes"], entry["same_node"]["segments"]) for entry in intervals]


def test_a_marked_interval_counts_the_traffic_within_it(run: Run) -> None:
    """Intervals with the same label are summed. Sockets closed within one count. An unmatched end is ignored."""
    (report,) = run("marks")
    assert same_node(report["intervals"]) == [("first.8", 111, 2), ("second", 14, 2)]
    assert report["dropped_marks"] == 1, "the interval with a label that is too long"
    assert sum(entry["tx_bytes"] for entry in report["sockets"]) == 1000 + 111 + 5000 + 14


@pytest.mark.parametrize("what", ["lines", "lines-unbuffered"])
def test_flushed_lines_separate_the_sizes(run: Run, what: str) -> None:
    """Each line has the traffic since the previous flush. Here both ends of a connection count each byte."""
    (report,) = run(what)
    assert same_node(report["lines"]) == [
        ("#bytes t", 2 * 4000, 2 * 2),
        ("     100 0.50", 2 * 100, 2 * 1),
        ("     200 0.75", 2 * 201, 2 * 2),
    ]


def test_threads_print_and_flush_concurrently(run: Run) -> None:
    """The threads print more lines than the table holds. The set of stored lines is not deterministic."""
    (report,) = run("lines-threads")
    assert 0 < len(report["lines"]) <= 1024


FORTIFIED = """
#include <stdio.h>
#include <string.h>
int main(void) {
  char format[16];
  int count = 0;
  strcpy(format, "%d%n\\n");
  printf(format, 7, &count);
  return 0;
}
"""


def test_a_fortified_program_keeps_its_checks(witness: Path, tmp_path: Path) -> None:
    """Such a program aborts at %n in a writable format string."""
    (tmp_path / "fortified.c").write_text(FORTIFIED)
    program = tmp_path / "fortified"
    command = ["cc", "-w", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-o", str(program)]
    subprocess.run([*command, str(tmp_path / "fortified.c")], check=True, timeout=60)
    (out := tmp_path / "out").mkdir()
    statuses = {
        subprocess.run([program], env=env, capture_output=True, timeout=60).returncode
        for env in (
            environment(witness, None) | {"LD_PRELOAD": ""},
            environment(witness, None),
            environment(witness, out),
        )
    }
    assert statuses == {-signal.SIGABRT}


@pytest.mark.parametrize("what", ["lines", "lines-unbuffered"])
def test_the_printed_text_does_not_change(witness: Path, victim: Path, tmp_path: Path, what: str) -> None:
    alone, watched = (
        subprocess.run([victim, what], env=env, capture_output=True, timeout=60).stdout
        for env in (environment(witness, None), environment(witness, tmp_path))
    )
    assert watched == alone == b"# A benchmark\n#bytes t\n     100 0.50\n     200 0.75\n\n"


TALK = """
import socket, sys
family, address, port, role, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
here = socket.AF_INET6 if family == "6" else socket.AF_INET
if role == "server":
    with socket.socket(here) as server:
        server.bind((address, port))
        server.listen()
        print(server.getsockname()[1], flush=True)
        link, _ = server.accept()
    while size > 0:
        size -= len(link.recv(min(size, 65536)))
    link.sendall(b"done")
    link.recv(1)
else:
    link = socket.socket(here)
    link.connect((address, port))
    link.sendall(bytes(size))
    link.recv(4, socket.MSG_WAITALL)
    if len(sys.argv) > 6:
        import os
        os.kill(os.getpid(), 9)
link.close()
"""


def talk(witness: Path, out: Path, family: str, address: str, server_address: str, *more: str) -> int:
    """Runs a server and a client as two ranks. Returns the exit status of the client."""
    size = "3000000"
    command = [sys.executable, "-c", TALK, family]
    with subprocess.Popen(
        [*command, server_address, "0", "server", size],
        env=environment(witness, out, PMI_RANK="0", PMI_SIZE="2"),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        env = environment(witness, out, PMI_RANK="1", PMI_SIZE="2")
        client = subprocess.run([*command, address, port, "client", size, *more], env=env, timeout=60)
    return client.returncode


@pytest.mark.parametrize(
    ("family", "address", "bind", "begins"),
    [
        ("4", "127.0.0.1", "127.0.0.1", "127.0.0.1:"),
        ("6", "::1", "::1", "[::1]:"),
        ("6", "::ffff:127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1:"),
    ],
)
def test_both_ends_of_a_connection_report_equal_counts(
    witness: Path, tmp_path: Path, family: str, address: str, bind: str, begins: str
) -> None:
    try:
        with socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET) as probe:
            probe.bind((bind, 0))
    except OSError as error:
        pytest.skip(f"no {bind} here: {error}")
    assert talk(witness, tmp_path, family, address, bind) == 0
    server, client = sorted(reports(tmp_path), key=lambda report: int(report["rank"]))
    (there,), (here,) = server["sockets"], client["sockets"]
    assert (here["tx_bytes"], here["rx_bytes"]) == (3000000, 4)
    assert (there["tx_bytes"], there["rx_bytes"]) == (4, 3000000)
    assert (here["local"], here["peer"]) == (there["peer"], there["local"])
    assert here["peer"].startswith(begins)


def test_a_killed_process_has_no_report_and_its_peer_has_the_count(witness: Path, tmp_path: Path) -> None:
    assert talk(witness, tmp_path, "4", "127.0.0.1", "127.0.0.1", "killed") == -signal.SIGKILL
    (server,) = reports(tmp_path)
    assert server["rank"] == 0
    assert server["sockets"][0]["rx_bytes"] in (3000000, 3000001)  # the kernel counts a FIN as a byte


def test_a_single_killed_process_has_no_report(run: Run) -> None:
    assert run("kill", -signal.SIGKILL) == []


def test_threads_close_concurrently(run: Run) -> None:
    (report,) = run("threads")
    assert len(report["sockets"]) == 1000
    assert sorted(entry["tx_bytes"] for entry in report["sockets"])[500:] == list(range(1, 501))
    assert sorted(entry["rx_bytes"] for entry in report["sockets"])[500:] == list(range(1, 501))
    assert report["dropped"]["sockets"] == 0


def test_sockets_beyond_the_table_add_to_the_dropped_counters(run: Run) -> None:
    (report,) = run("overflow")
    sockets, dropped = report["sockets"], report["dropped"]
    assert (len(sockets), dropped["sockets"]) == (4096, 104)
    for key, total in (("tx_bytes", 2100000), ("rx_bytes", 2100000), ("tx_segs", 2100), ("rx_segs", 2100)):
        assert sum(entry[key] for entry in sockets) + dropped[key] == total


def test_fork_child_reports_its_sockets(run: Run) -> None:
    parent, child = run("fork")
    assert (parent["forked"], child["forked"]) == (False, True)
    assert [entry["tx_bytes"] for entry in by_tx(parent)] == [1000, 0]
    assert parent["pid"] != child["pid"]
    # The child's own socket pair, and the inherited pair, which is still open at its end and has the parent's inodes.
    assert [entry["tx_bytes"] for entry in by_tx(child)] == [1000, 1000, 0, 0]
    inherited = {entry["inode"] for entry in parent["sockets"]}
    assert len(inherited & {entry["inode"] for entry in child["sockets"]}) == 2


def test_fork_child_without_sockets_writes_nothing(run: Run) -> None:
    (report,) = run("fork-idle")
    assert not report["forked"]
    assert len(report["sockets"]) == 2


def test_vfork_child_does_not_write_the_report_of_its_parent(run: Run) -> None:
    (report,) = run("vfork")
    assert report["ended"] == "exit"
    assert [entry["tx_bytes"] for entry in by_tx(report)] == [2000, 0]


def test_other_sockets_are_counted(run: Run) -> None:
    (report,) = run("others")
    assert (report["udp_sockets"], report["unix_sockets"], report["sockets"]) == (1, 2, [])


def test_shared_maps(run: Run) -> None:
    (report,) = run("shared")
    assert report["shared_maps"] == {"count": 1, "bytes": 8192}
