# SPDX-License-Identifier: Apache-2.0
"""Synthetic values of node pairs."""

from collections.abc import Mapping

import numpy as np

from verdict.synthetic_table import Rows

ALONE, AT_ONCE = "concurrency=alone window=4", "concurrency=at-once window=4"


def rows(
    nodes: int, rng: np.random.Generator, *, metric: str = "bandwidth", case: str = ALONE, blocks: int = 6,
    noise: float = 0.05, heavy: bool = False, slow: Mapping[int, float] | None = None,
    links: Mapping[tuple[int, int], float] | None = None,
) -> Rows:  # fmt: skip
    """Every pair of nodes n1, n2, … in every block; ``slow`` nodes and ``links`` by factor."""
    latency = metric == "latency"
    own = np.exp(0.02 * rng.standard_normal(nodes + 1))
    result: Rows = []
    for block in range(blocks):
        level = np.exp(0.1 * rng.standard_normal())
        for one in range(1, nodes + 1):
            for other in range(1, nodes + 1):
                if one == other or (latency and one > other):
                    continue
                scatter = rng.standard_t(2) if heavy else rng.standard_normal()
                factor = max((slow or {}).get(one, 1.0), (slow or {}).get(other, 1.0))
                factor *= (links or {}).get((one, other), 1.0) * level * np.exp(noise * scatter) * own[one] * own[other]
                result.append(
                    {
                        "system": "s", "fabric": "gige", "transport": "tcp", "stack": "mpich", "variant": "",
                        "tool": "micro", "benchmark": "pair_latency" if latency else "pair_bandwidth",
                        "case": " ".join(sorted([*("" if latency else case).split(), f"from=n{one}", f"to=n{other}"])),
                        "mode": "timed", "metric": metric, "unit": "us" if latency else "MB/s",
                        "msg_size_bytes": 8 if latency else 2**20, "ranks": nodes, "nodes": nodes, "hosts": "",
                        "block": block, "launch": f"l{block}", "value": 10 * factor if latency else 100 / factor,
                        "better": "lower" if latency else "higher", "state": "ok",
                    }
                )  # fmt: skip
    return result


def sums(value: float, case: str, blocks: int = 6) -> Rows:
    """The bisection of a case in every block."""
    (row,) = [row for row in rows(2, np.random.default_rng(0), blocks=1) if "from=n1" in row["case"]]
    changed = {"metric": "bisection_bandwidth", "case": case}
    return [row | changed | {"block": block, "value": value * (1 + 0.01 * block)} for block in range(blocks)]
