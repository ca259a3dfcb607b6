# SPDX-License-Identifier: Apache-2.0
"""The memory of a node, limited by control groups of both versions and by Slurm."""

from pathlib import Path

import pytest

from fabricbench.site.memory import machine_memory, memory_here

MIB = 2**20


def process_in(tmp_path: Path, version: int, path: str, *, root: str = "/") -> tuple[Path, Path]:
    """Writes the files of ``/proc/self`` of a process in a control group; returns them and the mount point."""
    proc, mount = tmp_path / "proc", tmp_path / "cgroup"
    proc.mkdir()
    (mount / path.removeprefix(root).lstrip("/")).mkdir(parents=True)
    kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,memory"
    (proc / "mountinfo").write_text(
        f"30 29 0:27 {root} {mount} rw,relatime shared:4 - {kind}\n31 29 0:28 / /proc rw - proc proc rw\nbroken\n"
    )
    line = f"0::{path}" if version == 2 else f"4:cpu,memory:{path}"
    (proc / "cgroup").write_text(f"9:name=systemd:/elsewhere\n{line}\n")
    return proc, mount


@pytest.mark.parametrize(("version", "name"), [(2, "memory.max"), (1, "memory.limit_in_bytes")])
def test_the_least_limit_of_the_group_and_its_parents(tmp_path: Path, version: int, name: str) -> None:
    proc, mount = process_in(tmp_path, version, "/user/job/step")
    (mount / "user" / name).write_text(f"{900 * MIB}\n")
    (mount / "user/job" / name).write_text(f"{200 * MIB}\n")
    (mount / "user/job/step" / name).write_text("max\n" if version == 2 else "9223372036854771712\n")
    memory = memory_here(proc, {})
    assert (memory.bytes, memory.limit) == (200 * MIB, f"limit in {mount}/user/job/{name}")
    assert memory.megabytes == f"210 MB (limit in {mount}/user/job/{name})"


def test_a_container_sees_its_own_group_as_root(tmp_path: Path) -> None:
    proc, mount = process_in(tmp_path, 2, "/pods/mine", root="/pods/mine")
    (mount / "memory.max").write_text(f"{64 * MIB}\n")
    assert memory_here(proc, {}).bytes == 64 * MIB


def test_a_group_outside_the_mount_counts_the_mount(tmp_path: Path) -> None:
    proc, mount = process_in(tmp_path, 2, "/elsewhere/x", root="/pods/mine")
    (mount / "memory.max").write_text(f"{64 * MIB}\n")
    assert memory_here(proc, {}).bytes == 64 * MIB


@pytest.mark.parametrize("text", ["max", "", "9223372036854771712", "-1"])
def test_no_limit(tmp_path: Path, text: str) -> None:
    proc, mount = process_in(tmp_path, 2, "/a")
    (mount / "a/memory.max").write_text(text)
    assert memory_here(proc, {}) == machine_memory()
    assert memory_here(tmp_path / "missing", {}) == machine_memory()


def test_slurm(tmp_path: Path) -> None:
    none = tmp_path / "missing"
    assert memory_here(none, {"SLURM_MEM_PER_NODE": "100"}).bytes == 100 * MIB
    assert memory_here(none, {"SLURM_MEM_PER_CPU": "50", "SLURM_CPUS_ON_NODE": "3"}).bytes == 150 * MIB
    assert memory_here(none, {"SLURM_MEM_PER_NODE": "0"}) == machine_memory()
    assert memory_here(none, {"SLURM_MEM_PER_CPU": "50"}) == machine_memory()
    assert memory_here(none, {"SLURM_MEM_PER_NODE": "all"}) == machine_memory()
