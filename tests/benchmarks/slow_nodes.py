# SPDX-License-Identifier: Apache-2.0
"""How often `fabricbench nodes` names a healthy node or pair, and how often a slow node: simulated campaigns.

    PYTHONPATH=tests python -m benchmarks.slow_nodes alarms 4 200      # 4 nodes, 200 campaigns of each kind
    PYTHONPATH=tests python -m benchmarks.slow_nodes power 8 100

A campaign has one lane with latency, bandwidth alone and bandwidth at once. Prints rows of docs/methods/node-pairs.md.
"""

import sys

import numpy as np

from verdict.simulated_pairs import NOISES, World, campaign

BLOCKS = {"log-normal": 15, "heavy tails": 15, "stalled values": 30, "stalled nodes": 30}
"""Of the campaigns whose power is shown."""

FACTORS = (1.1, 1.25, 1.5)
SLOW = 1


def alarms(nodes: int, campaigns: int) -> str:
    """Share of campaigns that name anything, on a machine whose nodes' own speeds differ by 1 %."""
    shown = []
    for noise in NOISES:
        for blocks in (6, 15):
            rng = np.random.default_rng(nodes)
            world = World(nodes, blocks, noise, spread=0.01)
            named = sum(bool(campaign(world, rng).findings) for _ in range(campaigns))
            shown.append(f"{named / campaigns:.1%}")
    return f"| {nodes} | {campaigns} | {' | '.join(shown)} |"


def power(nodes: int, campaigns: int) -> str:
    """Share of campaigns that name the one slow node, for each noise and factor."""
    shown = []
    for noise, blocks in BLOCKS.items():
        found = []
        for factor in FACTORS:
            rng = np.random.default_rng(nodes)
            world = World(nodes, blocks, noise, slow={SLOW: factor})
            named = sum(
                any(
                    one.suspect.kind == "node" and one.suspect.node == f"n{SLOW}"
                    for one in campaign(world, rng).findings
                )
                for _ in range(campaigns)
            )
            found.append(f"{named / campaigns:.0%}")
        shown.append(", ".join(found))
    return f"| {nodes} | {campaigns} | {' | '.join(shown)} |"


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("alarms", "power"):
        sys.exit(__doc__)
    row = alarms if sys.argv[1] == "alarms" else power
    print(row(int(sys.argv[2]), int(sys.argv[3])), flush=True)
