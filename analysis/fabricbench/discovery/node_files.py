# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a node that describe its adapters, its network interfaces and its memory.

On this machine they are read directly. On a node of a cluster, ``grep`` prints them as ``path:line``.
"""

from collections.abc import Mapping
from pathlib import Path

RDMA, CXI, INTERFACES = "/sys/class/infiniband", "/sys/class/cxi", "/sys/class/net"
HOST_NAME, MEMORY, ROUTES = "/proc/sys/kernel/hostname", "/proc/meminfo", "/proc/net/route"
PATTERNS = (
    *(f"{RDMA}/*/{name}" for name in ("node_type", "device/uevent")),
    *(f"{RDMA}/*/ports/*/{name}" for name in ("link_layer", "state", "rate", "gids/*")),
    *(f"{RDMA}/*/ports/*/gid_attrs/{name}/*" for name in ("types", "ndevs")),
    *(f"{RDMA}/*/ports/*/{name}" for name in ("counters/port_xmit_data", "hw_counters/sent_pkts")),
    *(f"{CXI}/*/device/{name}" for name in ("uevent", "telemetry/hni_sts_tx_ok_octets")),
    *(f"{INTERFACES}/*/{name}" for name in ("type", "operstate", "speed", "uevent", "device/uevent")),
    *(HOST_NAME, MEMORY, ROUTES),
)
"""The paths of the files, with ``*`` for any name."""

Files = Mapping[str, tuple[str, ...]]
"""The lines of each file by its path. Files that are missing, empty or unreadable are absent."""


def command() -> tuple[str, ...]:
    """Returns the command that prints the files on a node. Its exit status is 0 even if some files are missing."""
    return "sh", "-c", f"grep -s -H '' {' '.join(PATTERNS)}; true"


def parse(text: str) -> Files:
    """Returns the files from the output of ``command``. Ignores lines of other programs."""
    files: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        path, colon, content = line.partition(":")
        if colon and path.startswith(("/sys/", "/proc/")):
            files[path] = (*files.get(path, ()), content)
    return files


def read_here(root: Path = Path("/")) -> Files:
    """Returns the files of this machine; ``root`` is the folder in which ``/sys`` and ``/proc`` are looked up."""
    files = {}
    for pattern in PATTERNS:
        for path in sorted(root.glob(pattern.lstrip("/"))):
            try:
                lines = path.read_text(errors="replace").splitlines()
            except OSError:  # such as the type of an unused GID, or the speed of an interface that is down
                continue
            if lines:
                files[f"/{path.relative_to(root)}"] = tuple(lines)
    return files
