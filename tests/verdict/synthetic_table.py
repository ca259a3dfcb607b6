# SPDX-License-Identifier: Apache-2.0
"""Synthetic tables, facts and requirements."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fabricbench.launch.record import CampaignFacts
from fabricbench.launch.table import SCHEMA
from fabricbench.metrics import METRICS
from fabricbench.site.requirements import Requirements
from fabricbench.site.requirements_file import load_requirements

Rows = list[dict[str, Any]]


def lane_rows(lane: str, values: Mapping[int, float | None] | Sequence[float | None], **columns: Any) -> Rows:
    """Rows of one cell, one per block; ``columns`` override those of a micro ping-pong latency at 8 bytes."""
    stack, _, rest = lane.partition("@")
    fabric, _, variant = rest.partition(":")
    metric = METRICS[columns.get("metric", "latency")]
    numbered = values.items() if isinstance(values, Mapping) else enumerate(values)
    common = {
        "system": "local",
        "fabric": fabric,
        "transport": fabric,
        "stack": stack,
        "variant": variant,
        "tool": "micro",
        "benchmark": "pingpong",
        "case": "",
        "mode": "timed",
        "metric": metric.name,
        "unit": metric.unit,
        "msg_size_bytes": 8,
        "ranks": 2,
        "nodes": 1,
        "hosts": "one",
        "better": metric.better,
        "state": "ok",
    } | columns
    name = "launches/b{:02d}-" + f"{common['tool']}-{common['benchmark']}-{lane}"
    return [{"launch": name.format(block)} | common | {"block": block, "value": value} for block, value in numbered]


def table_of(*parts: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """The long table of these rows."""
    return pl.DataFrame([row for part in parts for row in part], schema=SCHEMA, orient="row")


def latencies(rng: np.random.Generator, n: int, median: float, sigma: float = 0.03) -> list[float]:
    """n log-normal launch values around a median."""
    return [float(value) for value in median * np.exp(sigma * rng.standard_normal(n))]


def facts(*looks: int, alpha: float = 0.05) -> CampaignFacts:
    """A campaign's facts with these looks."""
    return CampaignFacts(system="local", tier="standard", looks=looks, alpha=alpha, seed=1, created=0.0)


def entry(name: str = "lat", bound: str = "at_most: 10 us", relative: str = "", **select: Any) -> str:
    """One requirement as YAML, on micro ping-pong latency unless ``select`` says otherwise."""
    selection = {"tool": "micro", "benchmark": "pingpong", "metric": "latency"} | select
    text = ", ".join(f"{key}: {value}" for key, value in selection.items())
    lines = [f"  - id: {name}", f"    text: {name} is good", f"    select: {{{text}}}", f"    {bound}"]
    return "\n".join([*lines, *([f"    relative_to: {{{relative}}}"] if relative else [])]) + "\n"


def requirements(folder: Path, *entries: str) -> Requirements:
    """These entries, written and loaded."""
    file = folder / "requirements.yaml"
    file.write_text("schema: 1\nrequirements:\n" + "".join(entries))
    return load_requirements(file)
