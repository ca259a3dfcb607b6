# SPDX-License-Identifier: Apache-2.0
"""The files in which the nodes of a launch say what they are (``host.<name>``)."""

from pathlib import Path

from fabricbench.launch.host import Host
from fabricbench.parsers.output import Unreadable, read_model


def host_files(directory: Path) -> list[Path]:
    """One of each node."""
    return sorted(directory.glob("host.*"))


def read_hosts(directory: Path) -> tuple[Host, ...]:
    """What every node of the launch in ``directory`` says; Unreadable names the first file that is no node's facts."""
    found: dict[str, Host] = {}
    for path in host_files(directory):
        host = read_model(path, Host)
        if host.host in found:
            raise Unreadable(path.name, None, f"the facts of another node, these are of {host.host[:80]} again")
        found[host.host] = host
    return tuple(found.values())
