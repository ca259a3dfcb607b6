# SPDX-License-Identifier: Apache-2.0
"""The memory that a process on this machine may use: the machine's, or less by control groups or Slurm."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

UNLIMITED_BYTES = 2**60
"""Version 1 of control groups writes "no limit" as the largest multiple of the page size."""
LIMIT_FILES = {"cgroup": "memory.limit_in_bytes", "cgroup2": "memory.max"}
"""The file with the limit of a control group, by the type of its file system."""


@dataclass(frozen=True, slots=True, order=True)
class Memory:
    """A number of bytes. ``limit`` names what sets it, a file or a variable; empty for the memory of the machine."""

    bytes: int
    limit: str = ""

    @property
    def gigabytes(self) -> str:
        """The bytes in GB as text, followed by the limit if there is one."""
        return f"{self.bytes / 1e9:.1f} GB{self._source}"

    @property
    def megabytes(self) -> str:
        """The bytes in MB as text, followed by the limit if there is one."""
        return f"{self.bytes / 1e6:.0f} MB{self._source}"

    @property
    def _source(self) -> str:
        return f" ({self.limit})" if self.limit else ""


def machine_memory() -> Memory:
    """Returns the physical memory of this machine."""
    return Memory(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def memory_here(proc: Path = Path("/proc/self"), environment: Mapping[str, str] = os.environ) -> Memory:
    """Returns the memory of this machine, or the least limit of this process's control groups and of Slurm's job."""
    return min([machine_memory(), *_group_limits(proc), *_slurm_limit(environment)], key=lambda memory: memory.bytes)


def _group_limits(proc: Path) -> Iterator[Memory]:
    """Yields the limits of the process's memory control groups (version 1 and 2) and of their parents."""
    try:
        mounts, groups = (proc / "mountinfo").read_text(), (proc / "cgroup").read_text()
    except (OSError, ValueError):
        return
    paths = {}
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths["cgroup" if "memory" in controllers.split(",") else controllers] = path
    paths["cgroup2"] = paths.get("", "/")  # version 2 has no controllers in its line
    for line in mounts.splitlines():
        head, _, tail = line.partition(" - ")
        place, description = head.split(), tail.split()
        if len(place) < 5 or len(description) < 3 or description[0] not in LIMIT_FILES:
            continue
        if description[0] == "cgroup2" or "memory" in description[2].split(","):
            yield from _limits_from(Path(place[4]), place[3], paths.get(description[0], "/"), description[0])


def _limits_from(mount: Path, root: str, path: str, type: str) -> Iterator[Memory]:
    """Yields the limits of the group at ``path`` and of its parents. The mount shows the hierarchy from ``root`` on."""
    group = PurePosixPath(path)
    below = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
    folder = mount / below
    for parent in (folder, *folder.parents):
        if not parent.is_relative_to(mount):
            return
        file = parent / LIMIT_FILES[type]
        try:
            limit = int(file.read_text())
        except (OSError, ValueError):  # ValueError: "max"
            continue
        if 0 <= limit < UNLIMITED_BYTES:
            yield Memory(limit, f"limit in {file}")


def _slurm_limit(environment: Mapping[str, str]) -> Iterator[Memory]:
    """Yields the memory of Slurm's job on this node; Slurm gives MiB, and 0 for the whole node."""

    def number(name: str) -> int:
        text = environment.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() else 0

    if per_node := number("SLURM_MEM_PER_NODE"):
        yield Memory(per_node * 2**20, "limit in SLURM_MEM_PER_NODE")
    elif per_job := number("SLURM_MEM_PER_CPU") * number("SLURM_CPUS_ON_NODE"):
        yield Memory(per_job * 2**20, "limit in SLURM_MEM_PER_CPU")
