# SPDX-License-Identifier: Apache-2.0
"""Derives the values of a launch from its samples: one per metric, benchmark, case and size."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from fabricbench.launch.facts import Scalar, joined_case
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.micro.description import MEASURED


@dataclass(frozen=True, slots=True)
class Place:
    """One message size of one case of a benchmark; ``msg_size_bytes`` is None for a benchmark without sizes."""

    benchmark: str
    case: str
    msg_size_bytes: int | None


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """The samples of one quantity in microseconds, by rank.

    ``bytes_per_run``, ``messages_per_run``: the traffic of one sample. ``work_us``: the computation within one sample.
    """

    by_rank: Mapping[int, list[float]]
    bytes_per_run: int = 0
    messages_per_run: int = 0
    work_us: float = 0.0

    @property
    def reporters(self) -> int:
        """The number of ranks with samples."""
        return len(self.by_rank)

    @property
    def of_ranks(self) -> tuple[float, float, float]:
        """The mean, the least and the largest of the ranks' medians."""
        each = [float(median(values)) for values in self.by_rank.values()]
        return fmean(each), min(each), max(each)

    @property
    def median(self) -> float:
        """The median of all samples of all ranks."""
        return float(median(value for values in self.by_rank.values() for value in values))

    @property
    def mean(self) -> float:
        """The mean of all samples of all ranks; infinite where their sum is too large for a float."""
        try:
            return fmean(value for values in self.by_rank.values() for value in values)
        except OverflowError:
            return math.inf


@dataclass(frozen=True, slots=True)
class SummarySeries:
    """The samples of one quantity as the program summarises them for many ranks; fields as in ``SampleSeries``."""

    median: float
    mean: float
    of_ranks: tuple[float, float, float]
    reporters: int
    bytes_per_run: int = 0
    messages_per_run: int = 0
    work_us: float = 0.0


STATISTICS = ("median", "mean", "rank_mean", "rank_min", "rank_max")
"""The statistics of a summary, of which the last three make ``of_ranks``."""

Values = dict[str, float]
"""By metric."""
Quantities = Mapping[str, SampleSeries | SummarySeries]
"""By the name of the sample."""


def _latency(place: Place, quantities: Quantities) -> Values:
    series = quantities["latency_us"]
    values = {"latency": series.median, "latency_mean": series.mean}
    if place.msg_size_bytes and series.median:
        values["bandwidth"] = place.msg_size_bytes / series.median
    return values


def _operation(place: Place, quantities: Quantities) -> Values:
    return {"latency": quantities["operation_us"].median, "latency_mean": quantities["operation_us"].mean}


def _window(place: Place, quantities: Quantities) -> Values:
    series = quantities["window_us"]
    if not series.messages_per_run:
        raise Unreadable("stdout", None, f"messages_per_run of {place.benchmark[:40]} at {place.msg_size_bytes} bytes")
    if not series.median:
        return {}
    values = {"message_rate": series.messages_per_run / series.median * 1e6}
    if series.bytes_per_run:
        values["bandwidth"] = series.bytes_per_run / series.median
        values["bandwidth_mean"] = series.bytes_per_run / series.mean
    return values


def _call(place: Place, quantities: Quantities) -> Values:
    mean, least, largest = quantities["call_us"].of_ranks
    return {"time": mean, "time_min": least, "time_max": largest}


def _flood(place: Place, quantities: Quantities) -> Values:
    flood, round_trip = quantities["flood_us"], quantities.get("round_trip_us")
    messages = flood.messages_per_run // flood.reporters
    if round_trip is None or messages < 2:
        raise Unreadable("stdout", None, f"samples of round_trip_us, messages_per_run at {place.msg_size_bytes} bytes")
    return {"gap": max(0.0, flood.median - round_trip.median) / (messages - 1)}


def _hidden(place: Place, quantities: Quantities, name: str) -> float:
    """Returns the time saved by overlapping transfer and computation, as a share of the shorter of the two."""
    if "base_us" not in quantities:
        raise Unreadable("stdout", None, f"samples of base_us at {place.msg_size_bytes} bytes")
    base, work = quantities["base_us"].median, quantities[name].work_us
    shorter = min(base, work)
    if shorter <= 0:
        raise Unreadable("stdout", None, f"a transfer and a computation that take time at {place.msg_size_bytes} bytes")
    return (base + work - quantities[name].median) / shorter


_ESTIMATES: dict[str, Callable[[Place, Quantities], Values]] = {
    "latency_us": _latency,
    "operation_us": _operation,
    "window_us": _window,
    "call_us": _call,
    "round_trip_us": lambda _, quantities: {"round_trip": quantities["round_trip_us"].median},
    "send_overhead_us": lambda _, quantities: {"send_overhead": quantities["send_overhead_us"].median},
    "receive_overhead_us": lambda _, quantities: {"receive_overhead": quantities["receive_overhead_us"].median},
    "flood_us": _flood,
    "normalised_latency_us": lambda _, quantities: {"normalised_latency": quantities["normalised_latency_us"].median},
    "base_us": lambda _, quantities: {},
    "worked_us": lambda place, quantities: {"overlap": _hidden(place, quantities, "worked_us")},
    "silent_us": lambda place, quantities: {"progress": _hidden(place, quantities, "silent_us")},
    "tested_us": lambda place, quantities: {"progress_tested": _hidden(place, quantities, "tested_us")},
}

SAMPLES = tuple(_ESTIMATES)
"""The names of all samples."""


def rows(samples: Mapping[Place, Quantities], case: Mapping[str, Scalar]) -> Iterator[Row]:
    """The values of a launch, in order of benchmark, case and size: those metrics that the benchmark's record names.

    ``case``: the launch's, which is joined to that of every place. Raises Unreadable if a value is not finite.
    """
    latencies: dict[Place, float] = {}
    for place in sorted(samples, key=_order):
        metrics = {metric.name for metric in MEASURED[place.benchmark].metrics}
        for name in samples[place]:
            values = _ESTIMATES[name](place, samples[place])
            for metric, value in values.items():
                if metric in metrics:
                    yield _row(place, case, metric, value)
            if name == "latency_us" and "latency_ratio" in metrics:
                latencies[place] = values["latency"]
    for place, latency in latencies.items():
        if base := latencies.get(_base(place)):
            yield _row(place, case, "latency_ratio", latency / base)


def _order(place: Place) -> tuple[str, str, int]:
    return place.benchmark, place.case, -1 if place.msg_size_bytes is None else place.msg_size_bytes


def _base(place: Place) -> Place:
    """The place whose latency ``latency_ratio`` divides by: the same with the record's ``base`` in its case."""
    base = MEASURED[place.benchmark].base
    key = base.partition("=")[0]
    parts = [base if part.startswith(f"{key}=") else part for part in place.case.split()]
    return Place(place.benchmark, " ".join(parts), place.msg_size_bytes)


def _row(place: Place, case: Mapping[str, Scalar], metric: str, value: float) -> Row:
    if not math.isfinite(value):
        at = "" if place.msg_size_bytes is None else f" at {place.msg_size_bytes} bytes"
        raise Unreadable("stdout", None, f"samples of {place.benchmark[:40]}{at} that have a mean")
    return Row(
        benchmark=place.benchmark,
        case=joined_case(case, place.case),
        metric=metric,
        msg_size_bytes=place.msg_size_bytes,
        value=round(value, 6),
    )
