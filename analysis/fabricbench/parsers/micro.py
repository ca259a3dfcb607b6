# SPDX-License-Identifier: Apache-2.0
"""The output of the project's own benchmarks: ``#@key=value`` lines and CSV, every sample kept."""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np

from fabricbench.core.launch import Launch, joined_case
from fabricbench.core.record import Payload, Row
from fabricbench.parsers.output import Parsed, Unreadable, number, read_lines, whole

HEADER = "benchmark,case,msg_size_bytes,rank,sample,value,metric"

BENCHMARKS = ("pingpong",)

Key = tuple[str, str, int]


def parse(directory: Path, launch: Launch) -> Parsed:
    """One value per benchmark, case and size: the median over all samples of all ranks, and their mean.

    Samples of ``latency_us`` give ``latency``, ``latency_mean`` and ``bandwidth`` (size over median latency,
    MB/s). A run that says it was not verified, or does not say ``#@end=ok``, is Unreadable.
    """
    lines = read_lines(directory / "stdout")
    facts: dict[str, str] = {}
    samples: dict[Key, list[float]] = defaultdict(list)
    header = False
    for at, line in enumerate(lines, start=1):
        if line.startswith("#@"):
            key, _, value = line[2:].partition("=")
            facts[key] = value
        elif line == HEADER:
            header = True
        elif header and line:
            key_, value_ = _sample(line, at, launch)
            samples[key_].append(value_)
    _closed(facts, len(lines))
    if (ranks := facts.get("ranks", "unknown")) != str(launch.ranks):
        raise Unreadable("stdout", None, f"{launch.ranks} ranks, not {ranks[:40]}")
    for cell, values in samples.items():
        _complete(cell, len(values), facts, launch.ranks)
    rows = [row for cell in sorted(samples) for row in _rows(cell, samples[cell])]
    return Parsed(tuple(rows), _payload(facts))


def _sample(line: str, at: int, launch: Launch) -> tuple[Key, float]:
    words = line.split(",")
    if len(words) != len(HEADER.split(",")):
        raise Unreadable("stdout", at, f"'{HEADER}'")
    benchmark, case, size, _rank, _sample_number, value, name = words
    if name != "latency_us":
        raise Unreadable("stdout", at, f"the metric latency_us, not '{name[:40]}'")
    key = (benchmark, joined_case(launch.case, case), whole(size, "stdout", at))
    return key, number(value, "stdout", at)


def _closed(facts: dict[str, str], last: int) -> None:
    if facts.get("end") != "ok":
        raise Unreadable("stdout", last, "the closing line '#@end=ok': the output is cut off")
    if facts.get("verified", "yes") != "yes":
        raise Unreadable("stdout", None, "'#@verified=yes'")


def _complete(key: Key, found: int, facts: dict[str, str], ranks: int) -> None:
    """As many samples as the header promises: a lost piece in the middle of an output is noticed."""
    _benchmark, _case, size = key
    iterations = facts.get(f"iterations.{size}")
    if iterations is None:
        raise Unreadable("stdout", None, f"the line '#@iterations.{size}='")
    stride = whole(facts.get(f"sample_stride.{size}", "1"), "stdout", 1) or 1
    promised = whole(iterations, "stdout", 1) // stride * (ranks // 2)
    if found != promised:
        raise Unreadable("stdout", None, f"{promised} samples at {size} bytes, not {found}")


def _rows(key: Key, samples: list[float]) -> list[Row]:
    benchmark, case, size = key
    with np.errstate(over="ignore"):
        median, mean = float(np.median(samples)), float(np.mean(samples))
    values = {"latency": median, "latency_mean": mean}
    if size and median:
        values["bandwidth"] = size / median
    if not all(map(math.isfinite, values.values())):
        raise Unreadable("stdout", None, f"samples of {benchmark[:40]} at {size} bytes that have a mean")
    return [
        Row(benchmark=benchmark, case=case, metric=name, msg_size_bytes=size, value=round(value, 6))
        for name, value in values.items()
    ]


def _payload(facts: dict[str, str]) -> Payload | None:
    if "payload_bytes" not in facts:
        return None
    return Payload(
        bytes=whole(facts["payload_bytes"], "stdout", 1),
        messages=whole(facts.get("payload_messages", "0"), "stdout", 1),
    )
