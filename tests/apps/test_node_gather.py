# SPDX-License-Identifier: Apache-2.0
"""Tests how fabricbench-node adds up the witness reports of many ranks of a node in the file with the node's facts."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from fabricbench.attestation.binding import processors
from fabricbench.launch.host import Host
from fabricbench.launch.node_witness import NodeReport, node_intervals, node_lines, node_traffic
from fabricbench.launch.witness import interval_traffic, printed_lines, read_reports, traffic
from fabricbench.launch.witness_sums import summed
from support.node import HOST, environment

MANY = 70


def start_ranks(node: Path, witness: Path, out: Path, base: Path, ranks: int, *program: str) -> list[int]:
    """Starts ranks of one node whose reports are gathered in ``base``. Returns their exit statuses."""
    command: list[str | Path] = [node, "--dir", out, "--witness", witness, "--expect", str(ranks)]
    command += ["--gather", base, "--", *program]
    processes = [
        subprocess.Popen(command, env=environment(PMI_RANK=str(rank), PMI_SIZE=str(ranks), MPI_LOCALRANKID=str(rank)))
        for rank in range(ranks)
    ]
    return [process.wait(timeout=60) for process in processes]


def sums(out: Path) -> NodeReport:
    """Returns the sums in the one file of the node."""
    assert [path.name for path in out.iterdir()] == [HOST]
    witness = Host.model_validate_json((out / HOST).read_bytes()).witness
    assert witness is not None
    return witness


def ranks_of(node: NodeReport) -> list[int]:
    return sorted(rank for group in node.ranks for rank in processors(group.ranks))


def handshake(folder: Path, ranks: int) -> str:
    """Returns a shell program whose ranks wait for each other, as MPI ranks do."""
    return f': > "{folder}/$PMI_RANK"; while [ "$(ls {folder} | wc -l)" -lt {ranks} ]; do sleep 0.1; done'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Creates the node's directory and one for the handshake of the ranks. Returns the former."""
    (tmp_path / "met").mkdir()
    (tmp_path / "node").mkdir()
    return tmp_path / "node"


def test_many_ranks_write_one_file(node: Path, witness: Path, out: Path, base: Path, tmp_path: Path) -> None:
    assert start_ranks(node, witness, out, base, MANY, "sh", "-c", handshake(tmp_path / "met", MANY)) == [0] * MANY
    node_report = sums(out)
    assert ranks_of(node_report) == list(range(MANY))
    assert node_report.main_processes >= node_report.rank_count == MANY
    assert node_report.cpu_microseconds > 0
    assert list(base.iterdir()) == []


def test_a_killed_rank_does_not_lose_the_reports_of_others(
    node: Path, witness: Path, out: Path, base: Path, tmp_path: Path
) -> None:
    program = f'{handshake(tmp_path / "met", 3)}; [ "$PMI_RANK" != 1 ] || kill -KILL $$; sleep 0.3'
    assert start_ranks(node, witness, out, base, 3, "sh", "-c", program) == [0, -signal.SIGKILL, 0]
    assert {0, 2} <= set(ranks_of(sums(out)))
    assert list(base.iterdir()) == []


@pytest.mark.parametrize("what", ["once", "marks", "lines", "fork", "reset", "others"])
def test_the_sum_is_that_of_separate_reports(
    node: Path, witness: Path, victim: Path, out: Path, base: Path, tmp_path: Path, what: str
) -> None:
    separate = tmp_path / "separate"
    separate.mkdir()
    command: list[str | Path] = [node, "--dir", separate, "--witness", witness, "--", victim, what]
    subprocess.run(command, env=environment(PMI_RANK="0", MPI_LOCALRANKID="0"), stdout=subprocess.DEVNULL, timeout=60)
    reports = read_reports(separate)
    start_ranks(node, witness, out, base, 1, str(victim), what)
    gathered, computed = {"a": sums(out)}, summed(reports)
    expected = traffic(reports, 1)
    assert expected is not None
    for nodes in (gathered, computed):
        result = node_traffic(nodes, 1)
        assert result is not None
        for name in ("reports", "connections", "bytes", "bytes_between", "bytes_elsewhere", "devices", "libraries"):
            assert getattr(result, name) == getattr(expected, name), name
        assert [set(result.model_dump()), sum(result.by_peer.values())] == [set(expected.model_dump()), result.bytes]
        assert (result.udp_sockets, result.unix_sockets) == (expected.udp_sockets, expected.unix_sockets)
        assert node_intervals(nodes) == interval_traffic(reports)
        assert [line.label for line in node_lines(nodes)] == [line.label for line in printed_lines(reports)]
    marked = [(one.label, one.same_node.bytes) for report in reports for one in report.intervals]
    assert [(one.label, one.same_node.bytes) for one in gathered["a"].intervals] == marked
    assert gathered["a"].dropped_marks == sum(report.dropped_marks for report in reports)
    assert ((what == "marks") is bool(marked), (what == "lines") is bool(node_lines(gathered))) == (True, True)


def test_old_directories_of_killed_launches_are_removed(node: Path, witness: Path, out: Path, base: Path) -> None:
    old, new, other = (base / f"fabricbench.{user}.{n}" for n, user in enumerate([os.geteuid(), os.geteuid(), "x"]))
    for folder in (old, new, other):
        folder.mkdir(mode=0o700)
        (folder / "member.1").touch()
    for folder in (old, other):
        os.utime(folder, (0, 0))
    assert start_ranks(node, witness, out, base, 1, "true") == [0]
    assert sorted(base.iterdir()) == [new, other]


def test_a_failed_rank_does_not_wait_for_the_others(node: Path, witness: Path, out: Path, base: Path) -> None:
    command: list[str | Path] = [node, "--dir", out, "--witness", witness, "--gather", base, "--", "sh", "-c"]
    with subprocess.Popen([*command, "sleep 300"], env=environment(MPI_LOCALRANKID="1")) as other:
        process = subprocess.run([*command, "exit 3"], env=environment(MPI_LOCALRANKID="0"), timeout=60)
        assert (process.returncode, other.poll()) == (3, None)
        other.kill()


def test_without_a_safe_directory_each_rank_writes_a_file(
    node: Path, witness: Path, out: Path, base: Path, tmp_path: Path
) -> None:
    output = tmp_path / "said"
    assert start_ranks(node, witness, out, base, 1, "sh", "-c", f'echo "$FABRICBENCH_WITNESS_DIR" > {output}') == [0]
    open_to_all = Path(output.read_text().strip())
    assert open_to_all.parent == base
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for where in (base, tmp_path / "missing"):
        for path in out.iterdir():
            path.unlink()
        assert start_ranks(node, witness, out, where, 2, "true") == [0, 0]
        names = [f"witness.{socket.gethostname()}.{rank}.json" for rank in range(2)]
        assert sorted(path.name for path in out.iterdir()) == [HOST, *names]
    assert list(open_to_all.iterdir()) == []
