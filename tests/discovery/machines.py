# SPDX-License-Identifier: Apache-2.0
"""The descriptions of machines in ``tests/data/machines``, and a function that answers in place of Slurm's commands."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricbench.discovery.node_files import Files, parse
from fabricbench.slurm import state
from fabricbench.slurm.state import Refused
from support.fake_site import REPOSITORY

MACHINES = REPOSITORY / "tests/data/machines"
CLUSTER = MACHINES / "slurm-22.05"
COMMANDS = ("sinfo", "srun", "scontrol", "sbatch")


def files_of(machine: str) -> Files:
    """The files of the node of a machine."""
    return parse((MACHINES / f"{machine}.node").read_text())


def install_slurm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, node: str, refusal: str = "no option"
) -> list[tuple[str, ...]]:
    """Answers the queries of Slurm from files. Returns the list of queries, which grows.

    ``node``: the machine whose files a job prints; no node is free if there is none. ``refusal``: an option with which
    sbatch refuses a job. The answers of scontrol and srun are in ``folder/cluster`` if a test has made it.
    """
    data = folder / "cluster" if (folder / "cluster").exists() else CLUSTER
    queries: list[tuple[str, ...]] = []
    answer = _answers(data, MACHINES / f"{node}.node", refusal)

    def process(*argv: str) -> subprocess.CompletedProcess[str]:
        queries.append(argv)
        return subprocess.CompletedProcess(argv, 0, answer(argv[0], argv[1:]), "")

    monkeypatch.setattr(state, "_process", process)
    (folder / "bin").mkdir()
    for name in COMMANDS:  # whose presence shows that the machine has Slurm
        (folder / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return queries


def _answers(data: Path, node: Path, refusal: str) -> Callable[[str, tuple[str, ...]], str]:
    def answer(name: str, words: tuple[str, ...]) -> str:
        if name == "sbatch" and refusal in words:
            raise Refused("allocation failure: Invalid account or account/partition combination specified")
        if name == "srun" and "--mpi=list" in words:
            return (data / "pmi").read_text()
        if name == "srun":
            if not node.exists():
                raise Refused("srun: error: Unable to allocate resources: Requested nodes are busy")
            return node.read_text()
        if name == "scontrol" and words[:2] == ("show", "hostnames"):
            return "\n".join(_names(words[2]))
        if name == "scontrol":
            return (data / words[-1]).read_text()
        if name == "sinfo":
            return "".join(f"{line}\n" for line in (_nodes(data) if "--Node" in words else _partitions(data)))
        return ""

    return answer


def _names(text: str) -> Iterator[str]:
    """The names of a list such as ``c[001-003],g1``."""
    for part in re.findall(r"[^,\[]+(?:\[[^]]*\])?", text):
        head, _, ranges = part.partition("[")
        for one in ranges.rstrip("]").split(","):
            low, _, high = one.partition("-")
            numbers = range(int(low), int(high or low) + 1) if low else []
            yield from (f"{head}{number:0{len(low)}}" for number in numbers) if low else [head]


def _fields(file: Path) -> Iterator[dict[str, str]]:
    for line in file.read_text().splitlines():
        yield {key: value for key, _, value in (word.partition("=") for word in line.split(" "))}


def _nodes(data: Path) -> Iterator[str]:
    for fields in _fields(data / "node"):
        for partition in fields["Partitions"].split(","):
            yield "|".join((fields["NodeName"], partition, fields["State"].lower(), "none"))


def _partitions(data: Path) -> Iterator[str]:
    for fields in _fields(data / "partition"):
        yield f"{fields['PartitionName']}{'*' * (fields['Default'] == 'YES')}|{fields['State'].lower()}"
