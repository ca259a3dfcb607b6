# SPDX-License-Identifier: Apache-2.0
"""Tests how fabricbench-node gathers the witness reports of many ranks in one file."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from fabricbench.launch.witness import read_reports
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
    assert sorted(path.name for path in out.iterdir()) == [HOST, f"witness.{socket.gethostname()}.jsonl"]
    reports = read_reports(out)
    ranks = [report.rank for report in reports if report.exe == os.path.realpath("/bin/sh") and not report.forked]
    assert sorted(set(ranks), key=str) == sorted(range(MANY), key=str)
    assert list(base.iterdir()) == []


def test_a_killed_rank_does_not_lose_the_reports_of_others(
    node: Path, witness: Path, out: Path, base: Path, tmp_path: Path
) -> None:
    program = f'{handshake(tmp_path / "met", 3)}; [ "$PMI_RANK" != 1 ] || kill -KILL $$; sleep 0.3'
    assert start_ranks(node, witness, out, base, 3, "sh", "-c", program) == [0, -signal.SIGKILL, 0]
    reports = [report for report in read_reports(out) if report.exe == os.path.realpath("/bin/sh")]
    assert {report.rank for report in reports} == {0, 2}
    assert list(base.iterdir()) == []


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
