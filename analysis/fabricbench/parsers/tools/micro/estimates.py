# SPDX-License-Identifier: Apache-2.0
"""From the samples of a launch to its values: one per metric, benchmark, case and size."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from fabricbench.launch.facts import Scalar, joined_case
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Unreadable

BASE_CASES = {"reuse": ("reuse", "100"), "unexpected": ("queued", "0"), "posted": ("queued", "0")}
"""What ``latency_ratio`` relates to: the case of the same launch with this value of this key."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured at once: one size of one case; ``msg_size_bytes`` is None where there is no size."""

    benchmark: str
    case: str
    msg_size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one quantity, microseconds by rank, and what one sample stands for."""

    by_rank: Mapping[int, list[float]]
    bytes_per_run: int = 0
    messages_per_run: int = 0
    work_us: float = 0.0

    @property
    def median(self) -> float:
        """Over all samples of all ranks."""
        return float(median(value for values in self.by_rank.values() for value in values))

    @property
    def mean(self) -> float:
        """Over all samples of all ranks."""
        return fmean(value for values in self.by_rank.values() for value in values)


Values = dict[str, float]
Found = Mapping[str, Series]


def _latency(cell: Cell, found: Found) -> Values:
    series = found["latency_us"]
    values = {"latency": series.median}
    if cell.benchmark == "pingpong":
        values["latency_mean"] = series.mean
        if cell.msg_size_bytes and series.median:
            values["bandwidth"] = cell.msg_size_bytes / series.median
    return values


def _operation(cell: Cell, found: Found) -> Values:
    return {"latency": found["operation_us"].median, "latency_mean": found["operation_us"].mean}


def _window(cell: Cell, found: Found) -> Values:
    series = found["window_us"]
    if not series.messages_per_run:
        raise Unreadable("stdout", None, f"messages_per_run of {cell.benchmark[:40]} at {cell.msg_size_bytes} bytes")
    if not series.median:
        return {}
    values = {"message_rate": series.messages_per_run / series.median * 1e6}
    if series.bytes_per_run:
        values["bandwidth"] = series.bytes_per_run / series.median
        values["bandwidth_mean"] = series.bytes_per_run / series.mean
    return values


def _call(cell: Cell, found: Found) -> Values:
    each = [float(median(values)) for values in found["call_us"].by_rank.values()]
    return {"time": fmean(each), "time_min": min(each), "time_max": max(each)}


def _flood(cell: Cell, found: Found) -> Values:
    flood, round_trip = found["flood_us"], found.get("round_trip_us")
    messages = flood.messages_per_run // len(flood.by_rank)
    if round_trip is None or messages < 2:
        raise Unreadable("stdout", None, f"samples of round_trip_us, messages_per_run at {cell.msg_size_bytes} bytes")
    return {"gap": max(0.0, flood.median - round_trip.median) / (messages - 1)}


def _hidden(cell: Cell, found: Found, name: str) -> float:
    """Time saved by doing transfer and computation at once, as a share of the shorter of the two."""
    if "base_us" not in found:
        raise Unreadable("stdout", None, f"samples of base_us at {cell.msg_size_bytes} bytes")
    base, work = found["base_us"].median, found[name].work_us
    shorter = min(base, work)
    if shorter <= 0:
        raise Unreadable("stdout", None, f"a transfer and a computation that take time at {cell.msg_size_bytes} bytes")
    return (base + work - found[name].median) / shorter


_ESTIMATES: dict[str, Callable[[Cell, Found], Values]] = {
    "latency_us": _latency,
    "operation_us": _operation,
    "window_us": _window,
    "call_us": _call,
    "round_trip_us": lambda _, found: {"round_trip": found["round_trip_us"].median},
    "send_overhead_us": lambda _, found: {"send_overhead": found["send_overhead_us"].median},
    "receive_overhead_us": lambda _, found: {"receive_overhead": found["receive_overhead_us"].median},
    "flood_us": _flood,
    "normalised_latency_us": lambda _, found: {"normalised_latency": found["normalised_latency_us"].median},
    "base_us": lambda _, found: {},
    "worked_us": lambda cell, found: {"overlap": _hidden(cell, found, "worked_us")},
    "silent_us": lambda cell, found: {"progress": _hidden(cell, found, "silent_us")},
    "tested_us": lambda cell, found: {"progress_tested": _hidden(cell, found, "tested_us")},
}

SAMPLES = tuple(_ESTIMATES)
"""Every name that a sample may have."""


def rows(found: Mapping[Cell, Found], case: Mapping[str, Scalar]) -> Iterator[Row]:
    """All values of a launch, in order of benchmark, case and size; Unreadable where one is not finite.

    ``case`` is the launch's, which joins that of every cell.
    """
    latencies: dict[Cell, float] = {}
    for cell in sorted(found, key=_order):
        for name in found[cell]:
            try:
                values = _ESTIMATES[name](cell, found[cell])
            except OverflowError:
                values = {"": math.inf}
            for metric, value in values.items():
                yield _row(cell, case, metric, value)
            if name == "latency_us":
                latencies[cell] = values["latency"]
    for cell, latency in latencies.items():
        base = latencies.get(_base(cell))
        if base and cell.benchmark in BASE_CASES:
            yield _row(cell, case, "latency_ratio", latency / base)


def _order(cell: Cell) -> tuple[str, str, int]:
    return cell.benchmark, cell.case, -1 if cell.msg_size_bytes is None else cell.msg_size_bytes


def _base(cell: Cell) -> Cell:
    """The cell that this one is related to."""
    key, value = BASE_CASES.get(cell.benchmark, ("", ""))
    parts = [f"{key}={value}" if part.startswith(f"{key}=") else part for part in cell.case.split()]
    return Cell(cell.benchmark, " ".join(parts), cell.msg_size_bytes)


def _row(cell: Cell, case: Mapping[str, Scalar], metric: str, value: float) -> Row:
    if not math.isfinite(value):
        at = "" if cell.msg_size_bytes is None else f" at {cell.msg_size_bytes} bytes"
        raise Unreadable("stdout", None, f"samples of {cell.benchmark[:40]}{at} that have a mean")
    return Row(
        benchmark=cell.benchmark,
        case=joined_case(case, cell.case),
        metric=metric,
        msg_size_bytes=cell.msg_size_bytes,
        value=round(value, 6),
    )
