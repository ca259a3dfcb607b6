# SPDX-License-Identifier: Apache-2.0
"""Reads the files that describe the nodes of a launch (``host.<name>``)."""

from pathlib import Path

from fabricbench.launch.host import Host
from fabricbench.parsers.output import Unreadable, read_model


def host_files(directory: Path) -> list[Path]:
    """The file of each node."""
    return sorted(directory.glob("host.*"))


def read_hosts(directory: Path) -> tuple[Host, ...]:
    """Returns the facts of each node of the launch in ``directory``; Unreadable for an invalid or duplicate file."""
    hosts: dict[str, Host] = {}
    for path in host_files(directory):
        host = read_model(path, Host)
        if host.host in hosts:
            raise Unreadable(path.name, None, f"the facts of another node, these are of {host.host[:80]} again")
        hosts[host.host] = host
    return tuple(hosts.values())
