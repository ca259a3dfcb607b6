# SPDX-License-Identifier: Apache-2.0
"""Measures the false alarms and the detection rate of `fabricbench nodes` on simulated campaigns.

    PYTHONPATH=tests python -m benchmarks.slow_nodes alarms 4 200      # 4 nodes, 200 campaigns of each kind
    PYTHONPATH=tests python -m benchmarks.slow_nodes power 8 100

A campaign has one lane with the latency of node pairs, their bandwidth one at a time and their bandwidth at once.
Prints rows of docs/methods/node-pairs.md.
"""

import sys

import numpy as np

from verdict.simulated_node_pairs import NOISES, World, campaign

BLOCKS = {"log-normal": 15, "heavy tails": 15, "stalled values": 30, "stalled nodes": 30}
"""Of the campaigns whose power is shown."""

FACTORS = (1.1, 1.25, 1.5)
SLOW = 1


def alarms(nodes: int, campaigns: int) -> str:
    """Returns the share of campaigns with findings on a machine without slow nodes, whose speeds differ by 1 %."""
    cells = []
    for noise in NOISES:
        for blocks in (6, 15):
            rng = np.random.default_rng(nodes)
            world = World(nodes, blocks, noise, spread=0.01)
            alarms_raised = sum(bool(campaign(world, rng).slow_units) for _ in range(campaigns))
            cells.append(f"{alarms_raised / campaigns:.1%}")
    return f"| {nodes} | {campaigns} | {' | '.join(cells)} |"


def power(nodes: int, campaigns: int) -> str:
    """Returns the share of campaigns that name the one slow node, for each noise and factor."""
    cells = []
    for noise, blocks in BLOCKS.items():
        shares = []
        for factor in FACTORS:
            rng = np.random.default_rng(nodes)
            world = World(nodes, blocks, noise, slow={SLOW: factor})
            alarms_raised = sum(
                any(
                    one.suspect.kind == "node" and one.suspect.node == f"n{SLOW}"
                    for one in campaign(world, rng).slow_units
                )
                for _ in range(campaigns)
            )
            shares.append(f"{alarms_raised / campaigns:.0%}")
        cells.append(", ".join(shares))
    return f"| {nodes} | {campaigns} | {' | '.join(cells)} |"


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("alarms", "power"):
        sys.exit(__doc__)
    row = alarms if sys.argv[1] == "alarms" else power
    print(row(int(sys.argv[2]), int(sys.argv[3])), flush=True)
