# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a campaign are, for the report's provenance."""

import json
from pathlib import Path

SHOWN = ("kernel", "cpu_model", "cores", "sockets", "memory_bytes", "governor", "smt")


def host_facts(path: Path) -> dict[str, dict[str, str]]:
    """The lasting facts of each host, from the first launch that has them."""
    hosts: dict[str, dict[str, str]] = {}
    for file in sorted(path.glob("launches/*/*/*/*/*/host.*")):
        name = file.name.partition(".")[2]
        if name in hosts:
            continue
        try:
            facts = json.loads(file.read_bytes())
            hosts[name] = {key: str(facts[key]) for key in SHOWN if facts.get(key) is not None}
        except (OSError, ValueError, TypeError, AttributeError):
            continue
    return hosts
