# SPDX-License-Identifier: Apache-2.0
"""Reads the output of the project's own benchmarks: ``#@key=value`` lines, and as CSV every sample or a summary."""

from collections import defaultdict
from pathlib import Path
from typing import TypedDict

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Payload, PayloadPart, SkippedSize
from fabricbench.parsers.output import Parsed, Unreadable, number, read_lines, whole
from fabricbench.parsers.quantities import Means
from fabricbench.parsers.tools.micro import node_pairs
from fabricbench.parsers.tools.micro.description import MEASURED
from fabricbench.parsers.tools.micro.estimates import (
    SAMPLES,
    STATISTICS,
    Place,
    SampleSeries,
    SummarySeries,
    rows,
)

COLUMNS = "benchmark,case,msg_size_bytes,rank,sample,value,metric"

BENCHMARKS = tuple(MEASURED)
MEANS: Means = {one.role: (one.name, one.mean) for one in MEASURED.values() if one.role is not None}

Header = dict[str, str]
"""Keys and values of the ``#@`` lines."""

_IN_KEYS = str.maketrans("= ", ":,")
"""How a case is written within a key of the header."""
_IN_CASES = str.maketrans(":,", "= ")


def parse(directory: Path, launch: Launch) -> Parsed:
    """Returns the values that ``estimates.rows`` derives from the samples of a launch, its payload and its skips.

    Raises Unreadable if the output does not end with ``#@end=ok``, if its messages were not verified, if the number of
    ranks is not that of the launch, or if samples are missing.
    """
    lines = read_lines(directory / "stdout")
    header: Header = {}
    samples: dict[tuple[Place, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    summaries: dict[tuple[Place, str], dict[str, float]] = defaultdict(dict)
    in_table = False
    for at, line in enumerate(lines, start=1):
        if line.startswith("#@"):
            key, _, value = line[2:].partition("=")
            header[key] = value
        elif line == COLUMNS:
            in_table = True
        elif in_table and line:
            place, name, rank, sample = _sample(line, at)
            name, _, statistic = name.partition(":")
            if statistic:
                summaries[place, name][statistic] = sample
            else:
                samples[place, name][rank].append(sample)
    _require_end(header, len(lines))
    if (ranks := header.get("ranks", "unknown")) != str(launch.ranks):
        raise Unreadable("stdout", None, f"{launch.ranks} ranks, not {ranks[:40]}")
    quantities: dict[Place, dict[str, SampleSeries | SummarySeries]] = defaultdict(dict)
    for (place, name), by_rank in samples.items():
        quantities[place][name] = _series(place, name, by_rank, header, launch.ranks)
    for (place, name), statistics in summaries.items():
        if name in quantities[place] or set(statistics) != set(STATISTICS):
            raise Unreadable("stdout", None, f"one row of {name} for each of {', '.join(STATISTICS)}, and no samples")
        quantities[place][name] = _summary(place, name, statistics, header, launch.ranks)
    values = tuple(rows(quantities, launch.case))
    if launch.benchmark in node_pairs.BENCHMARKS:
        values = tuple(node_pairs.rows(values, header))
    return Parsed(values, _payload(header), tuple(_skips(header, launch)), tuple(_parts(header, launch)))


def _sample(line: str, at: int) -> tuple[Place, str, int, float]:
    words = line.split(",")
    if len(words) != len(COLUMNS.split(",")):
        raise Unreadable("stdout", at, f"'{COLUMNS}'")
    benchmark, case, size, rank, _sample_number, value, name = words
    if name.partition(":")[0] not in SAMPLES:
        raise Unreadable("stdout", at, f"a known metric such as latency_us, not '{name[:40]}'")
    if benchmark not in MEASURED:
        raise Unreadable("stdout", at, f"a benchmark of the project such as pingpong, not '{benchmark[:40]}'")
    place = Place(benchmark, case, whole(size, "stdout", at) if size else None)
    return place, name, whole(rank, "stdout", at), number(value, "stdout", at)


def _require_end(header: Header, last: int) -> None:
    if header.get("end") != "ok":
        raise Unreadable("stdout", last, "the closing line '#@end=ok': the output is cut off")
    if header.get("verified", "yes") != "yes":
        raise Unreadable("stdout", None, "'#@verified=yes'")


def _labels(place: Place, name: str) -> tuple[str, str]:
    """Returns the suffixes of the header's keys for one place: with the name of the sample, and without it."""
    size = "" if place.msg_size_bytes is None else str(place.msg_size_bytes)
    plain = ".".join(part for part in (place.case.translate(_IN_KEYS), size) if part)
    return ".".join(part for part in (name, plain) if part), plain or "all"


def _fact(header: Header, key: str, place: Place, name: str) -> str | None:
    for label in _labels(place, name):
        if (value := header.get(f"{key}.{label}")) is not None:
            return value
    return None


def _series(place: Place, name: str, by_rank: dict[int, list[float]], header: Header, ranks: int) -> SampleSeries:
    """Returns the samples of all ranks; raises Unreadable if their number is not that in the header."""
    iterations, reporting = _counts(place, name, header, ranks)
    stride = whole(_fact(header, "sample_stride", place, name) or "1", "stdout", 1) or 1
    expected = iterations // stride * reporting
    if (count := sum(map(len, by_rank.values()))) != expected:
        at = "" if place.msg_size_bytes is None else f" at {place.msg_size_bytes} bytes"
        raise Unreadable("stdout", None, f"{expected} samples{at}, not {count}")
    return SampleSeries(by_rank, **_runs(place, name, header))


def _summary(place: Place, name: str, statistics: dict[str, float], header: Header, ranks: int) -> SummarySeries:
    """Returns the summary of the samples of many ranks."""
    _, reporting = _counts(place, name, header, ranks)
    median, mean, *of_ranks = (statistics[one] for one in STATISTICS)
    average, least, largest = of_ranks
    return SummarySeries(median, mean, (average, least, largest), reporting, **_runs(place, name, header))


def _counts(place: Place, name: str, header: Header, ranks: int) -> tuple[int, int]:
    """Returns the number of iterations and of the ranks that report them."""
    iterations = _fact(header, "iterations", place, name)
    if iterations is None:
        raise Unreadable("stdout", None, f"the line '#@iterations.{_labels(place, name)[1]}='")
    reporting = whole(header.get("reporting_ranks", str(ranks // 2)), "stdout", 1)
    return whole(iterations, "stdout", 1), reporting


class _Runs(TypedDict):
    bytes_per_run: int
    messages_per_run: int
    work_us: float


def _runs(place: Place, name: str, header: Header) -> _Runs:
    """Returns the traffic and the computation of one sample."""
    each = {key: _fact(header, key, place, name) or "0" for key in ("bytes_per_run", "messages_per_run", "work_us")}
    return {
        "bytes_per_run": whole(each["bytes_per_run"], "stdout", 1),
        "messages_per_run": whole(each["messages_per_run"], "stdout", 1),
        "work_us": number(each["work_us"], "stdout", 1),
    }


def _payload(header: Header) -> Payload | None:
    if "payload_bytes" not in header:
        return None
    return Payload(
        bytes=whole(header["payload_bytes"], "stdout", 1),
        messages=whole(header.get("payload_messages", "0"), "stdout", 1),
    )


def _parts(header: Header, launch: Launch) -> list[PayloadPart]:
    """Returns the payload of each interval that the program marks: ``#@interval_bytes.window_us.sync:lock.8=20480``."""
    parts = []
    for key, value in header.items():
        if not key.startswith("interval_bytes."):
            continue
        label = key.removeprefix("interval_bytes.")
        case, _, size = label.rpartition(".")
        if not size.isdigit():
            case, size = label, ""
        case = " ".join(word.translate(_IN_CASES) for word in case.split("."))
        parts.append(
            PayloadPart(
                label=label,
                barriers=whole(header.get(f"interval_barriers.{label}", "0"), "stdout", None),
                benchmark=launch.benchmark,
                case="" if case == "all" else case,
                msg_size_bytes=whole(size, "stdout", None) if size else None,
                payload=Payload(
                    bytes=whole(value, "stdout", None),
                    messages=whole(header.get(f"interval_messages.{label}", ""), "stdout", None),
                ),
            )
        )
    return parts


def _skips(header: Header, launch: Launch) -> list[SkippedSize]:
    """Returns the points that the stack does not support: ``#@skipped.queued:4096,tags:equal.8=No memory``.

    Up to version 0.1.0 the program wrote ``#@gap.`` instead of ``#@skipped.``.
    """
    skips = []
    for key, reason in header.items():
        kind, _, point = key.partition(".")
        if kind in ("skipped", "gap") and point:
            case, _, size = point.rpartition(".")
            skips.append(
                SkippedSize(
                    benchmark=launch.benchmark,
                    case=joined_case(launch.case, case.translate(_IN_CASES)),
                    msg_size_bytes=whole(size, "stdout", 1),
                    reason=reason[:200],
                )
            )
    return skips
