# SPDX-License-Identifier: Apache-2.0
"""Launches of collectives and of an application on many scales, of a network with known LogGP."""

import math

from fabricbench.models.collective_times import collective_us
from verdict.synthetic_table import Rows, lane_rows

LANE = "mpich@tcp"
SHARED = f"{LANE}:local-shm"
MESSAGE_US, NS_PER_BYTE = 12.0, 1.0
SIZES = tuple(2**power for power in range(0, 23))
BLOCKS = 6
SPREAD = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)
CORES = 8


def scales(most_nodes: int = 128) -> list[tuple[int, int]]:
    """Nodes and ranks of the tier ``standard`` on so many nodes of 8 cores: 16 scales on 128 nodes."""
    counts = [2**power for power in range(most_nodes.bit_length())]
    return [(nodes, nodes * each) for nodes in counts for each in (1, CORES)]


def plogp(lane: str = LANE) -> list[Rows]:
    """The curves of P-LogP with L = 10 us, o = 1 us and G = 1 ns per byte."""
    sizes = [2**power for power in range(0, 21, 2)]
    curves = {
        "round_trip": (24.0, 2.0),
        "send_overhead": (1.0, 0.0),
        "receive_overhead": (1.0, 1.0),
        "gap": (1.0, 1.0),
    }
    return [
        _cell(lane, fixed + per_kilobyte * size / 1000, benchmark="plogp", metric=name, msg_size_bytes=size, nodes=2)
        for name, (fixed, per_kilobyte) in curves.items()
        for size in sizes
    ]


def collectives(name: str, most_nodes: int = 128, sizes: tuple[int, ...] = SIZES) -> list[Rows]:
    """A collective that takes 1.5 times its model on a lane, and half of that with shared memory inside the nodes."""
    rows = []
    for nodes, ranks in scales(most_nodes):
        for size in sizes if ranks > 1 else ():
            time = 1.5 * collective_us(name, ranks, size, MESSAGE_US, NS_PER_BYTE)
            columns = {"benchmark": name, "metric": "time", "msg_size_bytes": size, "nodes": nodes, "ranks": ranks}
            rows.append(_cell(LANE, time, **columns))
            if ranks > nodes:
                rows.append(_cell(SHARED, time / 2, **columns))
    return rows


def application(most_nodes: int = 128, lane: str = LANE, faster: float = 1.0) -> list[Rows]:
    """Rates of FT whose efficiency falls by a tenth with each doubling of the ranks."""
    columns = {"tool": "npb", "benchmark": "ft.C", "metric": "mops", "msg_size_bytes": None}
    return [
        _cell(lane, faster * 1000 * ranks * 0.9 ** math.log2(ranks), nodes=nodes, ranks=ranks, **columns)
        for nodes, ranks in scales(most_nodes)
        if lane == LANE or ranks > nodes
    ]


def _cell(lane: str, value: float, **columns: object) -> Rows:
    return lane_rows(lane, [value * share for share in SPREAD], **columns)
