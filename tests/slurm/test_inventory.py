# SPDX-License-Identifier: Apache-2.0
"""The description of a cluster in the answers of a real Slurm (tests/data/machines/slurm-22.05)."""

import shutil
from pathlib import Path

import pytest

from discovery.machines import CLUSTER, install_slurm
from fabricbench.slurm import state
from fabricbench.slurm.inventory import NodeKind, best_partition, read_cluster
from fabricbench.slurm.state import NoAnswer

MIB = 2**20
COMPUTE, GPU = NodeKind(64, 2, 250000 * MIB), NodeKind(48, 1, 500000 * MIB)


def test_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    cluster = read_cluster()
    assert (cluster.name, cluster.version, cluster.has_accounting, cluster.manages_memory) == (
        "ours",
        "22.05.8",
        False,
        True,
    )
    assert cluster.pmi == frozenset({"pmix", "none", "cray_shasta", "pmi2", "pmix_v4"})
    compute, gpu, old = cluster.partitions
    assert (compute.default, compute.available, compute.minutes, compute.accounts) == (True, True, 1440, "")
    assert (compute.up, compute.total, dict(compute.kinds), compute.shares_nodes) == (62, 64, {COMPUTE: 62}, False)
    assert (gpu.minutes, gpu.accounts, dict(gpu.kinds)) == (None, "physics,biology", {GPU: 4})
    assert (old.available, old.minutes, old.shares_nodes, old.up) == (False, 240, True, 2)
    assert best_partition(cluster.partitions) == compute


def test_without_a_default_partition_the_open_one_with_most_nodes_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CLUSTER, tmp_path / "cluster")
    file = tmp_path / "cluster/partition"
    file.write_text(file.read_text().replace("Default=YES", "Default=NO").replace("State=UP", "State=DRAIN", 1))
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    best = best_partition(read_cluster().partitions)
    assert best is not None
    assert best.name == "gpu"
    assert best_partition([]) is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("1-12:00:00", 2160), ("02:30:00", 150), ("30:00", 30), ("00:30", 1), ("UNLIMITED", None), ("", None)],
)
def test_time_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, minutes: int | None) -> None:
    shutil.copytree(CLUSTER, tmp_path / "cluster")
    file = tmp_path / "cluster/partition"
    file.write_text(file.read_text().replace("MaxTime=1-00:00:00", f"MaxTime={text}"))
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    assert read_cluster().partitions[0].minutes == minutes


def test_a_reason_that_looks_like_fields_changes_no_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(CLUSTER, tmp_path / "cluster")
    file = tmp_path / "cluster/node"
    lines = [f"{line} Reason=broken State=DOWN NodeName=x" for line in file.read_text().splitlines()]
    file.write_text("".join(f"{line}\n" for line in lines))
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    assert [partition.up for partition in read_cluster().partitions] == [62, 4, 2]


def test_a_job_that_prints_files_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = install_slurm(tmp_path, monkeypatch, node="ethernet")
    assert "bond0" in state.output_on_node(["--partition=compute"], "cat", "file")
    words = "srun --partition=compute --nodes=1 --ntasks=1 --immediate=20 --time=1 --job-name=fabricbench-site"
    assert [" ".join(query) for query in queries] == [f"{words} --input=none cat file"]


def test_no_free_node_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_slurm(tmp_path, monkeypatch, node="no such machine")
    with pytest.raises(NoAnswer, match="Requested nodes are busy"):
        state.output_on_node([], "true")
