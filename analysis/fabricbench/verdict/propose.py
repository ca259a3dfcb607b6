# SPDX-License-Identifier: Apache-2.0
"""Proposes requirements from a reference campaign, as a starting point for a person to edit."""

import json
import math
import re
from collections.abc import Callable

import polars as pl

from fabricbench.errors import BadInput
from fabricbench.metrics import METRICS, Metric
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.verdict.series import CellKey, all_series

SIZES = (8, 1024, 65536, 1 << 20)
"""Message sizes in bytes for which limits are proposed, if they were measured."""

_SKIPPED = {"time_min", "time_max"}


def propose(table: pl.DataFrame, margin: float = 0.25, confidence: float = 0.95) -> str:
    """Returns YAML text of absolute requirements, one per lane, tool, benchmark and metric at the sizes ``SIZES``.

    Definition: the limit is the worse end of the median's order-statistics interval, widened by ``margin`` of its value
    (0.25: a quarter) and rounded away from the median to three digits. Without an interval the median replaces it.
    ``site.requirements_file`` reads the text.
    """
    if not (math.isfinite(margin) and 0 <= margin < 1):
        raise BadInput(f"margin {margin:g}", expected="0 or more and below 1")
    entries: dict[str, str] = {}
    for key, series in all_series(table).items():
        has_standard_size = key.msg_size_bytes is None or key.msg_size_bytes in SIZES
        if not has_standard_size or key.metric in _SKIPPED or key.of_node_pair:
            continue
        interval = median_interval(tuple(series.medians().values()), confidence)
        bound = _bound(interval, METRICS[key.metric], margin)
        if bound and not series.doubtful:
            name = _free(_id(key), entries)
            entries[name] = _entry(name, key, interval, bound, margin)
    if not entries:
        raise BadInput("the campaign has no value to propose a requirement from", expected="attested launches")
    head = ["# SPDX-License-Identifier: Apache-2.0", "# Proposed from a reference campaign: edit before use."]
    return "\n".join([*head, "schema: 1", "requirements:", *entries.values()]) + "\n"


def _bound(interval: Interval, metric: Metric, margin: float) -> str:
    """Returns a limit as YAML, ``at_most: 12.4 us``; empty if no value could ever violate it."""
    worst = interval.high if metric.better == "lower" else interval.low
    worst = interval.estimate if worst is None else worst
    if worst is None or worst <= 0:
        return ""
    if metric.better == "lower":
        return f"at_most: {_rounded(worst * (1 + margin), math.ceil)} {metric.unit}"
    return f"at_least: {_rounded(worst * (1 - margin), math.floor)} {metric.unit}"


def _rounded(value: float, away: Callable[[float], int]) -> str:
    """Returns ``value`` with three significant digits, rounded by ``away``."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{away(value / step) * step:.6g}"


def _id(key: CellKey) -> str:
    size = "" if key.msg_size_bytes is None else f"-{key.msg_size_bytes}"
    lane = key.lane.replace("@", "-").replace(":", "-")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{key.tool}-{key.benchmark}-{key.metric}-{lane}{size}").lstrip("._-")


def _free(name: str, names: dict[str, str]) -> str:
    number = 2
    free = name
    while free in names:
        free, number = f"{name}.{number}", number + 1
    return free


def _entry(name: str, key: CellKey, interval: Interval, bound: str, margin: float) -> str:
    size = "" if key.msg_size_bytes is None else f" at {key.msg_size_bytes} bytes"
    what = f"{key.tool} {key.benchmark} {key.metric} on {key.lane}{size}"
    text = f"{what}: the reference of {interval.n} launch(es) with a margin of {margin:.0%}"
    return "\n".join(
        [
            f"  - id: {json.dumps(name)}",
            f"    text: {json.dumps(text)}",
            f"    select: {_select(key)}",
            f"    {bound}",
        ]
    )


def _select(key: CellKey) -> str:
    columns = key._asdict()
    del columns["system"]
    if key.msg_size_bytes is None:
        del columns["msg_size_bytes"]
    return "{" + ", ".join(f"{column}: {json.dumps(value)}" for column, value in columns.items()) + "}"
