# SPDX-License-Identifier: Apache-2.0
"""Facts of a launch for the rules of attestation."""

from typing import Any

from fabricbench.launch.facts import Launch, WireUp

WIREUP = WireUp(launch="w", bytes=1000, segments=40)


def launch(transport: str, **values: Any) -> Launch:
    facts: dict[str, Any] = {
        **{"id": "x", "block": 0, "position": 0, "system": "local", "fabric": transport, "transport": transport},
        **{"stack": "mpich", "tool": "micro", "benchmark": "pingpong", "ranks": 2, "nodes": 1, "argv": ("x",)},
        **{"limit_seconds": 60.0, "wireup": WIREUP},
    }
    return Launch.model_validate(facts | values)
