# SPDX-License-Identifier: Apache-2.0
"""The output of the project's own benchmarks: ``#@key=value`` lines and CSV, every sample kept."""

from collections import defaultdict
from pathlib import Path

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Payload, PayloadPart, SkippedSize
from fabricbench.parsers.output import Parsed, Unreadable, number, read_lines, whole
from fabricbench.parsers.tools.micro import pairs
from fabricbench.parsers.tools.micro.estimates import SAMPLES, Cell, Series, rows

HEADER = "benchmark,case,msg_size_bytes,rank,sample,value,metric"

BENCHMARKS = (
    *("pingpong", "unidirectional", "bidirectional", "bothway", "put", "get", "plogp", "reuse", "unexpected"),
    *("posted", "multiconn", "overlap", "progress", "hotspot", "allgather", "allreduce", "alltoall", "barrier"),
    *("bcast", "gather", "reduce", "reduce_scatter", "scatter"),
    *pairs.BENCHMARKS,
)

Facts = dict[str, str]

_IN_KEYS = str.maketrans("= ", ":,")
"""How a case is written within the name of a fact."""
_IN_CASES = str.maketrans(":,", "= ")


def parse(directory: Path, launch: Launch) -> Parsed:
    """What ``estimates.rows`` makes of every series of samples.

    A run that says it was not verified, that does not say ``#@end=ok``, or that lacks samples which it promised, is
    Unreadable. A point that the program names as a skip is one.
    """
    lines = read_lines(directory / "stdout")
    facts: Facts = {}
    samples: dict[tuple[Cell, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    header = False
    for at, line in enumerate(lines, start=1):
        if line.startswith("#@"):
            key, _, value = line[2:].partition("=")
            facts[key] = value
        elif line == HEADER:
            header = True
        elif header and line:
            cell, name, rank, value_ = _sample(line, at)
            samples[cell, name][rank].append(value_)
    _closed(facts, len(lines))
    if (ranks := facts.get("ranks", "unknown")) != str(launch.ranks):
        raise Unreadable("stdout", None, f"{launch.ranks} ranks, not {ranks[:40]}")
    found: dict[Cell, dict[str, Series]] = defaultdict(dict)
    for (cell, name), by_rank in samples.items():
        found[cell][name] = _series(cell, name, by_rank, facts, launch.ranks)
    values = tuple(rows(found, launch.case))
    if launch.benchmark in pairs.BENCHMARKS:
        values = tuple(pairs.rows(values, facts))
    return Parsed(values, _payload(facts), tuple(_skips(facts, launch)), tuple(_parts(facts, launch)))


def _sample(line: str, at: int) -> tuple[Cell, str, int, float]:
    words = line.split(",")
    if len(words) != len(HEADER.split(",")):
        raise Unreadable("stdout", at, f"'{HEADER}'")
    benchmark, case, size, rank, _sample_number, value, name = words
    if name not in SAMPLES:
        raise Unreadable("stdout", at, f"a known metric such as latency_us, not '{name[:40]}'")
    cell = Cell(benchmark, case, whole(size, "stdout", at) if size else None)
    return cell, name, whole(rank, "stdout", at), number(value, "stdout", at)


def _closed(facts: Facts, last: int) -> None:
    if facts.get("end") != "ok":
        raise Unreadable("stdout", last, "the closing line '#@end=ok': the output is cut off")
    if facts.get("verified", "yes") != "yes":
        raise Unreadable("stdout", None, "'#@verified=yes'")


def _labels(cell: Cell, name: str) -> tuple[str, str]:
    """What follows a fact's name at one point: with the sample's name where the benchmark has several."""
    size = "" if cell.msg_size_bytes is None else str(cell.msg_size_bytes)
    plain = ".".join(part for part in (cell.case.translate(_IN_KEYS), size) if part)
    return ".".join(part for part in (name, plain) if part), plain or "all"


def _fact(facts: Facts, key: str, cell: Cell, name: str) -> str | None:
    for label in _labels(cell, name):
        if (value := facts.get(f"{key}.{label}")) is not None:
            return value
    return None


def _series(cell: Cell, name: str, by_rank: dict[int, list[float]], facts: Facts, ranks: int) -> Series:
    """The samples of all ranks, as many as the header promises: a piece that is lost in the middle is noticed."""
    iterations = _fact(facts, "iterations", cell, name)
    if iterations is None:
        raise Unreadable("stdout", None, f"the line '#@iterations.{_labels(cell, name)[1]}='")
    stride = whole(_fact(facts, "sample_stride", cell, name) or "1", "stdout", 1) or 1
    reporting = whole(facts.get("reporting_ranks", str(ranks // 2)), "stdout", 1)
    promised = whole(iterations, "stdout", 1) // stride * reporting
    if (count := sum(map(len, by_rank.values()))) != promised:
        at = "" if cell.msg_size_bytes is None else f" at {cell.msg_size_bytes} bytes"
        raise Unreadable("stdout", None, f"{promised} samples{at}, not {count}")
    told = {key: _fact(facts, key, cell, name) or "0" for key in ("bytes_per_run", "messages_per_run", "work_us")}
    return Series(
        by_rank,
        bytes_per_run=whole(told["bytes_per_run"], "stdout", 1),
        messages_per_run=whole(told["messages_per_run"], "stdout", 1),
        work_us=number(told["work_us"], "stdout", 1),
    )


def _payload(facts: Facts) -> Payload | None:
    if "payload_bytes" not in facts:
        return None
    return Payload(
        bytes=whole(facts["payload_bytes"], "stdout", 1),
        messages=whole(facts.get("payload_messages", "0"), "stdout", 1),
    )


def _parts(facts: Facts, launch: Launch) -> list[PayloadPart]:
    """The payload of each marked interval: ``#@interval_bytes.window_us.sync:lock.8=20480``."""
    found = []
    for key, value in facts.items():
        if not key.startswith("interval_bytes."):
            continue
        label = key.removeprefix("interval_bytes.")
        case, _, size = label.rpartition(".")
        if not size.isdigit():
            case, size = label, ""
        case = " ".join(word.translate(_IN_CASES) for word in case.split("."))
        found.append(
            PayloadPart(
                label=label,
                barriers=whole(facts.get(f"interval_barriers.{label}", "0"), "stdout", None),
                benchmark=launch.benchmark,
                case="" if case == "all" else case,
                msg_size_bytes=whole(size, "stdout", None) if size else None,
                payload=Payload(
                    bytes=whole(value, "stdout", None),
                    messages=whole(facts.get(f"interval_messages.{label}", ""), "stdout", None),
                ),
            )
        )
    return found


def _skips(facts: Facts, launch: Launch) -> list[SkippedSize]:
    """The points at which the stack ran out of something: ``#@gap.queued:4096,tags:equal.8=No memory``."""
    skips = []
    for key, reason in facts.items():
        if key.startswith("gap."):
            case, _, size = key.removeprefix("gap.").rpartition(".")
            skips.append(
                SkippedSize(
                    benchmark=launch.benchmark,
                    case=joined_case(launch.case, case.translate(_IN_CASES)),
                    msg_size_bytes=whole(size, "stdout", 1),
                    reason=reason[:200],
                )
            )
    return skips
